"""`sciprism compare`: results of several systems side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.evaluation.report.entrants import Entrant


def compare(
    results: Annotated[list[Path], typer.Argument(help="Folders of results made by `sciprism evaluate`.")],
    baseline: Annotated[str, typer.Option(help="The system that others are held against; the first.")] = "",
    form: Annotated[
        str,
        typer.Option("--format", help="terminal, markdown, latex, json or html; else by the file's name."),
    ] = "",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write to this file, not to standard output.")
    ] = None,
) -> None:
    """Put systems side by side: tasks, averages, differences to a baseline, with 95% intervals and tests.

    Only what was made by the same declarations, on the same data and with the same seeds is compared; the
    rest is named below the tables, as are tasks without a number and papers without a text.

    Example: sciprism compare results/ --baseline all-MiniLM-L6-v2 -o report.html
    """
    from sciprism.evaluation.report import SUFFIXES, outputs
    from sciprism.evaluation.report.build import build
    from sciprism.evaluation.report.entrants import entrants_of, read_runs
    from sciprism.evaluation.report.terminal import show
    from sciprism.evaluation.suites.registry import suites

    chosen = form or SUFFIXES.get(output.suffix.lower() if output else "", "terminal")
    if chosen not in outputs:
        raise InputError(f"unknown format {chosen!r}; known: {', '.join(outputs)}")
    entrants = entrants_of(read_runs(results))
    report = build(entrants, suites, baseline=_position(baseline, entrants))
    if output is not None:
        output.write_text(outputs[chosen](report), encoding="utf-8")
    elif chosen == "terminal":
        show(report)
    else:
        print(outputs[chosen](report), end="")


def _position(baseline: str, entrants: list[Entrant]) -> int:
    names = [entrant.name for entrant in entrants]
    if not baseline:
        return 0
    if baseline not in names:
        raise InputError(f"--baseline {baseline!r} is none of these systems: {', '.join(names)}")
    return names.index(baseline)
