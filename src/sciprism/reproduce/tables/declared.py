"""What a table is: rows (models, perhaps changed), columns (numbers of tasks, averages), printed figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sciprism.errors import InputError
from sciprism.evaluation.task import Published, Suite, Task

Form = Literal["tasks", "groups", "relative", "errors", "runs"]
"""One column per number of a task and the average of each group; averages alone; their relative change; as
the first, with standard errors and the relative change of the error (what is missing to 100); as the first,
with standard deviations over runs, and a mark at what is more than two of them off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Who stands in a row: where the model lies if nobody says otherwise, and how to come by it if nowhere.

    default: a name as `sciprism evaluate` takes it, "" for none. per_task: other defaults for some tasks.
    pooling: of the default, where its folder does not state it. fixed: others made it, so that it has no
    seeds of ours.
    """

    title: str
    default: str = ""
    per_task: Mapping[str, str] = field(default_factory=dict)
    pooling: str = ""
    fixed: bool = False
    obtain: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """Another instruction than the one a model was trained with; key: its short name in results."""

    key: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: a model by key, "" where only the printed figures are known.

    instruction: given to the model instead of its own. as_format: all tasks are scored with the vectors of
    this format, "" for each task's own. variant: the ending of the tasks' names that the row
    is scored on, "" for the tasks of the columns themselves. against: the row that it is held against, with
    a paired interval. as_published: the name of the printed row, if it differs. always: shown whatever
    models are chosen.
    """

    name: str
    model: str = ""
    instruction: Instruction | None = None
    as_format: str = ""
    variant: str = ""
    against: str = ""
    as_published: str = ""
    always: bool = False

    @property
    def key(self) -> str:
        """Return how results call it: the model, `+` an instruction, `@` a format."""
        told = f"+{self.instruction.key}" if self.instruction else ""
        return self.model + told + (f"@{self.as_format}" if self.as_format else "")

    def task(self, base: str) -> str:
        """Return the name of the task that the row has in a column."""
        return f"{base}-{self.variant}" if self.variant else base


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a paper: its name there, its rows, the groups of tasks in its columns.

    groups: keys of `Shape.groups`. metrics: only columns of these, () for all that averages count.
    average: whether each group has one. overall: columns "micro", the mean of all numbers, and "macro", that
    of the groups' means. published: the printed rows; their columns are named as ours.
    timed: the group whose searches' seconds are told beside the numbers, its tasks being in the columns too.
    seconds: name of a row -> the printed seconds per query.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    groups: tuple[str, ...]
    form: Form = "tasks"
    metrics: tuple[str, ...] = ()
    average: bool = True
    overall: bool = False
    published: tuple[Published, ...] = ()
    timed: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [row.name for row in self.rows]
        if len(set(names)) < len(names):
            raise InputError(f"table {self.name}: two rows have one name")
        unknown = {row.against for row in self.rows} - {*names, ""}
        if unknown:
            raise InputError(f"table {self.name}: held against {', '.join(sorted(unknown))}, which is no row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A suite seen as a paper's groups: the names of the tasks of each. tasks: variants the suite lacks, each
    called like the task that it varies, with a word behind. others: further suites, to which results go.

    own: whether it is the paper's own data, so that printed figures may stand beside. remarks: what must be
    said of a group, or of whoever stands for a model. view: the part of the suite that is left.
    """

    suite: Suite
    groups: Mapping[str, tuple[str, ...]]
    tasks: tuple[Task, ...] = ()
    others: tuple[Suite, ...] = ()
    own: bool = False
    remarks: Mapping[str, str] = field(default_factory=dict)
    view: str = ""

    def __post_init__(self) -> None:
        unknown = {name for names in self.groups.values() for name in names} - set(self.declared())
        if unknown:
            raise InputError(f"{self.suite.name}: unknown tasks {', '.join(sorted(unknown))}")

    def declared(self) -> dict[str, Task]:
        """Return every task by name."""
        suites = (self.suite, *self.others)
        return {task.name: task for task in (*(t for suite in suites for t in suite.tasks), *self.tasks)}

    def home(self, task: str) -> Suite:
        """Return the suite below whose name the results of a task stand."""
        return next((s for s in self.others if task in {each.name for each in s.tasks}), self.suite)

    def part(self, view: str) -> Shape:
        """Return the shape over a view of its suite."""
        names = {task.name for task in self.suite.part(view).tasks}
        names |= {task.name for task in self.tasks if task.name.rpartition("-")[0] in names}
        groups = {group: tuple(n for n in tasks if n in names) for group, tasks in self.groups.items()}
        return replace(self, groups=groups, view=view)

    @property
    def name(self) -> str:
        """Return the suite and the view of it."""
        return f"{self.suite.name}/{self.view}" if self.view else self.suite.name


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a task that averages take: the mean of these metrics."""

    task: str
    metrics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A named mean of numbers; of one number mostly. weights: of each, () for equal ones."""

    name: str
    numbers: tuple[Number, ...]
    weights: tuple[float, ...] = ()

    @property
    def printed(self) -> tuple[str, ...]:
        """Return the names that printed rows may call it by: its own; its task's where it is no average."""
        return (self.name, *(number.task for number in self.numbers if column_name(number) == self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """A paper: its tables, who stands in them, the data that they can be made on, the paper's own first.

    samples: tables that count a training sample by fields, and their titles. elsewhere: other tables that are
    no scores, and what makes them.
    """

    name: str
    title: str
    tables: Mapping[str, Table]
    models: Mapping[str, Model]
    shapes: Mapping[str, Shape]
    samples: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = [row for table in self.tables.values() for row in table.rows]
        unknown = sorted({row.model for row in rows} - set(self.models) - {""})
        if unknown:
            raise InputError(f"{self.name}: rows of models that are not declared: {', '.join(unknown)}")

    def table(self, name: str) -> Table:
        """Return a table by its name. Raises InputError naming those that there are, or what makes it."""
        if name in self.elsewhere:
            raise InputError(f"table {name} of {self.title} is no table of scores: {self.elsewhere[name]}")
        if name not in self.tables:
            known = ", ".join((*self.tables, *self.samples))
            raise InputError(f"{self.name} has no table {name!r} that is reproduced; there are {known}")
        return self.tables[name]


def numbers_of(task: Task) -> tuple[Number, ...]:
    """Return the numbers that a task gives to an average, from its declaration alone."""
    names = task.protocol.metrics
    if task.numbers == "each":
        return tuple(Number(task.name, (name,)) for name in names)
    return (Number(task.name, names[:1] if task.numbers == "first" else names),)


def columns_of(table: Table, shape: Shape) -> tuple[Column, ...]:
    """Return a table's columns on some data. Raises InputError where none is left.

    A task that lacks the variant of one of the rows, or a metric that the table asks for, has no column.
    """
    declared = shape.declared()
    found: list[Column] = []
    of_groups: list[tuple[Number, ...]] = []
    for group in table.groups:
        names = [
            name
            for name in shape.groups.get(group, ())
            if all(row.task(name) in declared for row in table.rows)
        ]
        numbers = [number for name in names for number in metrics_of(declared[name], table.metrics)]
        of_groups += [tuple(numbers)] if numbers else []
        if table.form in ("tasks", "errors", "runs"):
            found += [Column(column_name(number), (number,)) for number in numbers]
        if numbers and (table.average or table.form in ("groups", "relative")):
            found.append(Column(f"Average, {group}", tuple(numbers)))
    if table.overall and found:
        everything = tuple(number for numbers in of_groups for number in numbers)
        shares = tuple(1 / len(numbers) for numbers in of_groups for _ in numbers)
        found += [Column("micro", everything), Column("macro", everything, shares)]
    if not found:
        raise InputError(f"table {table.name}: {shape.name} has no task for it; leave --quick out")
    return tuple(found)


def column_name(number: Number) -> str:
    """Return how a number is called: task and metric, or task and mean of several."""
    return f"{number.task} {number.metrics[0] if len(number.metrics) == 1 else '(mean)'}"


def metrics_of(task: Task, metrics: tuple[str, ...]) -> tuple[Number, ...]:
    """Return the numbers of these metrics, or those that averages take where none is named."""
    if not metrics:
        return numbers_of(task)
    return tuple(Number(task.name, (name,)) for name in task.protocol.metrics if name in metrics)
