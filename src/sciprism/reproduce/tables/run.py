"""Make a table: find what is missing, score what is not yet scored, fill the cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.evaluation import run as runs
from sciprism.evaluation.report.numbers import apart
from sciprism.evaluation.results import folder_name
from sciprism.evaluation.systems import System
from sciprism.reproduce.tables.declared import Column, Reproduction, Row, Shape, Table, columns_of
from sciprism.reproduce.tables.kept import Kept, read_models, write_models
from sciprism.reproduce.tables.measured import Estimate, Sample, estimate, missing
from sciprism.reproduce.tables.missing import missing_data
from sciprism.reproduce.tables.models import Cast, Given, keys_of
from sciprism.reproduce.tables.scores import Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One row at one column: its number, and how far it is above the row that it is held against.

    above: relative to that row in tables of changes. published: the printed figure. marked: the two are more
    than two standard deviations over runs apart, the larger row's.
    """

    status: str = "published only"
    found: Estimate | None = None
    above: Estimate | None = None
    published: float | None = None
    marked: bool = False
    remark: str = ""


Names = Mapping[str, Sequence[str]]
"""Task -> the names of a row's systems there, one per seed."""
Times = Mapping[str, Mapping[str, Any]]
"""Task -> its parts in seconds, as a result's details tell them (`systems.Taken`)."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A table with its numbers. models: of each row the names of its systems. times: of each row."""

    table: Table
    shape: Shape
    columns: tuple[Column, ...]
    models: tuple[tuple[str, ...], ...]
    cells: tuple[tuple[Cell, ...], ...]
    times: tuple[Times, ...] = ()

    @property
    def failed(self) -> bool:
        """Return whether a task failed."""
        return any(cell.status == "failed" for row in self.cells for cell in row)


