"""`sciprism match` as a person runs it: files in, files out, what is printed, refusals."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from build_commands import run
from build_data import lines
from html_page import Page
from sciprism.cli.options import build_settings, list_options
from sciprism.uses.matching.settings import MatchFiles, MatchSettings
from sciprism.uses.recommending.settings import RecommendSettings

TOPICS = ("dark matter halo", "gene protein dna", "language text word", "market price risk")
BASE = ("match", "submissions.jsonl", "--reviewers", "profiles", "-o", "out/pairs.csv", "--per-paper", "2")


def submit(rows):
    lines(Path("submissions.jsonl"), rows)


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    submit({"id": f"s{n}", "title": f"New results on the {topic}", "abstract": topic} for n, topic in enumerate(TOPICS))
    for n, topic in enumerate(TOPICS):
        own = [{"id": f"{n}-{year}", "title": f"Forty theories: {topic}", "year": year} for year in (2001, 2002)]
        lines(Path(f"profiles/r{n}.jsonl"), own)
    return lambda *words: run(monkeypatch, capsys, *words)


def test_an_assignment_is_written_with_its_audit_and_printed(command):
    status, out, err = command(*BASE, "--scores-out", "scores.csv")
    assert status == 0, err
    rows = list(csv.DictReader(Path("out/pairs.csv").read_text().splitlines()))
    assert len(rows) == 8 and {row["paper_id"] for row in rows} == {f"s{n}" for n in range(4)}
    own = {row["paper_id"]: row["reviewer_id"] for row in sorted(rows, key=lambda row: float(row["score"]))}
    assert own == {f"s{n}": f"r{n}" for n in range(4)}  # the highest score is that of the same topic
    audit = json.loads(Path("out/pairs.audit.json").read_text())
    assert audit["settings"]["per_paper"] == 2 and audit["encoder"]["fingerprint"]
    assert len(Path("scores.csv").read_text().splitlines()) == 16
    assert max(map(len, out.splitlines())) <= 80 and "worst served:" in out and "not checked" in out
    assert f"{audit['result']['worst submission']:.4f}" in out


def test_loads_are_described_and_balanced(command):
    for n in range(4):
        Path(f"profiles/r{n}.jsonl").write_text(json.dumps({"id": "p", "title": f"Forty theories: {TOPICS[n % 2]}"}))
    submit({"id": f"s{n}", "title": f"On the {TOPICS[0]}, part {n}"} for n in range(4))
    status, out, _ = command(*BASE)
    assert status == 0 and "loads" in out and "0 to 4 (mean 2.0, standard deviation 2.0)" in out and "--balance" in out
    status, out, _ = command(*BASE, "--balance", "--objective", "sum", "--scores-out", "s.csv")
    audit = json.loads(Path("out/pairs.audit.json").read_text())["result"]
    assert status == 0 and audit["loads"]["deviation"] <= audit["before balancing"]["loads"]["deviation"] == 2
    assert "before --balance 0 to 4" in " ".join(out.split())


def test_scores_and_assignments_go_round_in_openreviews_shape(command):
    assert command(*BASE, "--scores-out", "scores.csv", "--bare")[0] == 0
    first = Path("out/pairs.csv").read_text()
    assert all(len(row) == 3 for row in csv.reader(first.splitlines()))
    again = command(*BASE, "--scores", "scores.csv", "--bare", "--model", "no such model")
    assert again[0] == 0 and Path("out/pairs.csv").read_text() == first
    Path("earlier.csv").write_text(first)
    status, out, _ = command(*BASE, "--keep", "earlier.csv")
    assert status == 0 and "moved" in out and "0 earlier pairs; 8 stay" in out


@pytest.mark.parametrize(
    ("settings", "name", "given", "kept"),
    [
        (MatchSettings, "require", ["a=b:1"], ("a=b:1",)),
        (MatchFiles, "after", ["a=b:1"], ("a=b:1",)),
        (RecommendSettings, "half_life", 3.0, 3.0),
    ],
)
def test_options_are_the_settings_of_the_call(settings, name, given, kept):
    defaults = {option.name: option.default for option in list_options(settings)}
    assert build_settings(settings, defaults) == settings() and defaults.get("half_life", 0) == 0
    assert getattr(build_settings(settings, defaults | {name: given}), name) == kept


def test_an_assignment_is_explained(command):
    assert command(*BASE, "--max-papers", "2", "--bids", write_bids("s0,r3,high"))[0] == 0
    status, out, err = command("match", "explain", "S0", "-a", "out/pairs.csv")
    assert status == 0, err
    assert out.startswith("s0: New results on the dark matter halo\nmean ") and max(map(len, out.splitlines())) <= 80
    assert "assigned\n    r0  " in out and "rank 1 of 4; has 2 of 2 submissions" in out
    assert "next candidates" in out and "wrote “Forty theories" in out
    document = json.loads(command("match", "explain", "s0", "-a", "out/pairs.csv", "--json")[1])
    assert document["schema"] == "sciprism.match-explain/1" and len(document["assigned"]) == len(document["next"]) == 2
    assert all(pair["absence"] and pair["reason"] for pair in document["next"])
    ranks = [pair["rank"] for pair in (*document["assigned"], *document["next"])]
    assert sorted(ranks) == [1, 2, 3, 4]


def test_the_scores_of_the_best_pairs_are_stored(command, monkeypatch):
    monkeypatch.setattr("sciprism.uses.matching.run.MAX_SCORES", 1)
    assert command(*BASE)[0] == 0
    details = json.loads(Path("out/pairs.details.json").read_text())["submissions"][0]
    assert details["considered"] == 4 and len(details["scores"]) == 2 == len(details["assigned"])
    assert "of 4 reviewers considered" in command("match", "explain", "s0", "r3", "-a", "out/pairs.csv")[1]


def write_bids(rows):
    Path("bids.csv").write_text(f"{rows}\n")
    return "bids.csv"


@pytest.mark.parametrize(
    ("change", "reviewer", "words"),
    [
        ("", "r0", "assigned"),
        ("", "r1", "is below its reviewers, the lowest of whom is r0"),
        ("s0,r1", "r0", "would gain 0."),
        ("s0,r1", "r0", "over r1, but has room: a lock,"),
        ("", "r2", "may not review it: forbidden: constraints.csv, line 1"),
        ("", "r3", "is not among the 2 best of 2 reviewers considered"),
    ],
)
def test_why_and_why_not_is_told_of_a_pair(command, change, reviewer, words):
    Path("constraints.csv").write_text("s0,r2,-1\n")
    Path("scores.csv").write_text(
        "".join(f"s{p},r{r},{0.9 - 0.1 * abs(p - r)}\n" for p in range(4) for r in range(4) if p - r != -3)
    )
    options = ("--constraints", "constraints.csv", "--scores", "scores.csv", "--per-paper", "1", "--max-papers", "3")
    assert command(*BASE, *options)[0] == 0
    if change:
        lines = Path("out/pairs.csv").read_text().splitlines()
        Path("out/pairs.csv").write_text("\n".join([lines[0], f"{change},0.5,0,", *lines[2:]]))
    status, out, _ = command("match", "explain", "s0", reviewer, "-a", "out/pairs.csv")
    assert status == 0 and words in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("explain", "s9", "-a", "out/pairs.csv"), "out/pairs.csv: no submission 's9'"),
        (("explain", "s0", "r9", "-a", "out/pairs.csv"), "no reviewer 'r9'"),
        (("report", "-a", "out/pairs.csv", "-o", "profiles"), "profiles exists and is not an empty folder"),
        (("explain", "s0", "-a", "scores.csv"), "scores.details.json: no such file"),
    ],
)
def test_what_cannot_be_explained_is_named(command, words, message):
    assert command(*BASE, "--scores-out", "scores.csv")[0] == 0
    status, out, err = command("match", *words)
    assert status == 2 and message in err and not out


def test_pages_name_what_their_readers_may_see(command):
    rows = [
        json.loads(line) | {"id": f"S/{n}", "authorids": ["~Eve_<b>1"]}
        for n, line in enumerate(Path("submissions.jsonl").read_text().splitlines())
    ]
    submit(rows)
    Path("constraints.csv").write_text("S/0,r1,-1\n")
    assert command(*BASE, "--constraints", "constraints.csv", "--max-papers", "3")[0] == 0
    status, out, _ = command("match", "report", "-a", "out/pairs.csv", "-o", "pages")
    assert status == 0 and "4 pages" in out and "pages/index.html" in out
    index, submission, reviewer = (
        Page(Path("pages", f"{name}.html").read_text("utf-8"))
        for name in ("index", "submissions/S_0-1", "reviewers/r1-2")
    )
    assert len(index.links) == 4 + 8 + 4 and all(Path("pages", link).is_file() for link in index.links)
    assert "domain conflicts: not checked" in index.text and ("input", {"id": "search", "type": "search"}) in index.tags
    assert "forbidden: constraints.csv, line 1" in submission.text and "Next candidates" in submission.text
    assert all(Path("pages/submissions", link).resolve().is_file() for link in submission.links)
    assert not reviewer.links and "constraints" not in reviewer.text and "r0" not in reviewer.text
    assert "wrote “Forty theories: gene protein dna”" in reviewer.text
    for page in (index, submission, reviewer):
        assert not any("src" in named or tag == "link" for tag, named in page.tags)
        assert ("html", {"lang": "en"}) in page.tags and [tag for tag, _ in page.tags].count("h1") == 1
        assert all("scope" in named for tag, named in page.tags if tag == "th")
