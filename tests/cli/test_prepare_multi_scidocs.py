"""`sciprism prepare multi-scidocs`: what it prints, wrong requests, and the suite over what it makes."""

import json
from random import Random

import numpy as np

from build_commands import run


def corpus(folder, count=240):
    """Papers of three fields that cite five others each, and a table of who cites whom."""
    random = Random(0)
    rows = [
        {
            "id": f"p{n}",
            "title": f"Title {n}",
            "abstract": f"About {n}.",
            "field": ("Art", "Law", "Music")[n % 3],
        }
        for n in range(count)
    ]
    (folder / "papers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    edges = [f"p{n}\tp{other}" for n in range(count) for other in random.sample(range(count), 5)]
    (folder / "edges.tsv").write_text("\n".join(["citing\tcited", *edges, "p1\tgone"]) + "\n")
    return folder / "papers.jsonl", "--edges", folder / "edges.tsv"


def chance(positives, size):
    """Mean average precision of a random order, by simulation."""
    draw, found = np.random.default_rng(0), []
    for _ in range(4000):
        ranks = np.sort(draw.permutation(size)[:positives]) + 1
        found.append(np.mean(np.arange(1, positives + 1) / ranks))
    return float(np.mean(found))


def test_a_row_for_each_field_and_the_suite_over_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "out"
    words = ("prepare", "multi-scidocs", *corpus(tmp_path), "-o", out, "--negatives", 100)
    status, printed, err = run(monkeypatch, capsys, *words)
    assert (status, err) == (0, "")
    lines = [line.split() for line in printed.splitlines()]
    heads = ["field", "cite:", "val", "test", "co-cite:", "val", "test", "class:", "val", "test", "train"]
    assert lines[0] == heads
    assert [lines[1][at] for at in (0, 1, 2, 5, 6, 7)] == ["Art", "32", "32", "32", "32", "16"]
    assert [line[:-7] for line in lines[4:6]] == [["sum", "over", "fields"], ["unique"]]
    assert lines[4][-7:] == lines[5][-7:] and lines[5][1:3] == ["96", "96"]
    assert "citation of or by an unknown paper 1" in printed
    words = ("evaluate", "random", "--suite", "multi-scidocs", "--data", out, "-o", tmp_path / "results")
    status, _, err = run(monkeypatch, capsys, *words)
    assert status == 0, err
    folder = tmp_path / "results" / "random" / "multi-scidocs"
    scores = {path.stem: json.loads(path.read_text())["metrics"] for path in folder.glob("*.json")}
    assert abs(scores["multi-cite"]["map"]["value"] - chance(5, 105)) < 0.02
    assert abs(scores["multi-co-cite"]["map"]["value"] - chance(5, 105)) < 0.02
    assert abs(scores["multi-mag"]["f1_macro"]["value"] - 1 / 3) < 0.13


def test_the_published_construction_and_short_pools(tmp_path, monkeypatch, capsys):
    words = ("prepare", "multi-scidocs", *corpus(tmp_path, 40), "-o", tmp_path / "out")
    status, _, err = run(monkeypatch, capsys, *words, "--construction", "published", "--seed", 1)
    assert status == 0
    assert "cite/test: 15 queries with fewer than 500 negatives; the least is 34" in err
    record = json.loads((tmp_path / "out" / "multi-scidocs.json").read_text())
    assert record["settings"]["construction"] == "published" and record["settings"]["seed"] == 1


def test_wrong_requests_end_with_a_line_and_status_2(tmp_path, monkeypatch, capsys):
    papers, out = corpus(tmp_path)[0], tmp_path / "out"
    for words, message in [
        ([tmp_path / "gone.bib"], "gone.bib: no such file or folder"),
        ([papers, "--construction", "best"], "unknown construction 'best'; known: corrected, published"),
        ([papers, "--edges", tmp_path / "gone.csv"], "gone.csv: cannot be opened"),
        ([papers, "--field", "Physics"], "no paper with title, abstract, field (paper without field: 240)"),
        ([papers, "--shard", 7], "--shard needs S2ORC folders"),
        ([papers, "--val", 0.9], "shares of 0.9 for val and 0.4 for test"),
    ]:
        status, printed, err = run(monkeypatch, capsys, "prepare", "multi-scidocs", *words, "-o", out)
        assert (status, printed, out.exists()) == (2, "", False), err
        assert message in err and len(err.strip().splitlines()) == 1
