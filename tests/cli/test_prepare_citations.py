"""`sciprism prepare citations`: whose triplets it makes and what it counts."""

import gzip
import json
from collections import Counter

import pytest

from build_commands import run
from build_data import lines
from sciprism.training.examples import read_examples

FIELDS = ("Physics", "Art")
COUNT = 80
GRAPH = ("--sampler", "scincl", "--set", "near=8", "--set", "far=40", "--set", "dim=16")


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
    return lines(path, rows)


@pytest.fixture
def prepare(tmp_path, monkeypatch, capsys):
    """Makes triplets of papers, those of `corpus` unless others are given; returns what is printed."""

    def prepare(*words, papers=None, out="out", status=0):
        papers = papers or corpus(tmp_path / "all.jsonl")
        done, printed, err = run(monkeypatch, capsys, "prepare", "citations", papers, "-o", tmp_path / out, *words)
        assert done == status, err
        return printed

    return prepare


def triplets(folder, part="train"):
    return [json.loads(line) for line in (folder / f"{part}.jsonl").read_text().splitlines()]


def facts(folder):
    return json.loads((folder / "citations.json").read_text())


def read_bytes(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_triplets_with_their_papers_and_a_table_of_fields(prepare, tmp_path):
    out = prepare("--dev", 0.2)
    assert "80 papers and 160 citations" in out
    shown = [line.split() for line in out.splitlines()]
    assert shown[0] == ["train", "queries", "%", "triplets", "papers"] and shown[1][0] in FIELDS
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


def test_what_cannot_take_part_is_counted(prepare, tmp_path):
    """No text, no field, unknown and repeated and own citations, circles, one id twice."""
    changes = {
        "p4": {"title": "", "abstract": "", "references": []},
        "p6": {"fields": []},
        "p8": {"references": ["p8", "p9", "p9", "gone", "p10"]},
        "p10": {"references": ["p8", "p11"]},
        "p12": {"abstract": ""},
    }
    path = corpus(tmp_path / "all.jsonl", **changes)
    path.write_text(path.read_text() + json.dumps({"id": "p3", "title": "Again"}))
    out = prepare("--dev", 0, "--sampling-exponent", 0.5, papers=path)
    record = facts(tmp_path / "out")
    dropped = {reason: each["count"] for reason, each in record["dropped"].items()}
    assert dropped["duplicate id"] == 1 and dropped["self-citation"] == 1
    assert dropped["citation of or by an unknown paper"] == 3  # p2 and p3 cite p4, p8 cites none
    assert dropped["two papers that cite each other (retained)"] == 1  # p8 and p10
    assert dropped["no abstract, title only (retained)"] == 1  # p12
    assert record["train"]["dropped"]["no field"]["count"] == 1 and "no field 1" in out
    assert record["data"]["papers"][0]["skipped"] == 1 and "1 of 81 records cannot be used" in out
    assert '"p4"' not in (tmp_path / "out" / "papers.jsonl").read_text()


def test_a_table_of_citations_by_other_ids(prepare, tmp_path):
    table = tmp_path / "edges.csv"
    table.write_text("citing,cited\np0,doi:10.1/9\ndoi:10.1/9,p30\n")
    prepare("--dev", 0, "--edges", table)
    found = {(row["query"], row["positive"]) for row in triplets(tmp_path / "out")}
    assert found == {("p0", "p9"), ("p9", "p30")}
    assert {r["negative"] for r in triplets(tmp_path / "out") if r["kind"] != "random"} == {"p30"}


def test_specter_files(prepare, tmp_path):
    """An object keyed by id holds the papers, data.json the ties, co-views for one."""
    papers = {name: {"paper_id": name, "title": f"On {name}", "abstract": None} for name in "abcdefgh"}
    (tmp_path / "papers.json").write_text(json.dumps(papers))
    ties = {"a": {"b": {"count": 9}, "c": {"count": 2}, "z": {"count": 9}}, "b": {}}
    (tmp_path / "data.json").write_text(json.dumps(ties))
    prepare("--link-strengths", tmp_path / "data.json", "--dev", 0, papers=tmp_path / "papers.json")
    found = triplets(tmp_path / "out")
    assert {(row["query"], row["positive"]) for row in found} == {("a", "b")} and len(found) == 5
    assert [row["negative"] for row in found if row["kind"] == "tied more weakly"] == ["c"]
    assert facts(tmp_path / "out")["train"]["dropped"] == {
        "link to an unknown paper": {"count": 1, "first": ["a -> z"]},
        "query without a citation, link or triplet": {"count": 7, "first": [*"bcdefgh"]},
    }


def test_scincl_files(prepare, tmp_path):
    """Triplets of ids with the papers' texts; triplets of papers without a text are dropped."""
    papers = [{"paper_id": str(n), "title": "" if n == 3 else f"On {n}", "abstract": None} for n in range(5)]
    rows = ["query_paper_id,positive_id,negative_id", "1,0,2", "0,1,2", "1,2,4", "1,3,4", "9,1,2"]
    (tmp_path / "triples.csv.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    prepare("--dev", 0, "--triplets", tmp_path / "triples.csv.gz", papers=lines(tmp_path / "papers.jsonl", papers))
    found = [(row["query"], row["positive"], row["negative"]) for row in triplets(tmp_path / "out")]
    assert found == [("0", "1", "2"), ("1", "0", "2"), ("1", "2", "4")]
    record = facts(tmp_path / "out")
    assert record["train"]["dropped"] == {
        "triplet with an unknown paper": {"count": 2, "first": ["1, 3, 4", "9, 1, 2"]},
        "query without a citation, link or triplet": {"count": 2, "first": ["2", "4"]},
    }
    assert record["settings"]["sampler"] == "given" and record["train"]["negatives"] == {"given": 3}


def test_what_is_held_out(prepare, tmp_path):
    """Papers, and citations of and by them go, counted; or queries alone, and nothing goes."""
    prepare("--dev", 0.2)
    out = {row["query"] for row in triplets(tmp_path / "out", "dev")}
    gone = {(n, m) for n in range(COUNT) for m in ((n + 1) % COUNT, (n + 2) % COUNT)}
    gone = {(n, m) for n, m in gone if {f"p{n}", f"p{m}"} & out}
    assert facts(tmp_path / "out")["dropped"]["citation of or by a held-out paper"]["count"] == len(gone)
    prepare("--dev", 0.2, "--hold-out", "queries")
    rows = triplets(tmp_path / "out")
    assert {row["query"] for row in triplets(tmp_path / "out", "dev")} == out
    assert {row["query"] for row in rows} == {f"p{n}" for n in range(COUNT)} - out
    assert {row["positive"] for row in rows} & out
    assert "citation of or by a held-out paper" not in facts(tmp_path / "out")["dropped"]


def test_files_of_an_earlier_call_are_replaced(prepare, tmp_path):
    prepare("--dev", 0.2)
    (tmp_path / "out" / ".triplets-killed").mkdir()
    prepare("--dev", 0)
    made = read_bytes(tmp_path / "out")
    assert {*made} == {".lock", "citations.json", "papers.jsonl", "train.jsonl", "dev.jsonl"}
    assert not made["dev.jsonl"], "recipes that name it train, without dev scores"
    prepare("--sampler", "scincl", "--set", "far=4000", status=2)
    assert made == read_bytes(tmp_path / "out"), "nothing is lost"


def test_papers_of_small_fields_are_queries_again(prepare, tmp_path, monkeypatch, capsys):
    """Ten papers of art among eighty: with equal fields each is a query four times, sampled anew."""
    changes = {f"p{n}": {"fields": ["Art" if n % 8 == 0 else "Physics"]} for n in range(COUNT)}
    prepare("--dev", 0, "--sampling-exponent", 0, *GRAPH, papers=corpus(tmp_path / "all.jsonl", **changes))
    found = triplets(tmp_path / "out")
    fields = facts(tmp_path / "out")["train"]["domains"]["fields"]
    assert (fields["Art"]["queries"], fields["Physics"]["queries"]) == (10, 40)
    assert fields["Art"]["triplets"] == fields["Physics"]["triplets"] == 200 and len(found) == 400
    shown = ("reproduce", "multi2spe", "5", "--data", tmp_path / "out", "-o", tmp_path / "5.json")
    assert run(monkeypatch, capsys, *shown)[0] == 0
    assert json.loads((tmp_path / "5.json").read_text())["fields"] == fields
    easy = [row["negative"] for row in found if row["query"] == "p8" and row["kind"] == "random"]
    assert len(easy) == 12 and len({tuple(easy[at : at + 3]) for at in range(0, 12, 3)}) == 4


def s2orc(folder, rows, texts, shard=0):
    """A folder with a shard."""
    for part, own in (("metadata", rows), ("pdf_parses", texts)):
        lines(folder / part / f"{part}_{shard}.jsonl", own)
    return folder


def test_papers_of_a_test_take_no_part(prepare, tmp_path):
    """By another system's id, by a bare id in an object keyed by id or in S2ORC, by the title."""
    papers = lines(tmp_path / "test.jsonl", [{"id": "other", "title": "x", "abstract": "y", "ids": {"doi": "10.1/7"}}])
    keyed, titled = tmp_path / "data_final.json", tmp_path / "paper_metadata_recomm.json"
    keyed.write_text(json.dumps({"p9": {"cites": ["p1"], "paper_id": "p9", "title": "Another"}, "p10": {}}))
    titled.write_text(json.dumps({"f" * 40: {"abstract": "We look at 20.", "title": "paper 20, ON things"}}))
    rows = [{"paper_id": name, "title": "Else", "mag_field_of_study": ["Art"]} for name in ("p11", "p12")]
    shard = s2orc(tmp_path / "s2orc", rows, [{"paper_id": "p11", "abstract": [{"text": "We look."}]}])
    out = prepare(*(word for test in (papers, keyed, titled, shard) for word in ("--exclude", test)))
    assert "papers of tests: dropped: no PDF parse 1" in out
    record = facts(tmp_path / "out")
    assert record["dropped"]["test paper"] == {"count": 5, "first": ["p7", "p9", "p10", "p11", "p20"]}
    assert '"p9"' not in (tmp_path / "out" / "train.jsonl").read_text()
    read = [(each["file"], each["papers"]) for each in record["data"]["excluded"]]
    assert read == [(papers.name, 1), (keyed.name, 2), (titled.name, 1), ("s2orc, shard 0", 1)]


@pytest.mark.parametrize("folder", ["bench", "bench/multi-scidocs"])
def test_the_queries_of_a_benchmark_take_no_part(prepare, folder, tmp_path, monkeypatch, capsys):
    """A benchmark of the same papers: all of them are candidates, its queries are dropped."""
    papers = corpus(tmp_path / "all.jsonl")
    made = ("prepare", "multi-scidocs", papers, "-o", tmp_path / "bench", "--val", 0.1, "--test", 0.2)
    assert run(monkeypatch, capsys, *made)[0] == 0
    parts = [(tmp_path / f"bench/multi-scidocs/{part}.txt").read_text().split() for part in ("val", "test")]
    prepare("--exclude", tmp_path / folder)
    queries = {*parts[0], *parts[1]}
    assert facts(tmp_path / "out")["dropped"]["test paper"]["count"] == len(queries) == 24
    named = {row[side] for row in triplets(tmp_path / "out") for side in ("query", "positive", "negative")}
    assert named and not named & queries


def test_a_test_is_left_out_before_the_graph_is_embedded(prepare, tmp_path):
    """What the sampler sees is as if the tested papers, and the citations of and by them, had never been."""
    papers, test = corpus(tmp_path / "all.jsonl"), tmp_path / "test.json"
    excluded = {f"p{n}" for n in range(0, COUNT, 10)}
    test.write_text(json.dumps({name: {"paper_id": name} for name in excluded}))
    rest = [row for row in map(json.loads, papers.read_text().splitlines()) if row["id"] not in excluded]
    prepare("--exclude", test, *GRAPH, out="all")
    prepare(*GRAPH, papers=lines(tmp_path / "rest.jsonl", rest), out="rest")
    assert triplets(tmp_path / "all") == triplets(tmp_path / "rest") != []
    dropped = facts(tmp_path / "all")["dropped"]
    assert dropped["test paper"]["count"] == 8
    assert dropped["citation of or by an unknown paper"]["count"] == 8 * 2  # theirs went with them


def test_shards_of_s2orc(prepare, tmp_path):
    """Safe papers take part, with the fields of study and the citations of their metadata."""
    rows = [
        {"paper_id": str(n), "title": f"On {n}", "mag_field_of_study": ["Art"], "outbound_citations": [str(n + 1)]}
        for n in range(9)
    ]
    texts = [{"paper_id": str(n), "abstract": [{"text": f"We look at {n}."}] if n < 8 else []} for n in range(9)]
    s2orc(tmp_path, [{**rows[0], "paper_id": "20", "outbound_citations": ["0"]}], [{**texts[0], "paper_id": "20"}], 7)
    papers = s2orc(tmp_path, rows, texts)
    prepare("--dev", 0, "--shard", 0, papers=papers)
    record = facts(tmp_path / "out")
    shards = [(shard["file"].partition(", ")[2], shard["papers"]) for shard in record["data"]["papers"]]
    assert shards == [("shard 0", 8), ("shard 7 (candidates only)", 1)]
    assert record["dropped"]["no parsed abstract"] == {"count": 1, "first": ["8"]}
    assert record["papers"] == 9 and record["train"]["domains"]["fields"]["Art"]["queries"] == 7
    other = record["train"]["dropped"]["paper of another field or shard (candidate only)"]
    assert other == {"count": 1, "first": ["20"]}
    prepare("--dev", 0, "--shard", 8, papers=papers, status=2)
