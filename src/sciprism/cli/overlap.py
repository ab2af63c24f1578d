"""`sciprism overlap`: how many training papers are in tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import data_folder
from sciprism.cli.output import echo, format_share, print_result, print_skipped, print_table
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.evaluation.overlap import Overlap
    from sciprism.papers import Paper


def overlap(
    train: Annotated[str, "A file or folder of training papers; - is standard input."],
    tasks: Annotated[list[str], "Suites (open, open/quick, scirepeval ...), or files or folders of papers."],
    skip_bad: Annotated[bool, "Skip and count records that cannot be used."] = False,
) -> None:
    """Count the training papers that are in tests, by id, DOI, title and near-duplicate text.

    The exit status is 1 if a test could not be read.

    Example: sciprism overlap my-training.jsonl open --data data/
    """
    from sciprism.evaluation.overlap import find_overlap
    from sciprism.papers import ReadReport, read_papers

    report = ReadReport()
    _check_training_file(train)
    tests, unread = _read_tests(tasks, skip_bad)
    papers = read_papers([train], skip_bad=skip_bad, report=report)
    result = find_overlap(papers, tests, unread=unread)
    print_skipped(report.skipped, report.skipped_count)
    if not result.papers:
        raise InputError(f"{train}: no training paper can be used, so nothing was compared")
    print_result("sciprism.overlap/1", result.to_json(), lambda: _print(result))
    if result.unread:
        raise typer.Exit(1)


def _check_training_file(train: str) -> None:
    """Raise InputError for a file without papers before tests are read; name the papers of prepared sources."""
    from sciprism.papers import read_papers

    if train == "-":
        return
    try:
        next(read_papers([train], skip_bad=True), None)
    except InputError as error:
        beside = Path(train).parent / "papers.jsonl"
        hint = f"; the papers of prepared sources are in {beside}" if beside.exists() else ""
        raise InputError(f"{error}{hint}") from error


def _read_tests(names: list[str], skip_bad: bool) -> tuple[dict[str, list[Paper]], dict[str, str]]:
    """Read the test papers of every suite, and of every file or folder under its own name."""
    from sciprism.datasets.data_root import DataRoot
    from sciprism.evaluation.overlap import read_test_papers
    from sciprism.evaluation.suites import suites
    from sciprism.papers import read_papers

    data_root = DataRoot(data_folder())
    tests: dict[str, list[Paper]] = {}
    unread: dict[str, str] = {}
    for name in names:
        suite, _, view = name.partition("/")
        if suite in suites:
            chosen = suites[suite].select_view(view) if view else suites[suite]
            papers_of, failed = read_test_papers(data_root, chosen.tasks)
            tests |= {f"{suite}: {task}" if task in tests else task: papers for task, papers in papers_of.items()}
            unread |= {f"{suite}: {task}" if task in unread else task: why for task, why in failed.items()}
        elif Path(name).exists():
            tests[name] = list(read_papers([name], skip_bad=skip_bad))
        else:
            raise InputError(f"{name!r} is neither a suite ({', '.join(sorted(suites))}) nor a file or folder")
    if not tests:
        task, reason = next(iter(unread.items()), ("", "it has no tasks"))
        raise InputError(f"no test could be read; {task}: {reason}")
    return tests, unread


def _print(overlap: Overlap) -> None:
    rows = []
    for task in overlap.tasks:
        why = ", ".join(f"{reason} {count:,}" for reason, count in task.reasons.items())
        share = format_share(task.found, max(task.tested, 1))
        rows.append([task.task, why, f"{task.tested:,}", share, f"{task.training:,}"])
    print_table(["test", "found by"], ["papers", "found in training", "training papers"], rows)
    for task in overlap.tasks:
        for match in task.examples:
            echo(f"{task.task}: {match.train} is {match.test or 'a text'} ({', '.join(match.reasons)})")
        if more := task.training - len(task.examples):
            echo(f"{task.task}: and {more:,} more")
    for name, reason in overlap.unread.items():
        echo(f"not compared: {name}: {reason}")
    echo(f"training papers that are in a test: {overlap.training:,} of {overlap.papers:,}")
