"""Declarations: a task, a suite of tasks, how its averages are formed; no code of a protocol."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.declared_names import DECLARED_AS
from sciprism.evaluation.item_scores import Evidence
from sciprism.evaluation.systems import System, Texts
from sciprism.formats import Format, Role
from sciprism.text.template import FIELDS

if TYPE_CHECKING:
    from sciprism.datasets.data_root import DataRoot


T = TypeVar("T")
NUMBERS = ("mean", "each", "first")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a protocol found: evidence per metric, in the order of the table, and what a reader must know.

    evidence: metric name -> per-item evidence, in natural units (0-1 for most), not percent.
    details: chosen settings (C, distance used, numbers of items) as JSON values.
    """

    evidence: Mapping[str, Evidence]
    details: Mapping[str, Any] = field(default_factory=dict)
    tally: DropReport = field(default_factory=DropReport)


class TaskProtocol(Protocol):
    """How a kind of task is scored: a frozen dataclass of settings that checks itself when built."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the names of the metrics in `Outcome.evidence`, the headline first."""
        ...

    def evaluate(self, data: Any, system: System, view: View) -> Outcome:
        """Score a system on the protocol's own kind of input."""
        ...


class Data(Protocol):
    """Where and in which layout the data of a task lie: a frozen dataclass of plain values."""

    def read(self, home: DataRoot) -> Any:
        """Return the input of the task's protocol. Raises InputError where files are missing or wrong."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How a task's papers are encoded: the format asked for, the fields read, and the run's seed.

    role: of the papers; "query" where a task that is no search is scored with the vectors of searches.
    Runs of one task and system with several seeds share the rest. first_seed: with which choices are made.
    kept: a file for what was tried, under `key`. memory: where what is made `once` stands, None for nowhere.
    """

    format: Format
    role: Role = "paper"
    fields: tuple[str, ...] = FIELDS
    seed: int = 0
    first_seed: int = 0
    kept: Path | None = None
    key: str = ""
    memory: list[Any] | None = field(default=None, compare=False)

    def once(self, make: Callable[[], T]) -> T:
        """Return what `make` makes; views that share a memory share it."""
        if self.memory is None:
            return make()
        if not self.memory:
            self.memory.append(make())
        made: T = self.memory[0]
        return made

    def papers(self, items: Sequence[Any]) -> Texts:
        """Return items as papers of this format."""
        return Texts(items=items, format=self.format, role=self.role, fields=self.fields)

    def queries(self, items: Sequence[Any]) -> Texts:
        """Return items as queries of this format; a paper among them is read by its fields too."""
        return Texts(items=items, format=self.format, role="query", fields=self.fields)

    def labels(self, items: Sequence[Any]) -> Texts:
        """Return items as labels of this format."""
        return Texts(items=items, format=self.format, role="label", fields=self.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One benchmark data set with its protocol.

    group: where averages put it: fine, coarse, retrieval, reranking, search (SciMult's five), regression,
    matching, clustering ... in_train: whether tasks of its kind serve training in its suite (None: not said).
    numbers: what the suite's averages take: the "mean" of the metrics as one number, "each" as one, or only
    the "first", the others being there to be read.
    """

    name: str
    format: Format
    protocol: TaskProtocol
    data: Data
    fields: tuple[str, ...] = FIELDS
    group: str = ""
    in_train: bool | None = None
    numbers: str = "mean"
    reference: str = ""

    def __post_init__(self) -> None:
        if self.numbers not in NUMBERS:
            raise InputError(f"task {self.name}: numbers is {self.numbers!r}; one of {', '.join(NUMBERS)}")

    @property
    def seeds(self) -> int:
        """Return of how many runs its number is the mean: those that its protocol asks for, else one."""
        return getattr(getattr(self.protocol, "tuning", None), "seeds", 1)

    @property
    def key(self) -> str:
        """Return a hash of the whole declaration; a result counts only for the declaration it was made by."""
        return hashlib.sha256(json.dumps(plain(self), sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """A named mean over the numbers of some tasks of a suite.

    by_group: the mean of the means of their groups, whatever the number of tasks in each.
    """

    name: str
    tasks: tuple[str, ...]
    by_group: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A row of a paper's table, times 100 as printed; scores: column (task, metric or average) -> number."""

    name: str
    source: str
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The tasks of one paper's tables. views: named parts of it, each a tuple of task names."""

    name: str
    tasks: tuple[Task, ...]
    averages: tuple[Average, ...] = ()
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    published: tuple[Published, ...] = ()
    reference: str = ""

    def __post_init__(self) -> None:
        names = [task.name for task in self.tasks]
        double = sorted({name for name in names if names.count(name) > 1})
        if double:
            raise InputError(f"suite {self.name}: {', '.join(double)} declared twice")
        for part, wanted in [*((a.name, a.tasks) for a in self.averages), *self.views.items()]:
            unknown = sorted(set(wanted) - set(names))
            if unknown:
                raise InputError(f"suite {self.name}, {part}: unknown tasks {', '.join(unknown)}")

    def part(self, view: str) -> Suite:
        """Return a view as a suite of its own, each average over what is left of it. Raises InputError."""
        if view not in self.views:
            known = ", ".join(self.views) or "none"
            raise InputError(f"the suite {self.name} has no view {view!r}; known: {known}")
        names = self.views[view]
        left = [replace(a, tasks=tuple(name for name in a.tasks if name in names)) for a in self.averages]
        return replace(
            self,
            name=f"{self.name}/{view}",
            tasks=tuple(task for task in self.tasks if task.name in names),
            averages=tuple(average for average in left if average.tasks),
            views={},
            published=(),
        )


def plain(value: Any) -> Any:
    """Return a declaration as JSON values, each dataclass with its name (`declared_names`)."""
    if is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        return {"": DECLARED_AS.get(name, name)} | {
            DECLARED_AS.get(f"{name}.{item.name}", item.name): plain(getattr(value, item.name))
            for item in fields(value)
            if item.compare
        }
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, frozenset | set):
        return sorted(plain(item) for item in value)
    return value