def chosen_rows(table: Table, shape: Shape, only: Sequence[str] = ()) -> Table:
    """Return the table with the rows of some models, those that they are held against and those always shown.

    All by default. Rows that are only printed have no place beside other data, or where models are chosen.
    A row that is there for another's sake is held against none that is not. Raises InputError for a model
    that no row has.
    """
    unknown = sorted(set(only) - set(keys_of(table.rows)))
    if unknown:
        known = ", ".join(keys_of(table.rows))
        raise InputError(f"table {table.name} has no row of the model {unknown[0]!r}; it has {known}")
    rows = [
        row for row in table.rows if (row.model in only or row.always if only else row.model or shape.own)
    ]
    bases = {row.against for row in rows}
    kept = {row.name for row in table.rows if row in rows or row.name in bases}
    return replace(
        table,
        rows=tuple(
            row if row.against in kept else replace(row, against="") for row in table.rows if row.name in kept
        ),
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """A table to make: who is scored on what, with everything at hand."""

    table: Table
    shape: Shape
    columns: tuple[Column, ...]
    cast: Cast

    def tasks(self) -> list[str]:
        """Return the names of all tasks, of every row."""
        rows = [row for row in self.table.rows if row.model]
        return list(dict.fromkeys(task for row in rows for task in self.tasks_of(row)))

    def tasks_of(self, row: Row) -> list[str]:
        """Return the names of a row's tasks."""
        numbers = (number for column in self.columns for number in column.numbers)
        return list(dict.fromkeys(row.task(number.task) for number in numbers))

    def systems(self, row: Row) -> dict[str, tuple[System, ...]]:
        """Return the systems of a row at each of its tasks."""
        return {name: self.cast.systems(row, name) for name in self.tasks_of(row)} if row.model else {}

    def names(self, row: Row) -> Names:
        """Return the names of a row's systems at each of its tasks."""
        return {task: [system.name for system in some] for task, some in self.systems(row).items()}


def plan(
    paper: Reproduction,
    table: Table,
    shape: Shape,
    given: Given,
    data: Path | None,
    precision: str = "float32",
) -> Plan:
    """Return what is to be done. Raises InputError that lists all data and models that are missing."""
    found = Plan(table, shape, columns_of(table, shape), Cast(paper, given, precision))
    declared = shape.declared()
    lines = missing_data([declared[name] for name in found.tasks()], data)
    for row in table.rows:
        found.systems(row)
    lines += found.cast.missing
    if lines:
        raise InputError(
            f"table {table.name} of {paper.title} cannot be made on {shape.name}; missing:\n"
            + "\n".join(f"- {line}" for line in lines)
            + "\nname models with --models KEY=NAME, or choose rows with --only KEY; nothing was run"
        )
    return found


def make(wanted: Plan, run: runs.Run, tell: runs.Tell) -> Filled:
    """Score what has no result yet, then fill the table from the results; a failed task has no number."""
    asked: dict[tuple[str, str], dict[str, System]] = {}
    for row in wanted.table.rows:
        for task, some in wanted.systems(row).items():
            asked.setdefault((task, row.as_format), {}).update({s.fingerprint: s for s in some})
    together: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (task, as_format), systems in asked.items():
        place = wanted.shape.home(task).name, as_format, tuple(systems)
        together.setdefault(place, []).append(task)
    declared = wanted.shape.declared()
    for (_, as_format, _), names in together.items():
        systems = asked[names[0], as_format]
        tasks = [declared[name] for name in names]
        viewed = replace(run, as_format=as_format)
        runs.evaluate(wanted.shape.home(names[0]), tasks, list(systems.values()), viewed, tell)
    note_models(wanted, run.out)
    return fill(wanted, Kept(run.out, wanted.shape), wanted.names)


def recall(paper: Reproduction, name: str, shape: Shape, only: Sequence[str], home: Path) -> Filled:
    """Fill a table from results alone: no model is there, nothing is scored.

    home: the folder of the results, whose file of models says who stands in which row. InputError where
    that knows nobody of the table.
    """
    known = read_models(home)
    there = [row.model for row in paper.table(name).rows if known.get(row.key)]
    if lost := sorted(set(only) - set(there)) or ["the table"] * (not there):
        raise InputError(f"{home} holds no results of {lost[0]} (models.json says whose are there)")
    table, kept = chosen_rows(paper.table(name), shape, only or there), Kept(home, shape)
    wanted = Plan(table, shape, columns_of(table, shape), Cast(paper, {}))
    declared = shape.declared()

    def names(row: Row) -> Names:
        known_as = {folder: folder.removesuffix(f"--as-{row.as_format}") for folder in known.get(row.key, ())}
        scored = {
            task: [name for folder, name in known_as.items() if kept.run(folder, declared[task])]
            for task in wanted.tasks_of(row)
        }
        return {task: some or list(known_as.values()) for task, some in scored.items()}

    return fill(wanted, kept, names)


def note_models(wanted: Plan, home: Path) -> None:
    """Write down which systems stand for which model, for the claims that are drawn from the results."""
    found: dict[str, dict[str, None]] = {}
    for row in wanted.table.rows:
        for names in wanted.names(row).values():
            folders = (folder_name(name, row.as_format) for name in names)
            found.setdefault(row.key, {}).update(dict.fromkeys(folders))
    write_models(home, {key: tuple(names) for key, names in found.items()})


def fill(wanted: Plan, kept: Kept, names: Callable[[Row], Names]) -> Filled:
    """Return the table from results that are there."""
    scores = Scores(wanted.shape, kept)
    systems = {row.name: names(row) for row in wanted.table.rows}

    def sampled(row: Row, column: Column) -> Sample | str:
        named = {
            task: [folder_name(name, row.as_format) for name in some]
            for task, some in systems[row.name].items()
        }
        if not row.model:
            return "published only"
        return scores.sample(column.numbers, lambda task: named[task], row.variant, column.weights)

    samples = {row.name: [sampled(row, column) for column in wanted.columns] for row in wanted.table.rows}
    cells = []
    for row in wanted.table.rows:
        bases = samples[row.against] if row.against else [""] * len(wanted.columns)
        printed = _printed(wanted, row)
        cells.append(
            tuple(
                replace(_cell(mine, base, wanted.table, scores), published=figure)
                for mine, base, figure in zip(samples[row.name], bases, printed, strict=True)
            )
        )
    models = [
        tuple(dict.fromkeys(name for some in systems[row.name].values() for name in some))
        for row in wanted.table.rows
    ]
    times = tuple(_times(wanted, row, systems[row.name], kept) for row in wanted.table.rows)
    return Filled(wanted.table, wanted.shape, wanted.columns, tuple(models), tuple(cells), times)


def _times(wanted: Plan, row: Row, systems: Names, kept: Kept) -> Times:
    """Return what a row's searches took: of its first model with none from the cache, else the first."""
    declared, found = wanted.shape.declared(), {}
    for task in wanted.shape.groups.get(wanted.table.timed, ()):
        names = [folder_name(name, row.as_format) for name in systems.get(task, ())]
        details = [run.result.details for name in names if (run := kept.run(name, declared[task]))]
        told = [each["seconds"] for each in details if "seconds" in each]
        if told:
            found[task] = next((one for one in told if isinstance(one["per query"], float)), told[0])
    return found


def _cell(mine: Sample | str, base: Sample | str, table: Table, scores: Scores) -> Cell:
    if isinstance(mine, str):
        return Cell(status=mine)
    above = _above(mine, base, table, scores) if isinstance(base, Sample) else None
    remark = above if isinstance(above, str) else ""
    found = None if isinstance(above, str) else above
    if isnan(mine.value):
        return Cell(status="undefined")
    marked = table.form == "runs" and isinstance(base, Sample) and apart(mine.seeds, base.seeds)
    return Cell(status="done", found=estimate(mine), above=found, marked=marked, remark=remark)


def _above(mine: Sample, base: Sample, table: Table, scores: Scores) -> Estimate | str:
    """Return a difference, a relative change, or the relative change of the error."""
    if table.form == "errors":
        return scores.contrast(missing(mine), missing(base), relative=True)
    return scores.contrast(mine, base, relative=table.form == "relative")


def _printed(wanted: Plan, row: Row) -> list[float | None]:
    """Return a row's printed figure in each column, where the data are the paper's own."""
    named = (p for p in wanted.table.published if p.name == (row.as_published or row.name))
    printed = next(named, None) if wanted.shape.own else None
    figures = printed.scores if printed else {}
    return [next((figures[n] for n in c.printed if n in figures), None) for c in wanted.columns]
