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
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from pathlib import Path
from shlex import quote
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter

from sciprism.errors import InputError
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import STRICT, Published, Suite, Task, list_published
from sciprism.evaluation.task_files import FileRegistry

TableForm = Literal["tasks", "groups", "relative", "errors", "runs"]
"""tasks: a column per task score, and group averages. groups: averages only. relative: relative changes of
averages. errors: as tasks, with standard errors and relative changes of the error (100 - score). runs: as
tasks, with standard deviations over runs, and a mark on differences of more than two of them."""
MAX_LISTED = 12  # how many tasks of a group are named


@dataclass(frozen=True, slots=True)
class TableModel:
    """The model of a row: its default name, and how to get it.

    default: a name as `sciprism evaluate` takes it, "" for none. per_task: other defaults for some tasks.
    pooling: of the default, if its folder does not state it. fixed: trained by others, so it has one seed.
    recipe: that trains it, with these changes of its settings. members: keys of the models of an ensemble.
    """

    __pydantic_config__ = STRICT

    title: str
    default: str = ""
    _: KW_ONLY
    per_task: Mapping[str, str] = field(default_factory=dict)
    pooling: str = ""
    fixed: bool = False
    obtain: str = ""
    recipe: str = ""
    changes: tuple[str, ...] = ()
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeInstruction:
    """An instruction other than the one a model was trained with; key: its short name in results."""

    __pydantic_config__ = STRICT

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One row: a model by key, "" for rows with published numbers only.

    instruction: replaces the model's own. encoded_format: the format whose vectors all tasks use, "" for each
    task's own. variant: suffix of the names of the tasks that the row is scored on. against: the baseline
    row, compared by a paired interval. published_names: of the row in the paper, if they differ.
    always_shown: whatever models are selected. own_data: not on other data than the paper's. ours: the paper's table
    does not have it.
    """

    __pydantic_config__ = STRICT

    name: str
    model: str = ""
    _: KW_ONLY
    instruction: AlternativeInstruction | None = None
    encoded_format: str = ""
    variant: str = ""
    against: str = ""
    published_names: tuple[str, ...] = ()
    always_shown: bool = False
    own_data: bool = False
    ours: bool = False

    @property
    def key(self) -> str:
        """Return the row's key in results: the model, `+` an instruction, `@` a format."""
        instruction = f"+{self.instruction.key}" if self.instruction else ""
        return self.model + instruction + (f"@{self.encoded_format}" if self.encoded_format else "")

    def task(self, base: str) -> str:
        """Return the name of the row's task in a column."""
        return f"{base}-{self.variant}" if self.variant else base


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTable:
    """A table of a paper: its rows, and the groups of tasks in its columns.

    name: as typed, 1a. printed_as: as the paper has it, Table 1(a); "": a table of ours. title: what it shows,
    for the caption. groups: keys of `GroupedSuite.groups`. metrics: only these columns, () for all that
    averages count. average: whether each group has one. overall: columns "micro", the mean of all scores, and
    "macro", the mean of the groups' means. published: the paper's rows, with our column names. notes: on
    these.
    """

    __pydantic_config__ = STRICT

    name: str
    title: str
    rows: tuple[ModelRow, ...]
    groups: tuple[str, ...]
    form: TableForm = "tasks"
    metrics: tuple[str, ...] = ()
    average: bool = True
    overall: bool = False
    published: tuple[Published, ...] = ()
    printed_as: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedSuite:
    """A suite whose tasks are in a paper's groups.

    tasks: variants that the suite lacks, each named like its task, with a suffix. other_suites: further
    suites with tasks of the groups; results are stored under their names. original: whether these are the
    paper's own data, so that its published numbers compare. remarks: what the data of a group are, or a
    model's substitute. stand_ins: group -> short name of other data in its place, for heads of columns.
    trained_on: task -> which scored models train on its data. departures: setting -> its value in the laptop
    recipes, and in the paper, where they differ by more than size. view: the selected view of the suite.
    """

    suite: Suite
    groups: Mapping[str, tuple[str, ...]]
    tasks: tuple[Task, ...] = ()
    other_suites: tuple[Suite, ...] = ()
    original: bool = False
    remarks: Mapping[str, str] = field(default_factory=dict)
    departures: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    trained_on: Mapping[str, str] = field(default_factory=dict)
    view: str = ""

    def tasks_by_name(self) -> dict[str, Task]:
        """Return every task by name."""
        suites = (self.suite, *self.other_suites)
        return {task.name: task for task in (*(t for suite in suites for t in suite.tasks), *self.tasks)}

    def suite_of(self, task: str) -> Suite:
        """Return the suite under whose name the results of a task are stored."""
        return next((s for s in self.other_suites if task in {other.name for other in s.tasks}), self.suite)

    def describe_departures(self) -> str:
        """Return where the laptop recipes depart from the paper's settings, as one sentence; "" for nowhere."""
        listed = "; ".join(f"{name}: {ours} (paper: {paper})" for name, (ours, paper) in self.departures.items())
        return f"Besides size, the laptop recipes depart from the paper. {listed}." if listed else ""

    def select_view(self, view: str) -> GroupedSuite:
        """Return the groups over a view of the suite."""
        names = {task.name for task in self.suite.select_view(view).tasks}
        names |= {task.name for task in self.tasks if task.name.rpartition("-")[0] in names}
        groups = {group: tuple(n for n in tasks if n in names) for group, tasks in self.groups.items()}
        return replace(self, groups=groups, view=view)

    @property
    def name(self) -> str:
        """Return the name of the suite and its view."""
        return f"{self.suite.name}/{self.view}" if self.view else self.suite.name

    def label(self, group: str) -> str:
        """Return the name of a group for heads of columns: other data than the paper's say what they are."""
        return f"{self.stand_ins[group]} (for {group})" if group in self.stand_ins else group


