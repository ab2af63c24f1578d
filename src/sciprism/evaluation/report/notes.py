"""What a reader must know beside the numbers: what is missing, what does not compare, how it was tested."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from sciprism.evaluation.report.entrants import Entrant, fingerprint_notes
from sciprism.evaluation.report.lines import Line
from sciprism.evaluation.report.model import LEVEL, Row
from sciprism.evaluation.report.numbers import FEW, Trial
from sciprism.evaluation.report.resampling import SWAPS

NAMED = 8
"""Tasks that a note names; the tables show them all."""

Trials = Sequence[tuple[Line, list[Trial]]]


def notes_of(entrants: Sequence[Entrant], baseline: int, trials: Trials, rows: Sequence[Row]) -> list[str]:
    """Return everything that must stand under the tables, the way of testing first."""
    return [
        *_method(entrants, baseline, rows),
        *_incomplete(rows),
        *_without_number(entrants),
        *_not_comparable(entrants, trials),
        *_seeds(entrants),
        *fingerprint_notes(entrants),
        *_tallies(entrants),
    ]


def _method(entrants: Sequence[Entrant], baseline: int, rows: Sequence[Row]) -> Iterator[str]:
    cells = [cell for row in rows for cell in row.cells]
    if any(cell.score and cell.score.low is not None for cell in cells):
        yield "Numbers are times 100; in brackets: 95% interval, items of the test data resampled."
    else:
        yield "Numbers are times 100."
    if any(cell.score and cell.score.sd is not None for cell in cells):
        yield "± is the standard deviation over seeds; intervals and tests are about items, not about seeds."
    if any(cell.difference for cell in cells):
        yield (
            f"Differences are to {entrants[baseline].name}. * marks p < {LEVEL}: paired and two-sided, by "
            f"randomisation (results of an item change sides, {SWAPS:,} times) where tasks have fewer than "
            f"{FEW:,} items, else by z on the bootstrap error; corrected by Holm over the tasks that two "
            "systems share, and over the averages."
        )
    if any(cell.difference and cell.difference.apart for cell in cells):
        yield "† marks means over seeds that are more than two standard deviations apart, the larger of both."
    if any(cell.status == "left out" for cell in cells):
        yield "Averages are over tasks that all systems have; one that a task does not serve has no average."


def _incomplete(rows: Sequence[Row]) -> Iterator[str]:
    lacking: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for row in rows:
        if row.lacking:
            lacking[row.suite, row.lacking].append(row.name)
    for (suite, tasks), names in lacking.items():
        yield f"incomplete in {suite}: {', '.join(names)}: without {_some(tasks)}"


def _without_number(entrants: Sequence[Entrant]) -> Iterator[str]:
    for entrant in entrants:
        reasons: dict[str, list[str]] = defaultdict(list)
        for some in entrant.runs.values():
            for run in some:
                if run.result.status != "done":
                    reasons[f"{run.result.status}: {run.result.reason}"].append(run.result.task)
        for reason, tasks in reasons.items():
            yield f"{entrant.name}, {_some(dict.fromkeys(tasks))}: {reason.removesuffix(': ')}"


def _not_comparable(entrants: Sequence[Entrant], trials: Trials) -> Iterator[str]:
    remarks: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line, some in trials:
        for entrant, trial in zip(entrants, some, strict=True):
            if trial.remark:
                remarks[entrant.name, trial.remark].append(line.task[1])
    for (name, remark), tasks in remarks.items():
        yield f"not compared: {name}, {_some(dict.fromkeys(tasks))}: {remark}"


def _seeds(entrants: Sequence[Entrant]) -> Iterator[str]:
    used: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for entrant in entrants:
        for seeds in dict.fromkeys(
            tuple(run.result.seed for run in entrant.done(task))
            for task in entrant.runs
            if entrant.done(task)
        ):
            used[seeds].append(entrant.name)
    if len(used) > 1:
        parts = (f"{', '.join(map(str, seeds))}: {', '.join(names)}" for seeds, names in used.items())
        yield f"seeds differ; differences are over the seeds that both systems have. Seeds {'; '.join(parts)}"


def _tallies(entrants: Sequence[Entrant]) -> Iterator[str]:
    """Say once what was left out for all systems alike, and by name what only some left out."""
    found: dict[tuple[str, str, int, str], dict[str, None]] = defaultdict(dict)
    for entrant in entrants:
        for run in chain.from_iterable(entrant.runs.values()):
            for reason, noted in run.result.tally.items():
                first = ", ".join(map(str, noted["first"][:3]))
                found[run.result.task, reason, noted["count"], first][entrant.name] = None
    for (task, reason, count, first), names in found.items():
        of = "" if len(names) == len(entrants) else f" ({', '.join(names)})"
        more = ", ..." if count > 3 else ""
        yield f"{task}{of}: {count:,} x {reason} ({first}{more})"


def _some(names: Iterable[str]) -> str:
    first = list(names)
    more = f" and {len(first) - NAMED} more" if len(first) > NAMED else ""
    return ", ".join(first[:NAMED]) + more
