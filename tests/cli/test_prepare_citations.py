"""`sciprism prepare citations`: whose triplets it makes, what it counts, and what it refuses."""

import gzip
import json
import re
from collections import Counter

import pytest

from build_commands import run
from sciprism.training.examples import read_examples

FIELDS = ("Physics", "Art")
COUNT = 80


def corpus(path, **changes):
    """80 papers in a ring; each cites the next two; those of an even number are of physics."""
    rows = [
        {
            "id": f"p{n}",
            "title": f"Paper {n} on things",
            "abstract": f"We look at {n}.",
            "fields": [FIELDS[n % 2]],
            "references": [f"p{(n + step) % COUNT}" for step in (1, 2)],
            "ids": {"doi": f"10.1/{n}"},
        }
        | changes.get(f"p{n}", {})
        for n in range(COUNT)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def triplets(folder, part="train"):
    return [json.loads(line) for line in (folder / f"{part}.jsonl").read_text().splitlines()]


def facts(folder):
    return json.loads((folder / "citations.json").read_text())


def test_triplets_with_their_papers_and_a_table_of_fields(tmp_path, monkeypatch, capsys):
    words = ("prepare", "citations", corpus(tmp_path / "all.jsonl"), "-o", tmp_path / "out", "--dev", 0.2)
    status, out, _ = run(monkeypatch, capsys, *words)
    assert status == 0 and "80 papers and 160 citations" in out
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["train", "queries", "%", "triplets", "papers"] and lines[1][0] in FIELDS
    train, dev = triplets(tmp_path / "out"), triplets(tmp_path / "out", "dev")
    held_out = {row["query"] for row in dev}
    named = {row[side] for row in train for side in ("query", "positive", "negative")}
    assert held_out and not held_out & named  # no train triplet names a paper that dev asks about
    for row in train + dev:
        query, positive = (int(row[side][1:]) for side in ("query", "positive"))
        assert (positive - query) % COUNT in (1, 2)
    kinds = Counter(row["kind"] for row in dev)
    assert kinds["tied more weakly"] * 3 == kinds["random"] * 2
    found = list(read_examples(tmp_path / "out" / "train.jsonl", query="paper", candidate="paper"))
    assert found[0].query.title == f"Paper {found[0].query.id[1:]} on things"
    record = facts(tmp_path / "out")
    assert record["train"]["pairs"] == len(train) == 5 * record["train"]["queries"]
    assert record["settings"]["seed"] == 0 and record["data"]["papers"][0]["papers"] == COUNT


def test_what_cannot_take_part_is_counted(tmp_path, monkeypatch, capsys):
    """No text, no field, unknown and repeated and own citations, circles, one id twice."""
    changes = {
        "p4": {"title": "", "abstract": "", "references": []},
        "p6": {"fields": []},
        "p8": {"references": ["p8", "p9", "p9", "gone", "p10"]},
        "p10": {"references": ["p8", "p11"]},
        "p12": {"abstract": ""},
    }
    path = corpus(tmp_path / "all.jsonl", **changes)
    path.write_text(path.read_text() + "\n" + json.dumps({"id": "p3", "title": "Again"}))
    words = ("--dev", 0, "--sampling-exponent", 0.5)
    status, out, _ = run(monkeypatch, capsys, "prepare", "citations", path, "-o", tmp_path / "out", *words)
    assert status == 0
    record = facts(tmp_path / "out")
    dropped = {reason: each["count"] for reason, each in record["dropped"].items()}
    assert dropped["duplicate id"] == 1 and dropped["self-citation"] == 1
    assert dropped["citation of or by an unknown paper"] == 3  # p2 and p3 cite p4, p8 cites none
    assert dropped["two papers that cite each other (retained)"] == 1  # p8 and p10
    assert dropped["no abstract, title only (retained)"] == 1  # p12
    assert record["train"]["dropped"]["no field"]["count"] == 1 and "no field 1" in out
    assert record["data"]["papers"][0]["skipped"] == 1 and "1 of 81 records cannot be used" in out
    assert '"p4"' not in (tmp_path / "out" / "papers.jsonl").read_text()


def test_a_table_of_citations_by_other_ids(tmp_path, monkeypatch, capsys):
    table = tmp_path / "edges.csv"
    table.write_text("citing,cited\np0,doi:10.1/9\ndoi:10.1/9,p30\n")
    words = ("prepare", "citations", corpus(tmp_path / "all.jsonl"), "-o", tmp_path / "out", "--dev", 0)
    assert run(monkeypatch, capsys, *words, "--edges", table)[0] == 0
    found = {(row["query"], row["positive"]) for row in triplets(tmp_path / "out")}
    assert found == {("p0", "p9"), ("p9", "p30")}
    assert {r["negative"] for r in triplets(tmp_path / "out") if r["kind"] != "random"} == {"p30"}


def test_specter_files(tmp_path, monkeypatch, capsys):
    """An object keyed by id holds the papers, data.json the ties, co-views for one."""
    papers = {name: {"paper_id": name, "title": f"On {name}", "abstract": None} for name in "abcdefgh"}
    (tmp_path / "papers.json").write_text(json.dumps(papers))
    ties = {"a": {"b": {"count": 9}, "c": {"count": 2}, "z": {"count": 9}}, "b": {}}
    (tmp_path / "data.json").write_text(json.dumps(ties))
    words = ("prepare", "citations", tmp_path / "papers.json", "--link-strengths", tmp_path / "data.json")
    assert run(monkeypatch, capsys, *words, "-o", tmp_path / "out", "--dev", 0)[0] == 0
    found = triplets(tmp_path / "out")
    assert {(row["query"], row["positive"]) for row in found} == {("a", "b")} and len(found) == 5
    assert [row["negative"] for row in found if row["kind"] == "tied more weakly"] == ["c"]
    record = facts(tmp_path / "out")["train"]["dropped"]
    assert record == {
        "link to an unknown paper": {"count": 1, "first": ["a -> z"]},
        "query without a citation, link or triplet": {"count": 7, "first": [*"bcdefgh"]},
    }


def test_scincl_files(tmp_path, monkeypatch, capsys):
    """Triplets of ids with the papers' texts; triplets of papers without a text are dropped."""
    papers = [{"paper_id": str(n), "title": "" if n == 3 else f"On {n}", "abstract": None} for n in range(5)]
    (tmp_path / "train_metadata.jsonl").write_text("\n".join(map(json.dumps, papers)))
    rows = ["query_paper_id,positive_id,negative_id", "1,0,2", "0,1,2", "1,2,4", "1,3,4", "9,1,2"]
    (tmp_path / "train_triples.csv.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    words = ("prepare", "citations", tmp_path / "train_metadata.jsonl", "-o", tmp_path / "out", "--dev", 0)
    words += ("--triplets", tmp_path / "train_triples.csv.gz")
    assert run(monkeypatch, capsys, *words)[0] == 0
    found = [(row["query"], row["positive"], row["negative"]) for row in triplets(tmp_path / "out")]
    assert found == [("0", "1", "2"), ("1", "0", "2"), ("1", "2", "4")]
    record = facts(tmp_path / "out")
    lost = {"count": 2, "first": ["1, 3, 4", "9, 1, 2"]}
    alone = {"count": 2, "first": ["2", "4"]}
    assert record["train"]["dropped"] == {
        "triplet with an unknown paper": lost,
        "query without a citation, link or triplet": alone,
    }
    assert record["settings"]["sampler"] == "given" and record["train"]["negatives"] == {"given": 3}
    read = read_examples(tmp_path / "out" / "train.jsonl", query="paper", candidate="paper")
    assert next(read).query.title == "On 0"


def test_what_is_held_out(tmp_path, monkeypatch, capsys):
    """Papers, and citations of and by them go, counted; or queries alone, and nothing goes."""
    words = ("prepare", "citations", corpus(tmp_path / "all.jsonl"), "-o", tmp_path / "out", "--dev", 0.2)
    assert run(monkeypatch, capsys, *words)[0] == 0
    papers, rows = facts(tmp_path / "out"), triplets(tmp_path / "out")
    out = {row["query"] for row in triplets(tmp_path / "out", "dev")}
    gone = {(n, m) for n in range(COUNT) for m in ((n + 1) % COUNT, (n + 2) % COUNT)}
    gone = {(n, m) for n, m in gone if {f"p{n}", f"p{m}"} & out}
    assert papers["dropped"]["citation of or by a held-out paper"]["count"] == len(gone)
    assert run(monkeypatch, capsys, *words, "--hold-out", "queries")[0] == 0
    queries, rows = facts(tmp_path / "out"), triplets(tmp_path / "out")
    assert {row["query"] for row in triplets(tmp_path / "out", "dev")} == out
    assert {row["query"] for row in rows} == {f"p{n}" for n in range(COUNT)} - out
    assert {row["positive"] for row in rows} & out
    assert "citation of or by a held-out paper" not in queries["dropped"]


def test_files_of_an_earlier_call_are_replaced(tmp_path, monkeypatch, capsys):
    words = ("prepare", "citations", corpus(tmp_path / "all.jsonl"), "-o", tmp_path / "out")
    assert run(monkeypatch, capsys, *words, "--dev", 0.2)[0] == 0
    (tmp_path / "out" / ".triplets-killed").mkdir()
    assert run(monkeypatch, capsys, *words, "--dev", 0)[0] == 0
    assert not (tmp_path / "out" / "dev.jsonl").read_bytes(), "recipes that name it train, without dev scores"
    made = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert {*made} == {".lock", "citations.json", "papers.jsonl", "train.jsonl", "dev.jsonl"}
    band = ("--sampler", "scincl", "--set", "far=4000")
    assert run(monkeypatch, capsys, *words, *band)[0] == 2
    assert made == {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}, "nothing is lost"


def test_papers_of_small_fields_are_queries_again(tmp_path, monkeypatch, capsys):
    """Ten papers of art among eighty: with equal fields each is a query four times, sampled anew."""
    changes = {f"p{n}": {"fields": ["Art" if n % 8 == 0 else "Physics"]} for n in range(COUNT)}
    path = corpus(tmp_path / "all.jsonl", **changes)
    words = ("prepare", "citations", path, "-o", tmp_path / "out", "--dev", 0, "--sampling-exponent", 0)
    words += ("--sampler", "scincl", "--set", "near=8", "--set", "far=40", "--set", "dim=16")
    assert run(monkeypatch, capsys, *words)[0] == 0
    found = triplets(tmp_path / "out")
    fields = facts(tmp_path / "out")["train"]["domains"]["fields"]
    assert (fields["Art"]["queries"], fields["Physics"]["queries"]) == (10, 40)
    assert fields["Art"]["triplets"] == fields["Physics"]["triplets"] == 200 and len(found) == 400
    shown = ("reproduce", "multi2spe", "5", "--data", tmp_path / "out", "-o", tmp_path / "5.json")
    assert run(monkeypatch, capsys, *shown)[0] == 0
    assert json.loads((tmp_path / "5.json").read_text())["fields"] == fields
    easy = [row["negative"] for row in found if row["query"] == "p8" and row["kind"] == "random"]
    assert len(easy) == 12 and len({tuple(easy[at : at + 3]) for at in range(0, 12, 3)}) == 4


def s2orc(folder, rows, texts):
    """A folder with one shard."""
    for part, own in (("metadata", rows), ("pdf_parses", texts)):
        (folder / part).mkdir(parents=True)
        (folder / part / f"{part}_0.jsonl").write_text("\n".join(map(json.dumps, own)))
    return folder


def test_papers_of_a_test_take_no_part(tmp_path, monkeypatch, capsys):
    """By another system's id, by a bare id in an object keyed by id or in S2ORC, by the title."""
    papers = tmp_path / "test.jsonl"
    papers.write_text(json.dumps({"id": "other", "title": "x", "abstract": "y", "ids": {"doi": "10.1/7"}}))
    keyed = tmp_path / "data_final.json"
    keyed.write_text(json.dumps({"p9": {"cites": ["p1"], "paper_id": "p9", "title": "Another"}, "p10": {}}))
    titled = tmp_path / "paper_metadata_recomm.json"
    titled.write_text(json.dumps({"f" * 40: {"abstract": "We look at 20.", "title": "paper 20, ON things"}}))
    rows = [{"paper_id": name, "title": "Else", "mag_field_of_study": ["Art"]} for name in ("p11", "p12")]
    shard = s2orc(tmp_path / "s2orc", rows, [{"paper_id": "p11", "abstract": [{"text": "We look."}]}])
    words = ("prepare", "citations", corpus(tmp_path / "all.jsonl"), "-o", tmp_path / "out")
    for test in (papers, keyed, titled, shard):
        words += ("--exclude", test)
    status, out, _ = run(monkeypatch, capsys, *words)
    assert status == 0 and "papers of tests: dropped: no PDF parse 1" in out
    dropped = facts(tmp_path / "out")["dropped"]["test paper"]
    assert dropped == {"count": 5, "first": ["p7", "p9", "p10", "p11", "p20"]}
    assert '"p9"' not in (tmp_path / "out" / "train.jsonl").read_text()
    read = [(each["file"], each["papers"]) for each in facts(tmp_path / "out")["data"]["excluded"]]
    assert read == [(papers.name, 1), (keyed.name, 2), (titled.name, 1), ("s2orc, shard 0", 1)]


@pytest.mark.parametrize("folder", ["bench", "bench/multi-scidocs"])
def test_the_queries_of_a_benchmark_take_no_part(folder, tmp_path, monkeypatch, capsys):
    """A benchmark of the same papers: all of them are candidates, its queries are dropped."""
    path = corpus(tmp_path / "all.jsonl")
    made = ("prepare", "multi-scidocs", path, "-o", tmp_path / "bench", "--val", 0.1, "--test", 0.2)
    assert run(monkeypatch, capsys, *made)[0] == 0
    queries = {
        name for part in ("val", "test") for name in (tmp_path / f"bench/multi-scidocs/{part}.txt").read_text().split()
    }
    words = ("prepare", "citations", path, "-o", tmp_path / "out", "--exclude", tmp_path / folder)
    assert run(monkeypatch, capsys, *words)[0] == 0
    assert facts(tmp_path / "out")["dropped"]["test paper"]["count"] == len(queries) == 24
    named = {row[side] for row in triplets(tmp_path / "out") for side in ("query", "positive", "negative")}
    assert named and not named & queries


def test_a_test_is_left_out_before_the_graph_is_embedded(tmp_path, monkeypatch, capsys):
    """What the sampler sees is as if the tested papers, and the citations of and by them, had never been."""
    path, test = corpus(tmp_path / "all.jsonl"), tmp_path / "test.json"
    excluded = {f"p{n}" for n in range(0, COUNT, 10)}
    test.write_text(json.dumps({name: {"paper_id": name} for name in excluded}))
    rest = [row for row in map(json.loads, path.read_text().splitlines()) if row["id"] not in excluded]
    (tmp_path / "rest.jsonl").write_text("\n".join(map(json.dumps, rest)))
    words = ("--sampler", "scincl", "--set", "near=8", "--set", "far=40", "--set", "dim=16")
    for name, *given in (("all", "--exclude", test), ("rest",)):
        made = ("prepare", "citations", tmp_path / f"{name}.jsonl", "-o", tmp_path / name, *given, *words)
        assert run(monkeypatch, capsys, *made)[0] == 0
    assert triplets(tmp_path / "all") == triplets(tmp_path / "rest") != []
    dropped = facts(tmp_path / "all")["dropped"]
    assert dropped["test paper"]["count"] == 8
    assert dropped["citation of or by an unknown paper"]["count"] == 8 * 2  # theirs went with them


@pytest.mark.parametrize("content", ["", "{}", '{"p7": 3}', '{"results": [{"id": "p7"}]}'])
def test_a_test_without_papers_is_refused(content, tmp_path, monkeypatch, capsys):
    (tmp_path / "test.json").write_text(content)
    words = ("prepare", "citations", corpus(tmp_path / "all.jsonl"), "-o", tmp_path / "out")
    status, _, err = run(monkeypatch, capsys, *words, "--exclude", tmp_path / "test.json")
    assert status == 2 and "test.json" in err and err.count("\n") == 1
    assert not (tmp_path / "out" / "train.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sampler", "magic"], "unknown sampler 'magic'; known: .*specter"),
        (["--set", "heat=3"], "heat = 3: .*; known: seed = 0, triplets = 5, hard_share = 0.3, margin = 0.5"),
        (["--set", "triplets=many"], "triplets = 'many': Input should be a valid integer"),
        (["--sampler", "scincl", "--set", "far=nan"], "far.float = nan: Input should be a finite number"),
        (["--sampler", "scincl", "--set", "easy_from=moon"], "easy_from = 'moon': Input should be 'corpus' or"),
        (["--dev", "1"], "dev = 1.0: Input should be less than 1"),
        (["--sampler", "given"], "name it with --triplets"),
        (["--triplets", "gone.csv"], "gone.csv"),
        (["--triplets", "gone.csv", "--edges", "gone.csv"], "needs neither"),
        (["--shard", 1], "--shard needs S2ORC folders"),
        (["--field", "Law"], r"no triplet of 80 papers: .*paper of another field or shard .* 7\d"),
        (["--hold-out", "years"], "hold_out = 'years': Input should be 'papers' or 'queries'"),
        (["--min-multi-field", "1"], "no triplet of 80 papers: .*query of a single field 7"),
        (["--edges", "gone.csv"], "gone.csv"),
    ],
)
def test_wrong_requests_end_with_a_line_and_status_2(words, message, tmp_path, monkeypatch, capsys):
    path = corpus(tmp_path / "all.jsonl")
    status, _, err = run(monkeypatch, capsys, "prepare", "citations", path, "-o", tmp_path / "out", *words)
    assert status == 2 and err.count("\n") == 1
    assert re.search(message, err), err
    assert not (tmp_path / "out" / "train.jsonl").exists()


