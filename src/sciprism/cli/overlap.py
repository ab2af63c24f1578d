"""`sciprism overlap`: how many training papers stand in tests."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sciprism.evaluation.overlap import Overlap
    from sciprism.papers import Paper
    from sciprism.papers.reading import ReadReport

NEAR = 0.8
SHOWN = 10
"""Skipped records that are named; all are counted."""


def overlap(
    train: Annotated[str, typer.Argument(help="A file or folder of training papers; - is standard input.")],
    tasks: Annotated[
        list[str],
        typer.Argument(help="Suites (open, open/quick, scirepeval ...), or files and folders of papers."),
    ],
    data: Annotated[
        str, typer.Option(envvar="SCIPRISM_DATA", help="The folder of data; else the hub's cache, the hub.")
    ] = "",
    near: Annotated[
        float, typer.Option(help="Similarity from which texts count as one; 0: no texts.")
    ] = NEAR,
    reader: Annotated[str, typer.Option(help="Name the format of TRAIN where it cannot be told.")] = "",
    columns: Annotated[list[str], typer.Option(help="A table's columns: field=header, repeatable.")] = [],  # noqa: B006
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Count and leave out bad records.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count the training papers that are in tests: by id, DOI, title, and nearly equal text.

    A model that has seen the papers of a test may score too well there. Skipped records are named on
    standard error.

    Example: sciprism overlap my-training.jsonl open --data data/
    """
    from sciprism.cli.columns import parse_columns
    from sciprism.evaluation.overlap import find_overlap
    from sciprism.papers import ReadReport, read_papers
    from sciprism.papers.source import ReadOptions

    options, report = ReadOptions(columns=parse_columns(columns)), ReadReport()
    tests, unread = _tests(tasks, data, skip_bad)
    papers = read_papers([train], reader=reader or None, options=options, skip_bad=skip_bad, report=report)
    found = find_overlap(papers, tests, near=near or None, unread=unread)
    _tell_skipped(report)
    if as_json:
        print(json.dumps(found.to_json(), indent=1, ensure_ascii=False))
    else:
        _print(found)


def _tests(names: list[str], data: str, skip_bad: bool) -> tuple[dict[str, list[Paper]], dict[str, str]]:
    """Read the test papers of every suite, and of every file or folder under its own name."""
    from sciprism.datasets.data_root import DataRoot
    from sciprism.errors import InputError
    from sciprism.evaluation.overlap import read_tests
    from sciprism.evaluation.suites.registry import suites
    from sciprism.papers import read_papers

    home = DataRoot(Path(data) if data else None)
    tests: dict[str, list[Paper]] = {}
    unread: dict[str, str] = {}
    for name in names:
        suite, _, view = name.partition("/")
        if suite in suites:
            chosen = suites[suite].part(view) if view else suites[suite]
            found, failed = read_tests(home, chosen.tasks)
            tests |= {f"{suite}: {task}" if task in tests else task: own for task, own in found.items()}
            unread |= {f"{suite}: {task}" if task in unread else task: why for task, why in failed.items()}
        elif Path(name).exists():
            tests[name] = list(read_papers([name], skip_bad=skip_bad))
        else:
            raise InputError(
                f"{name!r} is neither a suite ({', '.join(sorted(suites))}) nor a file or folder"
            )
    if not tests:
        task, reason = next(iter(unread.items()), ("", "it has no tasks"))
        raise InputError(f"no test could be read; {task}: {reason}")
    return tests, unread


def _tell_skipped(report: ReadReport) -> None:
    for skipped in report.skipped[:SHOWN]:
        print(f"skipped: {skipped}", file=sys.stderr)
    rest = report.skipped_count - len(report.skipped[:SHOWN])
    if rest:
        print(f"skipped: {rest:,} more", file=sys.stderr)


def _print(found: Overlap) -> None:
    from rich.console import Console
    from rich.table import Table

    # A title or an id may hold brackets: nothing here is markup.
    console = Console(markup=False, highlight=False, emoji=False)
    table = Table(box=None, pad_edge=False)
    table.add_column("test", overflow="fold")
    for name in ("papers", "found in training", "training papers"):
        table.add_column(name, justify="right")
    table.add_column("shown by", overflow="fold")
    for task in found.tasks:
        why = ", ".join(f"{reason} {count:,}" for reason, count in task.reasons.items())
        shares = (f"{task.tested:,}", f"{task.found:,} ({task.found / max(task.tested, 1):.1%})")
        table.add_row(task.task, *shares, f"{task.training:,}", why)
    console.print(table, end="\n\n")
    for task in found.tasks:
        for match in task.examples:
            why = ", ".join(match.reasons)
            console.print(f"{task.task}: {match.train} is {match.test or 'a text'} ({why})", soft_wrap=True)
    for name, reason in found.unread.items():
        console.print(f"not compared: {name}: {reason}", soft_wrap=True)
    console.print(f"{found.training:,} of {found.papers:,} training papers are in a test", soft_wrap=True)
