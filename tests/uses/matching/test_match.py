"""`match` from files to an assignment: shapes of input, stated pairs, rounds, the audit, wrong input."""

from __future__ import annotations

import csv
import json
import unicodedata
from pathlib import Path

import pytest

from build_data import lines
from fake_encoder import FakeEncoder
from sciprism import InputError, Paper
from sciprism.uses.matching.reviewers import BID, IdIndex, PairReader, Reviewer, read_reviewers, reviewer_id
from sciprism.uses.matching.run import match
from sciprism.uses.matching.settings import MatchFiles, MatchSettings


class FieldsEncoder(FakeEncoder):
    """The fake encoder with the fields that the cache of vectors names."""

    def texts(self, items, role="paper", fields=()):
        return super().texts(items, role)

    def encode(self, items, *, format="proximity", role="paper", fields=()):
        return super().encode(items, format=format, role=role)


TOPICS = {"stars": "stars galaxies halo", "genes": "gene dna protein", "words": "language text word"}
SETTINGS = {"per_paper": 1, "max_papers": 2}


TITLES = ("Measuring", "A theory of the", "Forty years of")


def paper(id, topic, **more):
    """A paper whose title is like no other's: nearly equal titles are conflicts."""
    start = TITLES[int(id[-1])] if id[-1].isdigit() else "New results on all"
    return {"id": id, "title": f"{start} {TOPICS[topic]}", "abstract": f"We study {TOPICS[topic]}.", **more}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Three submissions and three reviewers: each reviewer wrote on one topic."""
    monkeypatch.chdir(tmp_path)
    write("submissions.jsonl", [paper(f"s-{topic}", topic) for topic in TOPICS])
    for topic in TOPICS:
        write(f"profiles/~{topic}1.jsonl", [paper(f"{topic}{n}", topic, year=2000 + n) for n in range(3)])
    return tmp_path


def write(name, rows):
    return lines(Path(name), rows)


def read_csv(name):
    return list(csv.reader(Path(name).read_text().splitlines()))


def assign(reviewers="profiles", submissions="submissions.jsonl", *, skip_bad=False, settings=None, **files):
    given = {name: Path(value) if isinstance(value, str) else value for name, value in files.items()}
    chosen = MatchSettings(**{**SETTINGS, **(settings or {})})
    options = {"settings": chosen, "files": MatchFiles(**given), "encoder": FieldsEncoder(dim=128)}
    return match(submissions, reviewers, skip_bad=skip_bad, **options)


def as_pairs(found):
    return sorted((pair.paper, pair.reviewer) for pair in found.pairs)


EXPECTED = [(f"s-{topic}", f"~{topic}1") for topic in sorted(TOPICS)]


def test_shapes_of_reviewers_agree(files):
    write("papers.jsonl", [paper(f"{topic}{n}", topic, year=2000 + n) for topic in TOPICS for n in range(3)])
    ids = {topic: [f"{topic}{n}" for n in range(3)] for topic in TOPICS}
    rows = "".join(f"~{t}1,{t} Smith,{t}@x.org,senior,0,2,{';'.join(own)}\n" for t, own in ids.items())
    Path("table.csv").write_text(f"Reviewer ID,Name,E-mail,Seniority,Min,Max,Papers\n{rows}".replace("E-mail", "email"))
    write("ids.jsonl", [{"reviewer_id": f"~{t}1", "paper_ids": own} for t, own in ids.items()])
    write("whole.jsonl", [{"id": f"~{t}1", "papers": [paper(n, t) for n in own]} for t, own in ids.items()])
    Path("plain.csv").write_text("id\n" + "".join(f"~{t}1\n" for t in TOPICS))
    papers = (Path("papers.jsonl"),)
    assert as_pairs(assign("table.csv", reviewer_papers=papers)) == EXPECTED
    assert as_pairs(assign("ids.jsonl", reviewer_papers=papers)) == EXPECTED
    assert as_pairs(assign("whole.jsonl")) == EXPECTED
    assert as_pairs(assign("plain.csv", reviewer_papers=(Path("profiles"),))) == EXPECTED
    person = read_reviewers(Path("table.csv"), papers)[0]
    assert (person.name, person.emails, person.groups, person.least, person.most, len(person.papers)) == (
        "stars Smith", ("stars@x.org",), {"seniority": "senior"}, 0, 2, 3,
    )  # fmt: skip
    people = [Reviewer(id="a", papers=(Paper(id="1", title="stars halo"),)), Reviewer(id="b")]
    found = assign(people, [Paper(id="s", title="stars")])
    assert as_pairs(found) == [("s", "a")] and found.audit["reviewers without papers"] == ["b"]


@pytest.mark.parametrize(
    "text",
    [
        "p,r,Very High\nq,r,-0.5\n",
        "bid\ttail\thead\nvery_high\tr\tp\n-0.5\tr\tq\n",
        "\ufeffpaper;reviewer;bid\np;r;1\nq;r;-0.5\n",
        "Paper ID,Title,First,Reviewer Email,Preference\nP,A title,Ann,r,1\nq,B,Ann,r,-0.5\n",
    ],
)
def test_files_of_pairs_have_a_header_or_none(files, text):
    Path("bids.csv").write_text(text)
    found = PairReader(IdIndex(["p", "q"]), IdIndex(["r"])).read(Path("bids.csv"), BID)
    assert {pair: value for pair, (value, _) in found.items()} == {(0, 0): 1.0, (1, 0): -0.5}


def test_constraints_bids_and_locks_are_obeyed(files, monkeypatch):
    Path("constraints.csv").write_text("s-stars,~stars1,-1\ns-genes,~words1,1\n")
    Path("bids.csv").write_text("s-stars,~genes1,high\ns-stars,~stars1,very high\n")
    monkeypatch.setattr("sciprism.uses.matching.assignment.BID_WEIGHT", 10)
    found = assign(constraints="constraints.csv", bids="bids.csv")
    assert as_pairs(found) == [("s-genes", "~words1"), ("s-stars", "~genes1"), ("s-words", "~words1")]
    reasons = {pair.paper: pair.reason for pair in found.pairs}
    assert reasons["s-genes"].endswith("locked") and "bid 0.5" in reasons["s-stars"]
    counts = found.audit["counts"]
    assert (counts["locked pairs"], counts["forbidden pairs"], counts["bids above 0 on forbidden pairs"]) == (1, 1, 1)
    assert "~stars1 bids on s-stars, but forbidden: constraints.csv, line 1" in found.audit["contradicting bids"][0]
    Path("both.csv").write_text("s-stars,~stars1,-1\ns-stars,~stars1,1\n")
    with pytest.raises(InputError, match=r"both\.csv, line 2: constraint of s-stars and ~stars1"):
        assign(constraints="both.csv")
    Path("half.csv").write_text("s-stars,~stars1,0.5\n")
    with pytest.raises(InputError, match="none of -1"):
        assign(constraints="half.csv")


def test_a_lock_on_a_conflict_is_an_error_that_names_both(files):
    write("submissions.jsonl", [paper("s-stars", "stars", authorids=["~stars1"]), paper("s-genes", "genes")])
    Path("locks.csv").write_text("s-stars,~stars1,1\n")
    assert as_pairs(assign())[1] != ("s-stars", "~stars1")
    with pytest.raises(InputError, match=r"locks\.csv, line 1: ~stars1 is locked to s-stars, but author: ~stars1"):
        assign(constraints="locks.csv")
    Path("free.csv").write_text("s-stars,~stars1,0\n")
    assert as_pairs(assign(constraints="free.csv"))[1] == ("s-stars", "~stars1")


def test_conflicts_are_read_from_openreview_notes_and_a_table_of_authors(files):
    content = {"title": {"value": "stars galaxies"}, "authorids": {"value": ["~stars1"]}}
    note = {"id": "n1", "forum": "n1", "invitation": "Venue/Submission", "content": content}
    Path("notes.json").write_text(json.dumps({"notes": [note]}, indent=1))
    found = assign(submissions="notes.json")
    assert found.audit["conflicts"] == {"author": 1} and as_pairs(found) != [("n1", "~stars1")]
    Path("people.csv").write_text("id,email\n~stars1,s@mit.edu\n~genes1,g@eth.ch\n~words1,w@x.org\n")
    Path("authors.csv").write_text("Paper,name,email\ns-stars,Ann,a@csail.mit.edu\nS-Stars,Bob,b@gmail.com\n")
    given = {"reviewer_papers": (Path("profiles"),), "authors": "authors.csv"}
    found = assign("people.csv", **given)
    assert found.audit["conflicts"] == {"domain": 1}
    found.write("out.csv")
    assert read_csv("out.conflicts.csv")[1:] == [["s-stars", "~stars1", "domain", "e-mail domain mit.edu of an author"]]
    Path("constraints.csv").write_text("s-stars,~stars1,0\n")
    found = assign("people.csv", **given, constraints="constraints.csv")
    assert found.audit["conflicts"] == {} and as_pairs(found) == EXPECTED
    with pytest.raises(InputError, match="names authors of none of the submissions"):
        assign("people.csv", submissions="notes.json", **given)


@pytest.mark.parametrize(
    ("file", "authors"),
    [
        ("Alder, Ann.jsonl", {"authors": ["A. Alder"]}),
        ("ann.alder@x.org.jsonl", {"authors": [{"name": "Ann Ålder", "affiliation": "X"}]}),
        ("Ann_Alder.jsonl", {"authors": ["Bo Fen Ann Alder"]}),  # how a table's "Ann Alder, Bo Fen" is read
        ("ann@x.org.jsonl", {"authors": [{"name": "A", "email": "Ann@X.org"}]}),
        ("reviewer7.jsonl", {"author_ids": "Reviewer7; r8"}),
        (f"~{unicodedata.normalize('NFD', 'Zoë')}_Fox1.jsonl", {"authorids": ["~Zoë_Fox1"]}),
    ],
)
def test_a_profile_named_by_a_person_is_kept_from_own_submissions(files, file, authors):
    Path("profiles/~stars1.jsonl").rename(f"profiles/{file}")
    write("submissions.jsonl", [paper("s-stars", "stars", **authors), paper("s-genes", "genes")])
    found = assign()
    assert found.audit["conflicts"]["author"] == 1
    assert ("s-stars", reviewer_id(Path(file))) not in as_pairs(found)


def test_a_table_without_ids_meets_files_bids_and_constraints_by_name(files):
    Path("people.csv").write_text(
        "First Name,Last Name,Email\nZoë,Fox,zoe@x.org\nAnn,Alder,ann@y.org\nAnn,Alder,ann@z.org\nBo,Fen,bo@y.org\n"
    )
    folder = Path("profiles")
    for topic, name in {"stars": "Fox, Z.", "genes": "~Ann_Alder1", "words": "bo@Y.org"}.items():
        (folder / f"~{topic}1.jsonl").rename(folder / f"{name}.jsonl")
    write("profiles/~Eve_Gil1.jsonl", [paper("eve0", "words")])
    Path("bids.csv").write_text("bid,title,reviewer name,paper id\nhigh,A title,Bo Fen,S-Words\n")
    Path("constraints.csv").write_text(f"s-genes,{unicodedata.normalize('NFD', 'Zoë Fox')},-1\n")
    given = {"reviewer_papers": (folder,), "bids": "bids.csv", "constraints": "constraints.csv"}
    found = assign("people.csv", **given)
    pairs = as_pairs(found)
    assert pairs[1:] == [("s-stars", "zoe@x.org"), ("s-words", "bo@y.org")] and pairs[0][1] != "zoe@x.org"
    assert {pair.reviewer: pair.bid for pair in found.pairs}["bo@y.org"] == 0.5
    assert found.audit["dropped"] == {
        "file of several reviewers' name": {"count": 1, "first": ["~Ann_Alder1"]},
        "file of no reviewer": {"count": 1, "first": ["~Eve_Gil1"]},
    }
    assert found.audit["reviewers without papers"] == ["ann@y.org", "ann@z.org"]
    Path("constraints.csv").write_text("s-genes,Ann Alder,-1\n")
    with pytest.raises(InputError, match="constraint of several reviewers called 'Ann Alder'"):
        assign("people.csv", **given)


def test_a_profile_of_openreview_has_several_names_and_ids(files):
    names = [{"first": "Ann", "last": "Alder", "username": "~Ann_Alder1"}, {"fullname": "Ann Birch"}]
    content = {"names": names, "emails": ["****@x.org"], "preferredEmail": "****@x.org"}
    write("people.jsonl", [{"id": "~Ann_Birch2", "content": content}, {"id": "~stars1"}])
    submissions = [
        paper("s-stars", "stars", authorids=["~Ann_Alder1"]),
        paper("s-genes", "genes", authors=["A. Alder"]),
        paper("s-words", "words", authorids=["~Ann_Birch1"], authors=["Ann Birch"]),  # a namesake
        paper("s-1", "words", emails=["****@cs.x.org", "Ann <ann@x.org>"]),
    ]
    write("submissions.jsonl", submissions)
    found = assign("people.jsonl", reviewer_papers=(Path("profiles"),), settings={"max_papers": 4})
    assert [conflict[:3] for conflict in found.conflicts if conflict[2] != "coauthor"] == [
        ("s-stars", "~Ann_Birch2", "author"), ("s-genes", "~Ann_Birch2", "author"), ("s-1", "~Ann_Birch2", "domain")
    ]  # fmt: skip


def test_groups_have_their_minimum(files):
    Path("people.csv").write_text("id,Seniority,region\n~stars1,junior,eu\n~genes1,Senior,eu\n~words1,junior,us\n")

    def require(group):
        settings = {"require": (group,), "per_paper": 2, "max_papers": 3}
        return assign("people.csv", reviewer_papers=(Path("profiles"),), settings=settings)

    assert require("seniority=senior:1").loads()["~genes1"] == 3
    for required, message in (
        ("seniority=senior:2", r"2 reviewers with seniority=senior.*1 reviewer of the group"),
        ("seniority=emeritus:1", "no reviewer has seniority=emeritus; its values: Senior, junior"),
        ("rank=full:1", "columns: region, seniority"),
    ):
        with pytest.raises(InputError, match=message):
            require(required)


def test_rounds_and_changes_keep_what_was_assigned(files):
    assign().write("first.csv")
    second = assign(after=(Path("first.csv"),))
    assert not set(as_pairs(second)) & set(EXPECTED)
    assert second.audit["conflicts"] == {"earlier round": 3}
    with pytest.raises(InputError, match="may write at most 0"):
        assign(after=(Path("first.csv"),), settings={"max_papers": 1})
    write("submissions.jsonl", [paper(f"s-{topic}", topic) for topic in (*TOPICS,)] + [paper("s-new", "stars")])
    Path("profiles/~genes1.jsonl").unlink()
    again = assign(keep="first.csv")
    assert set(as_pairs(again)) >= {("s-stars", "~stars1"), ("s-words", "~words1")}
    result = again.audit["result"]
    assert result["kept of the earlier assignment"] == 2
    assert again.audit["dropped"]["earlier pair whose reviewer is gone"]["count"] == 1


def test_written_files_are_what_was_found(files):
    found = assign(settings={"per_paper": 2})
    audit = found.write("out.csv")
    rows = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert [(row["paper_id"], row["reviewer_id"], row["reason"]) for row in rows] == [
        (pair.paper, pair.reviewer, pair.reason) for pair in found.pairs
    ]
    document = json.loads(audit.read_text())
    assert audit == Path("out.audit.json") and document == found.audit
    assert document["schema"] == "sciprism.match-audit/1"
    assert document["encoder"] == {"name": "fake", "fingerprint": "f0"} and document["settings"]["per_paper"] == 2
    assert set(document["files"]) == {"submissions.jsonl", *(f"profiles/~{topic}1.jsonl" for topic in TOPICS)}
    worst = document["result"]["worst-served submissions"]
    assert len(worst) == 3 and [each["mean value"] for each in worst] == sorted(each["mean value"] for each in worst)
    assert worst[0]["mean value"] == document["result"]["worst submission"]
    found.write("bare.csv", bare=True)
    assert [row[:2] for row in read_csv("bare.csv")] == [[pair.paper, pair.reviewer] for pair in found.pairs]
    found.write("out.json")
    assert set(json.loads(Path("out.json").read_text())["s-stars"][0]) == {"user", "aggregate_score", "reason"}
    for name in ("bare.csv", "out.json", "out.csv"):
        again = assign(settings={"per_paper": 2}, keep=name)
        assert as_pairs(again) == as_pairs(found) and again.audit["result"]["moved"] == 0
    Path("odd.json").write_text('{"s-stars": "~stars1"}')
    with pytest.raises(InputError, match=r"odd\.json is not an assignment of the form"):
        assign(keep="odd.json")


def test_nothing_is_lost_where_texts_are_missing(files):
    write("submissions.jsonl", [{"id": "bare", "title": "stars"}, {"id": "none"}, paper("s-genes", "genes")])
    with pytest.raises(InputError, match="no title and no abstract"):
        assign()
    found = assign(skip_bad=True)
    counts = found.audit["counts"]
    assert counts["submissions without abstract"] == 1 and counts["records skipped"] == 1
    assert found.audit["submissions without abstract"] == ["bare"] and len(found.audit["skipped"]) == 1
    assert counts["submissions without authors"] == 2
    assert found.audit["conflicts not checked"]["author"] == "for 2 of 2 submissions, which have no authors"
    write("submissions.jsonl", [paper("s-genes", "genes")])
    Path("bids.csv").write_text("gone,~stars1,1\ns-genes,nobody,1\n")
    with pytest.raises(InputError, match="unknown submission 'gone'"):
        assign(bids="bids.csv")
    assert assign(bids="bids.csv", skip_bad=True).audit["dropped"]["bid of an unknown reviewer"]["count"] == 1
