"""`sciprism match` as a person runs it: files in, files out, what is printed, refusals."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from build_commands import run
from sciprism.cli.options import build_settings, list_options
from sciprism.uses.matching import MatchFiles, MatchSettings

pytest.importorskip("highspy")

TOPICS = ("dark matter halo", "gene protein dna", "language text word", "market price risk")
BASE = ("match", "submissions.jsonl", "--reviewers", "profiles", "-o", "out/pairs.csv", "--per-paper", "2")


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("profiles").mkdir()
    rows = [
        {"id": f"s{n}", "title": f"New results on the {topic}", "abstract": topic} for n, topic in enumerate(TOPICS)
    ]
    Path("submissions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for n, topic in enumerate(TOPICS):
        own = [{"id": f"{n}-{year}", "title": f"Forty theories: {topic}", "year": year} for year in (2001, 2002)]
        Path(f"profiles/r{n}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own))
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


def test_what_cannot_be_checked_of_authors_is_said_first_and_last(command):
    rows = [json.loads(line) | {"authors": ["Ann Lee"]} for line in Path("submissions.jsonl").read_text().splitlines()]
    Path("submissions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = "author conflicts: not checked, profiles have no names"
    for options in ((), ("--json",)):
        status, out, err = command(*BASE, *options)
        assert status == 0 and err.splitlines()[-1] == f"sciprism: {said}"
        assert out.startswith(f"{said}\n") or options
    assert json.loads(out)["audit"]["conflicts not checked"]["author"] == "profiles have no names"
    Path("profiles/r1.jsonl").rename("profiles/Ann_Fox.jsonl")
    assert command(*BASE)[1].startswith(
        "author conflicts: not checked for 12 of 16 pairs: 3 profiles (r0, r2, r3) have"
    )


def test_json_is_one_document_with_reasons(command):
    status, out, _ = command(*BASE, "--json")
    document = json.loads(out)
    assert status == 0 and document["schema"] == "sciprism.match/1" and document["audit_file"] == "out/pairs.audit.json"
    assert len(document["assignments"]) == 8 and all(
        pair["reason"] and pair["papers"] for pair in document["assignments"]
    )
    assert document["audit"]["result"]["pairs"] == 8


def test_loads_are_described_and_balanced(command):
    for n in range(4):
        Path(f"profiles/r{n}.jsonl").write_text(json.dumps({"id": "p", "title": f"Forty theories: {TOPICS[n % 2]}"}))
    rows = [{"id": f"s{n}", "title": f"On the {TOPICS[0]}, part {n}"} for n in range(4)]
    Path("submissions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
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
    status, out, _ = command(*BASE[:-2], "--per-paper", "1", "--after", "earlier.csv", "--json")
    assert status == 0 and json.loads(out)["audit"]["conflicts"] == {"earlier round": 8}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--max-papers", "1"), "4 submissions need 8 reviews, but 4 reviewers may write 4"),
        (("--scoring", "median"), "none of best, mean-K and percentile-P"),
        (("--conflicts", "domain,advisor"), "no kind of conflict 'advisor'"),
        (("--require", "senior"), "not COLUMN=VALUE:NUMBER"),
        (("--objective", "best"), "none of fair, sum, perturbed"),
        (("--bids", "nowhere.csv"), "nowhere.csv: no such file"),
        (("--reviewer-papers", "profiles"), "belongs to a table of reviewers"),
        (("-o", "profiles"), "profiles is a folder; name a file such as profiles/out.csv"),
        (("-o", "pairs.xlsx"), "pairs.xlsx: end its name in .csv, or in .json for OpenReview's form"),
        (("-o", "submissions.jsonl"), "submissions.jsonl is also read"),
        (("--scores-out", "submissions.jsonl"), "submissions.jsonl is also read"),
        (("-o", "profiles/out.csv"), "profiles/out.csv is also read, as profiles"),
    ],
)
def test_a_refusal_is_one_line_and_writes_nothing(command, more, words):
    before = Path("submissions.jsonl").read_text()
    status, out, err = command(*BASE, *more)
    assert status == 2 and not out and words in err and err.count("\n") == 1, err
    assert not Path("out").exists() and Path("submissions.jsonl").read_text() == before


def test_a_failed_run_leaves_the_earlier_files(command):
    assert command(*BASE)[0] == 0
    before = Path("out/pairs.csv").read_text()
    assert command(*BASE, "--max-papers", "1")[0] == 2
    assert Path("out/pairs.csv").read_text() == before


@pytest.mark.parametrize("settings", [MatchSettings, MatchFiles])
def test_options_are_the_settings_of_the_call(settings):
    defaults = {option.name: option.default for option in list_options(settings)}
    assert build_settings(settings, defaults) == settings()
    repeated = "require" if settings is MatchSettings else "after"
    assert getattr(build_settings(settings, defaults | {repeated: ["a=b:1"]}), repeated) == ("a=b:1",)
