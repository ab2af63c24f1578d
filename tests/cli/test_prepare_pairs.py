"""`sciprism prepare pairs`: each shape, what is held out, and rows that others publish."""

import gzip
import json

from build_commands import run
from sciprism.training.examples import read_examples

TITLES = [f"A title of paper {n} that is long enough" for n in range(40)]


def corpus(path):
    rows = [
        {"id": f"p{n}", "title": TITLES[n], "abstract": f"We look at {n}.", "references": [f"p{(n + 1) % 40}"]}
        for n in range(40)
    ]
    rows[3].pop("abstract")
    path.write_text("\n".join([*map(json.dumps, rows), "{broken"]))
    return path


def prepare(monkeypatch, capsys, *words):
    monkeypatch.delenv("SCIPRISM_DATA", raising=False)
    return run(monkeypatch, capsys, "prepare", "pairs", *words)


def pairs(out, shape, query, part="train"):
    found = read_examples(out / part / f"{shape}.jsonl", query=query, candidate="paper")
    return [(each.query, each.positives[0]) for each in found]


def test_three_shapes_of_papers(tmp_path, monkeypatch, capsys):
    out, papers = tmp_path / "out", corpus(tmp_path / "all.jsonl")
    status, printed, _ = prepare(monkeypatch, capsys, papers, "-o", out, "--dev", 0.2)
    assert status == 0 and printed.split()[:6] == ["source", "sheet", "query", "candidate", "train", "dev"]
    found = {part: pairs(out, "title-abstract", "query", part) for part in ("train", "dev")}
    assert len(found["train"]) + len(found["dev"]) == 39 and found["dev"]
    for title, paper in found["train"] + found["dev"]:
        assert title == TITLES[int(paper.id[1:])] and paper.abstract == f"We look at {paper.id[1:]}."
    held = {paper.id for _, paper in found["dev"]}
    for shape in ("citing-cited-abstracts", "citing-cited-titles"):
        for part in ("train", "dev"):
            for citing, cited in pairs(out, shape, "paper", part):
                assert int(cited.id[1:]) == (int(citing.id[1:]) + 1) % 40
                assert citing.id == "p3" or (citing.id in held) == (part == "dev")
                assert part == "dev" or cited.id not in held
                assert bool(citing.title) == bool(cited.title) == (shape == "citing-cited-titles")
    facts = json.loads((out / "pairs.json").read_text())
    assert facts["dropped"]["record that cannot be read"]["count"] == 1
    record = facts["sources"]
    lost = record["citing-cited-abstracts"]["dropped"]
    assert lost["a text of the pair is missing"]["count"] in (1, 2)
    made = record["citing-cited-titles"]
    across = made["dropped"]["train paper that cites a dev paper"]["count"]
    assert made["train"]["pairs"] + made["dev"]["pairs"] + across == 40


def test_papers_of_tests_take_no_part(tmp_path, monkeypatch, capsys):
    papers = corpus(tmp_path / "all.jsonl")
    (tmp_path / "ids.txt").write_text("p7\np8\n")
    words = (papers, "-o", tmp_path / "out", "--exclude", tmp_path / "ids.txt", "--dev", 0)
    assert prepare(monkeypatch, capsys, *words)[0] == 0
    for shape in ("title-abstract", "citing-cited-titles"):
        text = (tmp_path / "out" / "train" / f"{shape}.jsonl").read_text()
        assert "paper 7 " not in text and "at 8." not in text and "paper 8 " not in text
    assert not (tmp_path / "out" / "dev").exists()


def test_titles_and_bodies(tmp_path, monkeypatch, capsys):
    row = {"bibcode": "2001A", "title": ["Spin"], "abstract": "We spin.", "body": "It spun."}
    (tmp_path / "ads.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(row | {"bibcode": "2", "body": ""}))
    words = (tmp_path / "ads.jsonl", "-o", tmp_path / "out", "--shapes", "title-body", "--dev", 0)
    status, printed, _ = prepare(monkeypatch, capsys, *words)
    ((title, paper),) = pairs(tmp_path / "out", "title-body", "query")
    assert status == 0 and (title, paper.abstract) == ("Spin", "It spun.")
    assert "title-body: dropped: a text of the pair is missing 1" in printed


def test_neighbouring_sentences(tmp_path, monkeypatch, capsys):
    first, second, third = "The spin of stars is seen.", "It slows with their age.", "We say why that is so."
    papers = [
        {"id": "1", "title": "Spin", "abstract": f"{first} {second} No. {third} And how fast it does so."},
        {"id": "2", "title": "One sentence", "abstract": first},
    ]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, papers)))
    words = (tmp_path / "all.jsonl", "-o", tmp_path / "out", "--shapes", "neighbour-sentences", "--dev", 0)
    status, printed, _ = prepare(monkeypatch, capsys, *words)
    made = pairs(tmp_path / "out", "neighbour-sentences", "query")
    assert status == 0
    assert [(one, paper.abstract) for one, paper in made] == [
        (first, second),
        (f"No. {third}", "And how fast it does so."),
    ]
    assert "neighbour-sentences: dropped: a text of the pair is missing 1" in printed

    (tmp_path / "test.jsonl").write_text(json.dumps({"id": "9", "title": second}))
    words = ("--exclude", tmp_path / "test.jsonl", *words[:2], tmp_path / "less", *words[3:])
    status, printed, _ = prepare(monkeypatch, capsys, *words)
    (left,) = pairs(tmp_path / "less", "neighbour-sentences", "query")
    assert (status, left[0]) == (0, f"No. {third}"), "a sentence of a test takes its pair along"
    assert "test paper 1" in printed