def test_papers_without_references_ask_for_a_table(tmp_path, monkeypatch, capsys):
    (tmp_path / "my.bib").write_text("@misc{a, title={A}, abstract={T}}\n@misc{b, title={B}, abstract={U}}\n")
    status, _, err = run(monkeypatch, capsys, "prepare", "citations", tmp_path / "my.bib", "-o", tmp_path / "out")
    assert status == 2 and "no paper has references: name a table of citations with --edges" in err


def test_shards_of_s2orc(tmp_path, monkeypatch, capsys):
    """Safe papers take part, with the fields of study and the citations of their metadata."""
    rows = [
        {"paper_id": str(n), "title": f"On {n}", "mag_field_of_study": ["Art"], "outbound_citations": [str(n + 1)]}
        for n in range(9)
    ]
    texts = [{"paper_id": str(n), "abstract": [{"text": f"We look at {n}."}] if n < 8 else []} for n in range(9)]
    words = ("prepare", "citations", s2orc(tmp_path, rows, texts), "-o", tmp_path / "out", "--dev", 0)
    more = {"paper_id": "20", "title": "On 20", "mag_field_of_study": ["Art"], "outbound_citations": ["0"]}
    (tmp_path / "metadata" / "metadata_7.jsonl").write_text(json.dumps(more))
    (tmp_path / "pdf_parses" / "pdf_parses_7.jsonl").write_text(json.dumps({**texts[0], "paper_id": "20"}))
    assert run(monkeypatch, capsys, *words, "--shard", 0)[0] == 0
    record = facts(tmp_path / "out")
    shards = [(shard["file"].partition(", ")[2], shard["papers"]) for shard in record["data"]["papers"]]
    assert shards == [("shard 0", 8), ("shard 7 (candidates only)", 1)]
    assert record["dropped"]["no parsed abstract"] == {"count": 1, "first": ["8"]}
    assert record["papers"] == 9 and record["train"]["domains"]["fields"]["Art"]["queries"] == 7
    other = record["train"]["dropped"]["paper of another field or shard (candidate only)"]
    assert other == {"count": 1, "first": ["20"]}
    assert run(monkeypatch, capsys, *words, "--shard", 8)[0] == 2
