"""Results on disk: one JSON per system and task with its provenance, and the items behind every number.

RESULTS/<system>/<suite>/<task>.json                 numbers, intervals, counts, provenance
RESULTS/<system>/<suite>/items/<task>--<metric>.npz  evidence: what each query or paper contributed

So an evaluation can be interrupted at any moment. `stored_results` reads these files, and the packed ones
that `sciprism results pack` makes of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from sciprism.errors import InputError
from sciprism.evaluation import item_scores as evidences
from sciprism.evaluation.item_scores import Evidence
from sciprism.files import write_json

Status = Literal["done", "not served", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One metric's value with its bootstrap 95% interval, in natural units; n: items behind it."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """What one system reached at one task, or why there is no number.

    key: hash of the task's declaration. numbers: what averages take (`Task.numbers`). format: the task's;
    as_format: whose vectors were used instead, "" for its own.
    """

    suite: str
    task: str
    key: str
    format: str
    group: str
    system: Mapping[str, Any]
    status: Status
    seed: int = 0
    as_format: str = ""
    in_train: bool | None = None
    numbers: str = "mean"
    reason: str = ""
    metrics: Mapping[str, Measure] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    tally: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def values(self) -> list[float]:
        """Return the numbers that this task gives to an average: each metric's, their mean, or the first."""
        each = [measure.value for measure in self.metrics.values()]
        if self.numbers == "each" or not each:
            return each
        return each[:1] if self.numbers == "first" else [sum(each) / len(each)]


def folder_name(system: str, as_format: str = "", seed: int = 0) -> str:
    """Return the folder of a system's results: its name made safe, with what differs from the plain run."""
    name = re.sub(r"[^A-Za-z0-9._=+-]+", "-", system).strip("-.") or "system"
    return seeded(name + (f"--as-{as_format}" if as_format else ""), seed)


def seeded(folder: str, seed: int) -> str:
    """Return the folder of another seed's run, by that of seed 0."""
    return folder + (f"--seed-{seed}" if seed else "")


def write(home: Path, result: TaskResult, evidence: Mapping[str, Evidence]) -> None:
    """Write a result and its items; the JSON comes last, so a result that can be read is whole."""
    (home / "items").mkdir(parents=True, exist_ok=True)
    for metric, items in evidence.items():
        evidences.write(items_path(home, result.task, metric), items)
    write_json(home / f"{result.task}.json", asdict(result))


def items_path(home: Path, task: str, metric: str) -> Path:
    """Return where the evidence of one metric lies."""
    return home / "items" / f"{task}--{metric}.npz"


def read(path: Path) -> TaskResult:
    """Read one result. Raises InputError where the file is no result."""
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is no result of `sciprism evaluate`: {error}") from None
    return from_row(row, path)


def from_row(row: dict[str, Any], path: Path) -> TaskResult:
    """Return a result from the values that a file holds. Raises InputError where they are no result."""
    try:
        metrics = {name: Measure(**measure) for name, measure in row["metrics"].items()}
        return TaskResult(**row | {"metrics": metrics})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path} is no result of `sciprism evaluate`: {error}") from None
