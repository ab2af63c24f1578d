"""Results on disk: one JSON file per system and task, and the scores of the items behind every number.

RESULTS/<system>/<suite>/<task>.json           numbers, intervals, counts, provenance, and the items' checksum
RESULTS/<system>/<suite>/items/<task>.parquet  the scores of each query, paper, mention or text (`score_tables`)
RESULTS/<system>/<suite>/dropped/<task>.csv    of a custom task: all ids that its data dropped, with the reason

So an evaluation can be interrupted at any moment. `stored_results` reads these files, and the packed ones
that `sciprism results pack` writes.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from pathlib import Path
from typing import Any, Literal

from sciprism.checksums import read_sealed, write_sealed_json
from sciprism.drop_report import DropReport
from sciprism.errors import DamagedFileError, InputError
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.score_tables import ScoreKey, ScoreTable, write_score_table
from sciprism.evaluation.systems import resolve_distance
from sciprism.evaluation.task import Task
from sciprism.files import sha256, write_atomically

Status = Literal["done", "not served", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One metric's value with its 95% interval, in natural units; n: items behind it.

    The method of the interval is `provenance["intervals"]`.
    """

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """The numbers of one system at one task, or why there are none.

    key: hash of the task's declaration. numbers: what averages take (`Task.numbers`). format: of the task;
    encoded_format: whose vectors were used instead, "" for the task's. dropped: items that were not used.
    """

    suite: str
    task: str
    key: str
    format: str
    group: str
    system: Mapping[str, Any]
    status: Status
    seed: int = 0
    encoded_format: str = ""
    in_train: bool | None = None
    numbers: str = "mean"
    reason: str = ""
    metrics: Mapping[str, Measure] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    dropped: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def values(self) -> list[float]:
        """Return the numbers that this task gives to an average: each metric's, their mean, or the first."""
        values = [measure.value for measure in self.metrics.values()]
        if self.numbers == "each" or not values:
            return values
        return values[:1] if self.numbers == "first" else [sum(values) / len(values)]


def folder_name(system: str, encoded_format: str = "", seed: int = 0) -> str:
    """Return the folder name of a system's results: its name made safe, then the format and seed if given."""
    name = re.sub(r"[^A-Za-z0-9._=+-]+", "-", system).strip("-.") or "system"
    return seed_folder(name + (f"--as-{encoded_format}" if encoded_format else ""), seed)


def seed_folder(folder: str, seed: int) -> str:
    """Return the folder name of another seed's run, given that of seed 0."""
    return folder + (f"--seed-{seed}" if seed else "")


def write_result(folder: Path, result: TaskResult, item_scores: Mapping[str, ItemScores]) -> None:
    """Write a result and its items; the JSON comes last, so a result that can be read is whole."""
    path = item_scores_path(folder, result.task)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_score_table(path, ((ScoreKey(result.task, metric), items) for metric, items in item_scores.items()))
    write_sealed_json(folder / f"{result.task}.json", {**asdict(result), "scores": {"sha256": sha256(path)}})


def write_dropped(path: Path, dropped: DropReport) -> None:
    """Write the ids that were dropped from the data of a task as CSV, each with the reason."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [("reason", "id"), *((reason, name) for reason, names in dropped.ids.items() for name in names)]
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomically(path, lambda file: file.write(text.getvalue().encode()))


def item_scores_path(folder: Path, task: str) -> Path:
    """Return the path of the item scores of a task."""
    return folder / "items" / f"{task}.parquet"


def read_result(path: Path) -> TaskResult:
    """Read one result. Raises InputError where the file is no result, or damaged."""
    row = _read_row(path)
    row.pop("scores", None)
    return parse_result(row, path)


def read_item_scores(path: Path, metric: str) -> ItemScores | None:
    """Return the item scores behind a metric of the result at a path, None where they are missing. InputError."""
    row, table = _read_row(path), item_scores_path(path.parent, path.stem)
    if not table.exists():
        return None
    if sha256(table) != row.get("scores", {}).get("sha256"):
        raise DamagedFileError(f"{table} is not the file that {path.name} was written with; evaluate the task again")
    return ScoreTable(table).item_scores(ScoreKey(path.stem, metric))


def _read_row(path: Path) -> dict[str, Any]:
    content, _ = read_sealed(path, "restore it, or delete it and evaluate the task again")
    try:
        row: dict[str, Any] = json.loads(content)
        row.pop("checksum", None)
        return row
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path} is no result of `sciprism evaluate`: {error}") from None


def parse_result(row: dict[str, Any], path: Path) -> TaskResult:
    """Return a result from the values of a file. Raises InputError."""
    try:
        metrics = {name: Measure(**measure) for name, measure in row["metrics"].items()}
        return TaskResult(**row | {"metrics": metrics})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path} is no result of `sciprism evaluate`: {error}") from None


PACKAGES = ("sciprism", "torch", "numpy", "tokenizers", "scikit-learn", "scipy", "lightgbm", "bm25s")


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that scores depend on, of those installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def explain_other_scoring(result: TaskResult, task: Task, system: Mapping[str, Any] | None = None) -> str:
    """Return how a result of this task was scored otherwise than the task states, "" if it was not.

    Its key does not tell: a task may state distance and format where the paper does after results were made, and
    those of encoders that it does not concern still hold. system: its description now, by default the result's.
    """
    encoder_distance = str((system or result.system).get("distance", ""))
    stated = getattr(task.scored_protocol(), "distance", None)
    if encoder_distance and stated and "distance" in result.details:
        used = resolve_distance(result.details["distance"], str(result.system.get("distance", encoder_distance)))
        if used != (wanted := resolve_distance(stated, encoder_distance)):
            return f"compared by {used} distance; the task states {wanted}"
    used = result.details.get("format", task.format)
    if result.status == "done" and not result.encoded_format and used != (wanted := task.vector_format(result.system)):
        return f"scored with vectors of the format {used}; the task states {wanted}"
    return ""


def is_current(result: TaskResult, task: Task, data: Path | None, system: Mapping[str, Any]) -> bool:
    """Return whether a result still holds; a failed one does not.

    Its declaration, distance, format, library versions and data files must be those of now. system: its
    description now.
    """
    recorded = result.provenance
    if result.status == "failed" or result.key != task.key or recorded.get("versions") != library_versions():
        return False
    if explain_other_scoring(result, task, system):
        return False
    files = [((data or Path()) / name, digest) for name, digest in recorded.get("data", {}).items()]
    return all(not path.is_file() or _digest(path, path.stat().st_mtime_ns) == digest for path, digest in files)


@lru_cache(maxsize=256)
def _digest(path: Path, changed: int) -> str:  # noqa: ARG001 (a file that changed is another)
    return sha256(path)