def describe_data(suite: GroupedSuite, group: str) -> str:
    """Return what the data of a group are: its remark, and the names of its tasks, at most 12."""
    tasks = suite.groups.get(group, ())
    if not tasks:
        return "no task"
    suite_names = {
        suite.name if suite.suite_of(task) == suite.suite else suite.suite_of(task).name: None for task in tasks
    }
    more = f" and {len(tasks) - MAX_LISTED} more" if len(tasks) > MAX_LISTED else ""
    count = f"{len(tasks)} task{'s' if len(tasks) > 1 else ''} of {', '.join(suite_names)}"
    listed = f"{count}: {', '.join(tasks[:MAX_LISTED])}{more}"
    return "; ".join(filter(None, (suite.remarks.get(group, ""), listed)))


@dataclass(frozen=True, slots=True)
class TaskScore:
    """One score of a task that averages count: the mean of these metrics."""

    task: str
    metrics: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return task and metric, or task and "(mean)" for several metrics."""
        return f"{self.task} {self.metrics[0] if len(self.metrics) == 1 else '(mean)'}"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A named mean of scores, mostly of one.

    weights: of each score, () for equal ones. published_names: its names in published rows.
    """

    name: str
    scores: tuple[TaskScore, ...]
    weights: tuple[float, ...] = ()
    published_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """A paper: its tables, their models, and the data that they can be made on, the paper's own first.

    sample_tables: name -> title of tables that count a training sample by fields. other_tables: name -> why a
    table of the paper is not made here.
    """

    name: str
    title: str
    tables: Mapping[str, PaperTable]
    models: Mapping[str, TableModel]
    suites: Mapping[str, GroupedSuite]
    sample_tables: Mapping[str, str] = field(default_factory=dict)
    other_tables: Mapping[str, str] = field(default_factory=dict)

    @property
    def short_title(self) -> str:
        """Return the paper's title without authors and venue."""
        return self.title.partition(" (")[0]

    def caption(self, table: PaperTable) -> str:
        """Return a table's number in the paper and what it shows, in our words."""
        number = f"{table.printed_as} of {self.short_title}" if table.printed_as else f"Table {table.name} (ours)"
        return f"{number}: {table.title}"

    def resolve_table(self, typed: str) -> str:
        """Return the name of a table as typed: `1(a)` is 1a, `a4` is A4."""
        plain = typed.replace("(", "").replace(")", "").casefold()
        names = (*self.tables, *self.sample_tables, *self.other_tables)
        return next((name for name in names if name.casefold() == plain), typed)

    def table(self, name: str) -> PaperTable:
        """Return a table by name; InputError lists the known ones, or says why it is not made."""
        if name in self.other_tables:
            raise InputError(f"table {name} of {self.title} is not made from scores: {self.other_tables[name]}")
        if name not in self.tables:
            known = ", ".join((*self.tables, *self.sample_tables))
            raise InputError(f"{self.name} has no table {name!r} that is reproduced; known: {known}")
        return self.tables[name]


