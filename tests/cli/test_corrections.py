"""`sciprism embed --corrections`: a collection kept current by one command a month, for each data set's layout."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from build_commands import run
from build_dumps import DUMPS, arxiv_record, final_state, pubmed, write_lines
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection

STEPS = [
    [(number, f"Waves of kind {number}") for number in range(1, 13)],
    [(3, "Waves, corrected"), (20, "New waves"), (1, ""), (99, "")],
    [(1, "Waves that are back"), (3, "Waves, corrected twice"), (4, "Waves of kind 4"), (5, ""), (20, "")],
]


@pytest.fixture
def command(tmp_path, monkeypatch, capsys, tiny_model):
    monkeypatch.chdir(tmp_path)

    def run_command(*words):
        model = ["--model", tiny_model, "--pooling", "mean"] if words[0] == "embed" else []
        return run(monkeypatch, capsys, *words, *model)

    return run_command


def contents(folder: str) -> dict[str, tuple[str, str]]:
    stored = StoredCollection.open(Path(folder))
    papers: list[Paper] = stored.papers(stored.live)
    assert len(papers) == len(stored)
    return {paper.id: (paper.title, paper.abstract) for paper in papers}


@pytest.mark.parametrize("name", DUMPS)
def test_one_command_a_month_keeps_a_collection_current(name, command, tmp_path):
    write, id_form = DUMPS[name]
    base, *updates = write(tmp_path / "dump", STEPS)
    final = final_state(STEPS, id_form)
    assert command("embed", base, "-o", "monthly", "--corrections")[0] == 0
    refused, _, error = command("embed", *updates, "-o", "monthly")
    assert refused == 2 and "deletes 4 papers (the first in " in error and "with --corrections" in error
    assert len(contents("monthly")) == 12
    for update, deletions in zip(updates, ("1 deleted, 1 deletion of papers not stored", "2 deleted"), strict=True):
        status, printed, _ = command("embed", update, "-o", "monthly", "--corrections")
        assert status == 0 and deletions in printed
    assert contents("monthly") == final
    status, printed, _ = command("embed", base, *updates, "-o", "whole", "--corrections", "--json")
    counts = json.loads(printed)
    assert status == 0 and contents("whole") == final
    assert (counts["new"], counts["encoded"], counts["outdated"]) == (len(final), len(final), 7)
    assert (counts["deleted"], counts["unknown_deletions"], counts["papers"]) == (0, 3, len(final))
    assert " 4" in next(line for line in command("inspect", *updates)[1].splitlines() if line.startswith("deletions"))


def test_an_input_of_deletions_alone_needs_a_collection(command, tmp_path):
    (base,) = pubmed(tmp_path / "base", STEPS[:1])
    (update,) = pubmed(tmp_path / "update", [[(2, ""), (7, "")]])
    status, _, error = command("embed", update, "-o", "vecs", "--corrections")
    assert status == 2 and "0 skipped, and 2 deletions are of no collection" in error and not Path("vecs").exists()
    assert command("embed", base, "-o", "vecs")[0] == 0
    status, printed, _ = command("embed", update, "-o", "vecs", "--corrections")
    assert status == 0 and printed.startswith("read 2 records: 2 deleted\nvecs holds 10 papers")


def test_a_pipe_and_parts_are_refused(command, tmp_path, monkeypatch):
    base, update = pubmed(tmp_path, STEPS[:2])
    os.mkfifo(tmp_path / "pipe")
    for words, message in (
        (("pipe", "--corrections"), "a pipe can be read only once; write it to a file"),
        ((base, "--part", "1/2", "--corrections"), "--corrections is for a collection that has papers"),
        ((base, update, "--ids-per-file", "--corrections"), "--ids-per-file: each file has ids of its own"),
        ((base, update, "--part", "1/1"), "the input deletes 2 papers"),
    ):
        status, _, error = command("embed", *words, "-o", "vecs")
        assert status == 2 and message in error


def test_a_withdrawn_paper_is_said_and_a_missing_abstract_of_an_outdated_record_is_no_fault(command, tmp_path):
    rows = [
        arxiv_record(1, "First version", "", "1 page"),
        arxiv_record(1, "Second version", "On waves.", "This paper has been withdrawn"),
        arxiv_record(2, "No abstract", "", "1 page"),
    ]
    write_lines(tmp_path / "a.jsonl.gz", rows[:2])
    options = ("a.jsonl.gz", "-o", "vecs", "--missing-abstract", "fail", "--corrections")
    status, printed, error = command("embed", *options)
    assert status == 0 and "1 outdated by later ones" in printed
    assert "a.jsonl.gz: 1 withdrawn paper (2401.00001)\n" in error
    assert contents("vecs") == {"2401.00001": ("Second version", "On waves.")}
    write_lines(tmp_path / "a.jsonl.gz", rows)
    status, _, error = command("embed", *options)
    assert status == 2 and "paper '2401.00002' has no abstract" in error
