"""Declare tasks, suites of tasks, their averages and published rows; `protocols` names the code that scores them.

The tables of numbers that papers print are in published/PAPER.toml, a `[[table]]` each. A table has a `number`,
`columns` (our names of tasks, metrics and averages) and rows, and optionally a `caption`, `notes`, and a `source`, if
that is not the paper's table of this number. A row has a `name` and a number per column in `values`, times 100 and with
the decimals of the paper; `nan`: the paper prints none. `spread`: standard deviations or errors, likewise.
`unreadable`: columns, counted from 0, whose number the paper prints and our sources lack; these are `nan` too.
Tables of sizes hold counts, with a row for each of our data sets.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.systems import Distance, EncodingInput, System
from sciprism.formats import Format, Role
from sciprism.metrics.rankings import parse_metric
from sciprism.registry import Registry
from sciprism.text.template import FIELDS

if TYPE_CHECKING:
    from sciprism.datasets.data_root import DataRoot

T = TypeVar("T")
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
"""Settings of protocols; `task_files` checks what a file states, with the range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationContext:
    """How a task's papers are encoded, and the run's seed; the seeds of a task and system share the rest.

    role: of the papers; "query" where a task that is not a search is scored with query vectors.
    first_seed: the seed that chooses settings. grid_file: stores the dev scores of settings, under `key`.
    cache: holds what a protocol builds once for all contexts that share it; None: nothing is shared.
    """

    format: Format
    role: Role = "paper"
    fields: tuple[str, ...] = FIELDS
    seed: int = 0
    first_seed: int = 0
    grid_file: Path | None = None
    key: str = ""
    cache: list[Any] | None = field(default=None, compare=False)

    def papers(self, items: Sequence[Any]) -> EncodingInput:
        """Return items as papers of this format."""
        return EncodingInput(items=items, format=self.format, role=self.role, fields=self.fields)

    def queries(self, items: Sequence[Any], role: Role = "query") -> EncodingInput:
        """Return items as queries of this format, or as papers; papers among them are read by the same fields."""
        return self.papers(items) if role == "paper" else replace(self.papers(items), role="query")

    def labels(self, items: Sequence[Any]) -> EncodingInput:
        """Return items as labels of this format."""
        return replace(self.papers(items), role="label")


NUMBERS = ("mean", "each", "first")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolResult:
    """What a protocol returns.

    item_scores: metric -> per-item scores, in the order of the table, in natural units (most from 0 to 1).
    details: chosen settings (C, distance, numbers of items) as JSON values. dropped: items not used.
    """

    item_scores: Mapping[str, ItemScores]
    details: Mapping[str, Any] = field(default_factory=dict)
    dropped: DropReport = field(default_factory=DropReport)


class TaskProtocol(Protocol):
    """How a kind of task is scored: a frozen dataclass of settings, checked when built."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the names of the metrics in `ProtocolResult.item_scores`, the main one first."""
        ...

    def evaluate(self, data: Any, system: System, context: EvaluationContext) -> ProtocolResult:
        """Score a system on the input that the layout read."""
        ...


