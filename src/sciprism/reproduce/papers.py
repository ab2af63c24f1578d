"""Read the papers' tables as declared in papers/PAPER.toml: models, rows, tables, and the data of each group.

`[models.KEY]`      a `TableModel`. `like`: the `[template.NAME]` that fills in what the model does not state. Braces in
                    `obtain` are filled with the model's key and values; other values are for that alone.
`[instructions]`    key -> text of an instruction other than the model's.
`[rows]`            name -> rows that several tables have. In a list of rows, a name stands for its rows.
`[[table]]`         a `PaperTable`. `published`: the tables with its numbers, PAPER/NUMBER (`evaluation.published`); by
                    default the one of its name, if the paper prints it.
`[suites.NAME]`     a `GroupedSuite`. A group is a list of tasks, or those of the suite's average `among` (default: all)
                    that have these values of `group`, `format`, `in_train`; "all": the suite's tasks.
`[[suites.NAME.derived]]`  tasks `of` a suite with other settings, named with a `suffix`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

from pydantic import TypeAdapter

from sciprism.errors import InputError
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import Suite, Task, list_published
from sciprism.reproduce.table import GroupedSuite, ModelRow, PaperTable, Reproduction, TableModel

FOLDER = Path(__file__).parent / "papers"
PAPERS = ("scimult", "scirepeval", "multi2spe", "indus", "prism")
Values = Mapping[str, Any]
T = TypeVar("T")


class Reproductions(Mapping[str, Reproduction]):
    """The papers whose tables can be reproduced, each read when it is first asked for."""

    def __getitem__(self, name: str) -> Reproduction:
        if name not in PAPERS:
            raise InputError(f"unknown paper to reproduce {name!r}; known: {', '.join(sorted(PAPERS))}")
        return read_paper(name)

    def __contains__(self, name: object) -> bool:
        return name in PAPERS

    def __iter__(self) -> Iterator[str]:
        return iter(PAPERS)

    def __len__(self) -> int:
        return len(PAPERS)


reproductions = Reproductions()


@cache
def read_paper(name: str) -> Reproduction:
    """Return a paper's declared tables. Raises ValueError or InputError for a declaration that does not fit."""
    paper = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    tables = [_read_table(name, table, paper) for table in paper["table"]]
    return Reproduction(
        name=name,
        title=paper["title"],
        tables={table.name: table for table in tables},
        models={key: _read_model(key, model, paper.get("template", {})) for key, model in paper["models"].items()},
        suites={suite: _read_suite(declared) for suite, declared in paper["suites"].items()},
        sample_tables=paper.get("sample_tables", {}),
        other_tables=paper.get("other_tables", {}),
    )


def _read_model(key: str, model: Values, templates: Mapping[str, Values]) -> TableModel:
    values = _fill_in(model, templates)
    changes = "".join(f" --set {quote(change)}" for change in values.get("changes", ()))
    obtain = values.get("obtain", "").format(**{"default": "", **values, "key": key, "changes": changes})
    declared = {field.name for field in fields(TableModel)}
    unused = [name for name in {*values} - declared if f"{{{name}}}" not in values.get("obtain", "")]
    if unused:
        raise InputError(f"model {key}: unknown key {unused[0]!r}")
    return _check(TableModel, {name: value for name, value in values.items() if name in declared} | {"obtain": obtain})


def _fill_in(values: Values, templates: Mapping[str, Values]) -> dict[str, Any]:
    """Return what a model or template states, with what those that it is like state."""
    filled = _fill_in(templates[values["like"]], templates) if "like" in values else {}
    return filled | {name: value for name, value in values.items() if name != "like"}


def _read_table(paper_name: str, table: Values, paper: Values) -> PaperTable:
    values = dict(table)
    rows = [_read_row(row, paper.get("instructions", {})) for row in _list_rows(table["rows"], paper.get("rows", {}))]
    default = [f"{paper_name}/{table['name']}"] if "printed_as" in table else []
    names = {name for row in rows for name in (row.name, *row.published_names)}
    published = tuple(row for row in list_published(values.pop("published", default)) if row.name in names)
    return replace(_check(PaperTable, values | {"rows": rows}), published=published)


def _list_rows(rows: Sequence[str | Values], named: Mapping[str, Sequence[str | Values]]) -> Iterator[Values]:
    """Yield the rows of a list, with those that a name in it stands for."""
    for row in rows:
        if isinstance(row, str):
            yield from _list_rows(named[row], named)
        else:
            yield row


def _read_row(row: Values, instructions: Mapping[str, str]) -> ModelRow:
    if key := row.get("instruction"):
        row = {**row, "instruction": {"key": key, "text": instructions[key]}}
    return _check(ModelRow, row)


def _read_suite(declared: Values) -> GroupedSuite:
    values = dict(declared)
    suite = suites[values.pop("suite")]
    groups = {name: _list_tasks(suite, group) for name, group in values.pop("groups").items()}
    if "name" in values:
        suite = replace(suite, name=values.pop("name"), published=())
    return GroupedSuite(
        suite=suite,
        groups=groups,
        tasks=tuple(task for derived in values.pop("derived", ()) for task in _derive_tasks(suite, **derived)),
        other_suites=tuple(suites[name] for name in values.pop("other_suites", ())),
        departures={name: (ours, theirs) for name, (ours, theirs) in values.pop("departures", {}).items()},
        **values,
    )


def _list_tasks(suite: Suite, group: str | list[str] | Values) -> tuple[str, ...]:
    if isinstance(group, list):
        return tuple(group)
    if isinstance(group, str):  # "all"
        return tuple(task.name for task in suite.tasks)
    wanted = dict(group)
    among = wanted.pop("among", None)
    names = next(average.tasks for average in suite.averages if average.name == among) if among else None

    def belongs(task: Task) -> bool:
        values = ((getattr(task, key), value) for key, value in wanted.items())
        return all(value in choice if isinstance(choice, list) else value == choice for value, choice in values)

    return tuple(task.name for task in suite.tasks if (names is None or task.name in names) and belongs(task))


def _derive_tasks(
    suite: Suite, of: Sequence[str], of_suite: str = "", suffix: str = "", protocol: Values | None = None, **values: Any
) -> Iterator[Task]:
    """Yield tasks of a suite with other settings of their protocols and other values."""
    tasks = {task.name: task for task in (suites[of_suite] if of_suite else suite).tasks}
    for name in of:
        task = tasks[name]
        settings: Any = replace(task.protocol, **protocol) if protocol else task.protocol  # type: ignore[type-var]
        yield replace(task, name=f"{name}{suffix}", protocol=settings, **values)


def _check(kind: type[T], values: Values) -> T:
    """Return a declaration with these values, lists as tuples; ValueError for a key or value that does not fit."""
    return TypeAdapter(kind).validate_python(values)
