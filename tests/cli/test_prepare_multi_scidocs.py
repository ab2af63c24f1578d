"""`sciprism prepare multi-scidocs`: what it prints, wrong requests, and the suite over what it makes."""

import json
from random import Random

import numpy as np

from build_commands import run


def corpus(folder, count=240, fields=("Art", "Law", "Music")):
    """Papers of some fields that cite five others each, and a table of who cites whom."""
    random = Random(0)
    rows = [
        {"id": f"p{n}", "title": f"Title {n}", "abstract": f"About {n}.", "field": fields[n % len(fields)]}
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


def test_a_task_that_could_not_be_made_is_not_here_and_no_failure(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    out, results = tmp_path / "out", tmp_path / "results"
    status, printed, _ = run(monkeypatch, capsys, "prepare", "multi-scidocs", *corpus(tmp_path, 60, ["Art"]), "-o", out)
    assert status == 0 and "mag: not made: fewer than two fields" in printed
    words = ("evaluate", "random", "bm25", "--suite", "multi-scidocs", "-o", results, "--data")
    status, printed, err = run(monkeypatch, capsys, *words, out)
    assert status == 0 and err.count("multi-mag: not here: the data 'multi-scidocs/mag/train.csv' are not in") == 1
    assert "failed" not in printed + err and "published" not in printed, "Multi2SPE's numbers are of another corpus"
    status, printed, err = run(monkeypatch, capsys, *words[:1], "random", *words[3:-2], tmp_path, "--data", tmp_path)
    assert status == 1 and err.count("not here") == 3, "nothing was scored"