def build_columns(table: PaperTable, suite: GroupedSuite) -> tuple[TableColumn, ...]:
    """Return a table's columns on some data; InputError if there are none.

    A task without the variant of one of the rows, or without the table's metrics, has no column.
    """
    tasks = suite.tasks_by_name()
    columns: list[TableColumn] = []
    by_group: list[tuple[TaskScore, ...]] = []
    filled = [group for group in table.groups if suite.groups.get(group)]
    for group in table.groups:
        names = [n for n in suite.groups.get(group, ()) if all(row.task(n) in tasks for row in table.rows)]
        scores = tuple(score for name in names for score in select_scores(tasks[name], table.metrics))
        if not scores:
            continue
        by_group.append(scores)
        if table.form in ("tasks", "errors", "runs"):
            columns += [TableColumn(score.name, (score,), (), (score.name, score.task)) for score in scores]
        if table.average or table.form in ("groups", "relative"):
            name, alone = f"Average, {suite.label(group)}", ("Average",) * (filled == [group])
            columns.append(TableColumn(name, scores, (), (name, group, *alone)))
    if table.overall and columns:
        every = tuple(score for scores in by_group for score in scores)
        shares = tuple(1 / len(scores) for scores in by_group for _ in scores)
        columns.append(TableColumn("micro", every, (), ("micro",)))
        columns.append(TableColumn("macro", every, shares, ("macro",)))
    if not columns:
        raise InputError(f"table {table.name}: {suite.name} has no task for it; name another --data")
    return tuple(columns)


def select_scores(task: Task, metrics: tuple[str, ...]) -> tuple[TaskScore, ...]:
    """Return a task's scores of these metrics; (): those that averages count."""
    names = task.protocol.metrics
    if metrics:
        return tuple(TaskScore(task.name, (name,)) for name in names if name in metrics)
    if task.numbers == "each":
        return tuple(TaskScore(task.name, (name,)) for name in names)
    return (TaskScore(task.name, names[:1] if task.numbers == "first" else names),)


PAPERS = ("scimult", "scirepeval", "multi2spe", "indus", "prism")
Values = Mapping[str, Any]
T = TypeVar("T")


def read_paper(path: Path) -> Reproduction:
    """Return a paper's declared tables. Raises ValueError or InputError for a declaration that does not fit."""
    paper, name = tomllib.loads(path.read_text(encoding="utf-8")), path.stem
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
    template = values.get("obtain", "")
    changes = "".join(f" --set {quote(change)}" for change in values.get("changes", ()))
    obtain = template.format(**{"default": "", **values, "key": key, "changes": changes})
    used = {name for name in {*values} - {item.name for item in fields(TableModel)} if f"{{{name}}}" in template}
    return _check(TableModel, {name: value for name, value in values.items() if name not in used} | {"obtain": obtain})


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
    tasks = suite.tasks_of(group["among"]) if "among" in group else suite.tasks
    choices = {key: value if isinstance(value, list) else [value] for key, value in group.items() if key != "among"}
    return tuple(t.name for t in tasks if all(getattr(t, key) in choice for key, choice in choices.items()))


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


reproductions = FileRegistry(
    "paper to reproduce", read_paper, (Path(__file__).parent / "papers" / f"{name}.toml" for name in PAPERS)
)
"""The papers whose tables can be reproduced."""