class DataLayout(Protocol):
    """Where the data of a task are and in which layout: a frozen dataclass of plain values."""

    def read(self, data_root: DataRoot) -> Any:
        """Return the input of the task's protocol. Raises InputError where files are missing or wrong."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One benchmark data set with its protocol.

    group: fine, coarse, retrieval, reranking, search (SciMult's five), regression, matching, clustering ...
    in_train: whether the training recipes of its suite use tasks of this kind; None: not stated.
    numbers: what an average takes: the "mean" of the metrics, "each" metric, or the "first" one.
    distance: how the paper compares vectors, where the protocol leaves that to the encoder.
    method_formats: method of an encoder -> the format whose vectors the paper uses, where that is not the task's.
    remark: what readers of scores should know of the data: what they replace, their size, models trained on them.

    The key excludes distance, method_formats and remark. A stored result names the distance and format it was
    scored with, and is valid while both are those of the task (`results.explain_other_scoring`).
    """

    name: str
    format: Format
    protocol: TaskProtocol
    data: DataLayout
    fields: tuple[str, ...] = FIELDS
    group: str = ""
    in_train: bool | None = None
    numbers: str = "mean"
    reference: str = ""
    distance: Distance = field(default="encoder", compare=False)
    method_formats: Mapping[str, Format] = field(default_factory=dict, compare=False)
    remark: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.numbers not in NUMBERS:
            raise InputError(f"task {self.name}: numbers is {self.numbers!r}; one of {', '.join(NUMBERS)}")
        if self.distance != "encoder" and getattr(self.protocol, "distance", "") != "encoder":
            raise InputError(f"task {self.name}: its protocol does not leave the distance to the encoder")

    def scored_protocol(self, without: Collection[str] = ()) -> TaskProtocol:
        """Return the protocol with the distance that the task states; without: metrics to leave out."""
        protocol: Any = self.protocol
        if self.distance != "encoder":
            protocol = replace(protocol, distance=self.distance)
        if without:
            name = "metrics" if "metrics" in {item.name for item in fields(protocol)} else "metric"
            left = tuple(metric for metric in getattr(protocol, name) if metric not in without)
            protocol = replace(protocol, **{name: left})
        return protocol  # type: ignore[no-any-return]

    def vector_format(self, system: Mapping[str, Any]) -> Format:
        """Return the format whose vectors a system gives; system: its description in results."""
        stated = self.method_formats.get(str(system.get("method", "")), self.format)
        return stated if stated in system.get("formats", ()) else self.format

    @property
    def seeds(self) -> int:
        """Return how many seeds its number is the mean of: those that its protocol declares, else one."""
        return getattr(getattr(self.protocol, "tuning", None), "seeds", 1)

    @property
    def key(self) -> str:
        """Return a hash of the whole declaration; results of another declaration do not compare."""
        return hashlib.sha256(json.dumps(to_declaration(self), sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """A named mean over the numbers of some tasks of a suite.

    by_group: the mean of the means of their groups, each group with the same weight.
    """

    name: str
    tasks: tuple[str, ...]
    by_group: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A row of a paper's table, times 100 as printed; scores: column (task, metric or average) -> number.

    spreads: column -> standard deviation or error, as the table prints it. unreadable: columns that the paper
    prints and its text as we have it lacks. not_printed: columns without a number in the paper.
    """

    name: str
    source: str
    scores: Mapping[str, float]
    spreads: Mapping[str, float] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()
    not_printed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The tasks of one paper's tables. views: name -> the task names of a subset. remark: as of a task, of all."""

    name: str
    tasks: tuple[Task, ...]
    averages: tuple[Average, ...] = ()
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    published: tuple[Published, ...] = ()
    reference: str = ""
    remark: str = ""

    def __post_init__(self) -> None:
        names = [task.name for task in self.tasks]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"suite {self.name}: {', '.join(repeated)} declared twice")
        for name, wanted in [*((a.name, a.tasks) for a in self.averages), *self.views.items()]:
            if unknown := sorted(set(wanted) - set(names)):
                raise InputError(f"suite {self.name}, {name}: unknown tasks {', '.join(unknown)}")

    @property
    def folder(self) -> str:
        """Return the name of the folder of its results; a view's are in its suite's."""
        return self.name.partition("/")[0]

    def tasks_of(self, name: str) -> tuple[Task, ...]:
        """Return the tasks of an average or a view, in the order of the suite."""
        members = {average.name: average.tasks for average in self.averages} | dict(self.views)
        return tuple(task for task in self.tasks if task.name in members[name])

    def select_view(self, view: str) -> Suite:
        """Return a view as a suite, its averages over the tasks that the view has. Raises InputError."""
        if view not in self.views:
            raise InputError(f"the suite {self.name} has no view or task {view!r}; views: {', '.join(self.views)}")
        names = self.views[view]
        averages = [replace(a, tasks=tuple(name for name in a.tasks if name in names)) for a in self.averages]
        return replace(
            self,
            name=f"{self.name}/{view}",
            tasks=tuple(task for task in self.tasks if task.name in names),
            averages=tuple(average for average in averages if average.tasks),
            views={},
            published=(),
        )


def to_declaration(value: Any) -> Any:
    """Return a declaration as JSON values, each dataclass with its name under the key "".

    The metadata of a field say what a value was called before it was renamed, and FORMER of a class the defaults of
    settings that it had: results of these still count.
    """
    if is_dataclass(value) and not isinstance(value, type):
        stated = ((item, getattr(value, item.name)) for item in fields(value) if item.compare)
        compared = {item.name: item.metadata.get(found, found) if item.metadata else found for item, found in stated}
        return to_declaration({"": type(value).__name__, **getattr(value, "FORMER", {}), **compared})
    if isinstance(value, Mapping):
        return {str(key): to_declaration(item) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(to_declaration(item) for item in value)
    return [to_declaration(item) for item in value] if isinstance(value, tuple | list) else value


protocols: Registry[type[TaskProtocol]] = Registry("protocol")


def check_metrics(protocol: str, metrics: Sequence[str], known: Sequence[str] = ()) -> None:
    """Raise InputError unless at least one metric is named and all are known.

    known: the protocol's metrics; () stands for all ranking metrics.
    """
    if not metrics:
        raise InputError(f"{protocol}: no metric is named")
    for name in metrics:
        if not known:
            parse_metric(name)
        elif name not in known:
            raise InputError(f"{protocol}: unknown metric {name!r}; known: {', '.join(known)}")


PUBLISHED = Path(__file__).parent / "published"
Tables = Mapping[str, tuple[Published, ...]]


def list_published(names: Iterable[str]) -> tuple[Published, ...]:
    """Return the rows of some tables, each named PAPER/NUMBER; InputError for an unknown one."""
    rows: list[Published] = []
    for name in names:
        paper, _, number = name.partition("/")
        tables = read_paper(paper)
        if number not in tables:
            raise InputError(f"no published table {name!r}; {paper} has {', '.join(tables) or 'no file of tables'}")
        rows += tables[number]
    return tuple(rows)


def read_sizes(*names: str) -> dict[str, dict[str, int | float]]:
    """Return row -> column -> count of tables of sizes, each named PAPER/NUMBER; whole counts as int."""
    return {
        row.name: {column: int(count) if count.is_integer() else count for column, count in row.scores.items()}
        for row in list_published(names)
    }


@cache
def read_paper(name: str) -> Tables:
    """Return number of a table -> its rows, of a paper's file in the package; {} without one."""
    path = PUBLISHED / f"{name}.toml"
    if not path.exists():
        return {}
    file = tomllib.loads(path.read_text(encoding="utf-8"))
    return parse_tables(file["table"], path.name, file["paper"])


STRICT = ConfigDict(extra="forbid")  # an unknown key of a declaration is an error


@dataclass(frozen=True)
class _PrintedRow:
    __pydantic_config__ = STRICT
    name: str
    values: tuple[float, ...]
    spread: tuple[float, ...] = ()
    unreadable: tuple[int, ...] = ()


@dataclass(frozen=True)
class _PrintedTable:
    __pydantic_config__ = STRICT
    columns: tuple[str, ...]
    row: tuple[_PrintedRow, ...]
    number: str = ""
    caption: str = ""
    source: str = ""
    notes: str = ""


def parse_tables(tables: Iterable[Mapping[str, Any]], where: str, paper: str = "") -> Tables:
    """Return number of a table -> its rows. paper: its title, for the source of each row.

    Raises InputError for an unknown or missing key, a table that occurs twice, and lists that are not parallel.
    """
    parsed: dict[str, tuple[Published, ...]] = {}
    for values in tables:
        place = f"{where}, table {values.get('number', '')}"
        try:
            table = TypeAdapter(_PrintedTable).validate_python(values)
        except ValidationError as error:
            wrong = error.errors()[0]
            raise InputError(f"{place}: {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}") from None
        if table.number in parsed:
            raise InputError(f"{place} occurs twice")
        source = table.source or f"{paper}, Table {table.number}"
        parsed[table.number] = tuple(
            _publish_row(row, table.columns, source, f"{place}, {row.name!r}") for row in table.row
        )
    return parsed


def _publish_row(row: _PrintedRow, columns: tuple[str, ...], source: str, where: str) -> Published:
    spread = row.spread or (nan,) * len(columns)
    if not len(row.values) == len(spread) == len(columns):
        raise InputError(f"{where}: {len(row.values)} values and {len(spread)} spreads of {len(columns)} columns")
    empty = [place for place, value in enumerate(row.values) if isnan(value)]
    if not {*row.unreadable} <= {*empty}:
        raise InputError(f"{where}: unreadable {[*row.unreadable]} are not all columns without a value")
    return Published(
        name=row.name,
        source=source,
        scores={column: value for column, value in zip(columns, row.values, strict=True) if not isnan(value)},
        spreads={column: value for column, value in zip(columns, spread, strict=True) if not isnan(value)},
        unreadable=tuple(columns[place] for place in row.unreadable),
        not_printed=tuple(columns[place] for place in empty if place not in row.unreadable),
    )