def test_searches_made_of_abstracts(tmp_path, monkeypatch, capsys):
    first, second, third = ("The first is long enough.", "The second is long enough.", "The third is long enough.")
    papers = [
        {"id": "1", "title": "A title", "abstract": f"{first} {second} {third}"},
        {"id": "2", "title": "Another", "abstract": second},
        {"id": "3", "title": "No abstract"},
    ]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, papers)))
    shapes = "title-first-sentence,first-sentence-rest"
    words = (tmp_path / "all.jsonl", "-o", tmp_path / "out", "--shapes", shapes, "--dev", 0)
    assert prepare(monkeypatch, capsys, *words)[0] == 0
    found = [[(one, p.abstract) for one, p in pairs(tmp_path / "out", shape, "query")] for shape in shapes.split(",")]
    assert found == [[("A title", first), ("Another", second)], [(first, f"{second} {third}")]]


def test_rows_of_others(tmp_path, monkeypatch, capsys):
    rows = [
        ["a", "b"],
        ["anchor", "positive", "negative"],
        {"set": ["x", "y", "z"]},
        {"query": "q", "pos": ["p1", "p2"], "neg": ["n"]},
        {"query": "q2", "pos": "p3"},
        ["same", "same"],
        ["alone"],
        {"query": "q3", "pos": []},
        7,
    ]
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join([*map(json.dumps, rows), "{"]).encode()))
    words = (path, "-o", tmp_path / "out", "--shapes", "rows", "--dev", 0)
    status, printed, _ = prepare(monkeypatch, capsys, *words)
    assert status == 0
    assert "record that cannot be read 4" in printed and "pair of a text and itself 1" in printed
    file = tmp_path / "out" / "train" / "rows.jsonl"
    found = list(read_examples(file, query="query", candidate="query"))
    record = [(each.query, each.positives, each.negatives) for each in found]
    assert record[:2] == [("a", ("b",), ()), ("anchor", ("positive",), ("negative",))]
    assert record[-2:] == [("q", ("p1", "p2"), ("n",)), ("q2", ("p3",), ())]
    chain = record[2:-2]  # three texts in some order, each with the next
    assert len(chain) == 2 and chain[0][1] == (chain[1][0],)
    assert {chain[0][0], chain[1][0], chain[1][1][0]} == {"x", "y", "z"}


def test_rows_of_several_files_are_sources_of_their_own(tmp_path, monkeypatch, capsys):
    """Each file of rows becomes one; a later call adds to the folder, and takes nothing away."""
    for name in ("paq", "wiki.answers"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps([f"of {name}", "b"]) + "\n")
    papers, out = corpus(tmp_path / "all.jsonl"), tmp_path / "out"
    first, second = tmp_path / "paq.jsonl", tmp_path / "wiki.answers.jsonl"
    rows = ("--shapes", "rows", "--dev", 0)
    assert prepare(monkeypatch, capsys, papers, "-o", out, "--shapes", "title-abstract", "--dev", 0)[0] == 0
    before = (out / "train" / "title-abstract.jsonl").read_bytes()
    assert prepare(monkeypatch, capsys, first, second, "-o", out, *rows)[0] == 0
    assert prepare(monkeypatch, capsys, first, "-o", out, *rows)[0] == 0  # again
    assert (out / "train" / "title-abstract.jsonl").read_bytes() == before
    for name in ("paq", "wiki.answers"):
        assert pairs(out, name, "query")[0][0] == f"of {name}"
    record = json.loads((out / "pairs.json").read_text())["sources"]
    assert {name: each["train"]["pairs"] for name, each in record.items()} == {
        "title-abstract": 39,
        "paq": 1,
        "wiki.answers": 1,
    }


def test_nothing_is_replaced_by_what_other_files_gave(tmp_path, monkeypatch, capsys):
    out, other = tmp_path / "out", tmp_path / "other" / "paq.jsonl"
    other.parent.mkdir()
    first = tmp_path / "paq.jsonl"
    for number, path in enumerate((first, other)):
        path.write_text((json.dumps(["a", "b"]) + "\n") * (1 + number))
    rows = ("--shapes", "rows", "--dev", 0)
    assert prepare(monkeypatch, capsys, first, "-o", out, *rows)[0] == 0
    account = (out / "pairs.json").read_bytes()
    for words, message in (
        ((other, *rows), "train/paq.jsonl was built from other files"),
        ((first, other, *rows), "two sources would be train/paq.jsonl"),
        ((first, "--shapes", "rows", "--dev", 0.5), "other papers would be held out"),
    ):
        status, _, err = prepare(monkeypatch, capsys, *words, "-o", out)
        assert status == 2 and message in " ".join(err.split())
    assert (out / "pairs.json").read_bytes() == account and len(pairs(out, "paq", "query")) == 1
