"""Write the training sets as files, with a record of retained and dropped examples."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import Part
from sciprism.datasets.split import SplitTable
from sciprism.errors import InputError
from sciprism.files import sha256, write_json
from sciprism.prepare.open.builders import OpenPrepareContext
from sciprism.prepare.open.training_sets import TRAINING_SETS, UNAVAILABLE_SETS, TrainingSet
from sciprism.prepare.samplers.sampling import SampleReport
from sciprism.training.examples import write_examples

MAX_QUERIES = 20_000
"""Queries of a train file, so that no source dominates and a laptop can train on them."""
MAX_DEV_QUERIES = 1_000
MIN_DEV_QUERIES = 20
"""Queries of a dev file; fewer are too few to select a checkpoint."""


@dataclass(frozen=True, slots=True)
class WrittenTrainingSet:
    """A training set with the files and reports of its parts. files: of the parts with enough queries."""

    set: TrainingSet
    files: dict[Part, Path] = field(default_factory=dict)
    reports: dict[Part, SampleReport] = field(default_factory=dict)

    def to_json(self, folder: Path) -> dict[str, Any]:
        """Return everything as JSON values, paths relative to the folder."""
        parts = {
            part: describe_file(self.files.get(part), folder) | report.to_json()
            for part, report in self.reports.items()
        }
        roles = {"format": self.set.format, "query": self.set.query, "candidate": self.set.candidate}
        return {"name": self.set.name, **roles, "data": self.set.builder.data, "parts": parts}


@dataclass(frozen=True, slots=True)
class PreparedTrainingSets:
    """Written sets; skipped sets with the reason; open data sets that are missing from the split."""

    written: tuple[WrittenTrainingSet, ...]
    skipped: dict[str, str]
    missing: tuple[str, ...]


def describe_file(path: Path | None, folder: Path) -> dict[str, Any]:
    """Return a file's path, relative to the folder, and SHA-256 as JSON values; None for no file."""
    return {"file": str(path.relative_to(folder)), "sha256": sha256(path)} if path else {"file": None}


def write_sets(
    data_root: DataRoot, folder: Path, *, seed: int = 0, max_queries: int = MAX_QUERIES, workers: int = 1
) -> PreparedTrainingSets:
    """Write `train/NAME.jsonl` and `dev/NAME.jsonl` of every set whose data exist, and `sources.json`.

    max_queries: of a train file, 0 for all. Runs with the same settings write the same bytes. Raises
    InputError where no set can be written.
    """
    if seed < 0 or max_queries < 0 or workers < 1:
        raise InputError(
            f"seed {seed}, max_queries {max_queries}, workers {workers}: "
            "none may be negative, workers must be at least 1"
        )
    context, skipped = OpenPrepareContext(data_root, seed, max_queries, workers), dict(UNAVAILABLE_SETS)
    written = []
    for each in TRAINING_SETS:
        reason = _find_obstacle(data_root, each)
        found = WrittenTrainingSet(each) if reason else _write_set(context, each, folder)
        for part in ("train", "dev"):
            if part not in found.files:
                _build_path(folder, each, part).unlink(missing_ok=True)  # of an earlier run
        if "train" in found.files:
            written.append(found)
        else:
            skipped[each.name] = reason or "no example remains"
    if not written:
        where = f"in {data_root.folder}" if data_root.folder else "here"
        wanted = ", ".join(dict.fromkeys(each.builder.data for each in TRAINING_SETS))
        raise InputError(
            f"no training set can be built: none of the data sets {wanted} is {where} "
            "with a train paper; set their folder with --data or SCIPRISM_DATA"
        )
    prepared = PreparedTrainingSets(tuple(written), skipped, SplitTable.load(data_root).missing)
    _write_record(data_root, folder, prepared, {"seed": seed, "max_queries": max_queries})
    return prepared


def _find_obstacle(data_root: DataRoot, each: TrainingSet) -> str:
    if task := each.out_of_train():
        return f"the open suite keeps {task} out of train"
    data = each.builder.data
    return "" if ((data_root.folder or Path()) / data).is_dir() else f"the data set {data} does not exist"


def _write_set(context: OpenPrepareContext, each: TrainingSet, folder: Path) -> WrittenTrainingSet:
    done = WrittenTrainingSet(each)
    sizes: tuple[tuple[Part, int, int], ...] = (
        ("train", context.max_queries, 1),
        ("dev", MAX_DEV_QUERIES, MIN_DEV_QUERIES),
    )
    for part, max_queries, min_queries in sizes:
        report, path = SampleReport(), _build_path(folder, each, part)
        count = write_examples(each.builder.examples(replace(context, max_queries=max_queries), part, report), path)
        done.reports[part] = report
        if count >= min_queries:
            done.files[part] = path
    return done


def _build_path(folder: Path, each: TrainingSet, part: str) -> Path:
    return folder / part / f"{each.name}.jsonl"


def _write_record(data_root: DataRoot, folder: Path, prepared: PreparedTrainingSets, settings: dict[str, int]) -> None:
    record = {
        "version": version("sciprism"),
        **settings,
        "sources": [each.to_json(folder) for each in prepared.written],
        "skipped": prepared.skipped,
        "not_in_split": prepared.missing,
        "data": data_root.provenance(),
    }
    write_json(folder / "sources.json", record)
