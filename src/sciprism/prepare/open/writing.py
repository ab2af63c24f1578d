"""Write the training sets as files, with what was kept and dropped beside them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.sources import Part
from sciprism.datasets.split import SplitTable
from sciprism.errors import InputError
from sciprism.files import sha256, write_json
from sciprism.prepare.open.declared import LEFT_OUT, SETS, TrainingSet
from sciprism.prepare.open.making import Desk
from sciprism.prepare.samplers.drawing import Sampled
from sciprism.training.examples import write_examples

MOST = 20_000
"""Queries of a train file, so that no source drowns the others and a laptop gets through."""
MOST_DEV = 1_000
LEAST_DEV = 20
"""Queries of a dev file: fewer choose no checkpoint."""


@dataclass(frozen=True, slots=True)
class Written:
    """A set and what was made of each part. files: of the parts that had enough queries."""

    set: TrainingSet
    files: dict[Part, Path] = field(default_factory=dict)
    reports: dict[Part, Sampled] = field(default_factory=dict)

    def to_json(self, folder: Path) -> dict[str, Any]:
        """Return everything as JSON values, paths below the folder."""
        parts = {}
        for part, report in self.reports.items():
            path = self.files.get(part)
            named = (
                {"file": str(path.relative_to(folder)), "sha256": sha256(path)} if path else {"file": None}
            )
            parts[part] = named | report.to_json()
        roles = {"format": self.set.format, "query": self.set.query, "candidate": self.set.candidate}
        return {"name": self.set.name, **roles, "data": self.set.form.data, "parts": parts}


@dataclass(frozen=True, slots=True)
class Prepared:
    """All sets that were written, the reason for each that was not, and data sets the split did not know."""

    written: tuple[Written, ...]
    left_out: dict[str, str]
    missing: tuple[str, ...]


def write_sets(
    home: DataRoot, folder: Path, *, seed: int = 0, most: int = MOST, workers: int = 1
) -> Prepared:
    """Write `train/NAME.jsonl` and `dev/NAME.jsonl` of every set whose data are there, and `sources.json`.

    most: queries of a train file, 0 for all. A later run with the same settings writes the same bytes. Raises
    InputError where no set could be written.
    """
    if seed < 0 or most < 0 or workers < 1:
        raise InputError(
            f"seed {seed}, most {most}, workers {workers}: none may be negative, workers at least 1"
        )
    desk, left_out = Desk(home, seed, most, workers), dict(LEFT_OUT)
    written = []
    for each in SETS:
        reason = _obstacle(home, each)
        found = None if reason else _written(desk, each, folder)
        for part in ("train", "dev"):
            if found is None or part not in found.files:
                _path(folder, each, part).unlink(missing_ok=True)  # of an earlier run
        if found and "train" in found.files:
            written.append(found)
        else:
            left_out[each.name] = reason or "no example is left of it"
    if not written:
        where = f"in {home.folder}" if home.folder else "here"
        wanted = ", ".join(dict.fromkeys(each.form.data for each in SETS))
        raise InputError(
            f"no training set could be made: none of the data sets {wanted} is {where} "
            "with a train paper; say where they are with --data or SCIPRISM_DATA"
        )
    prepared = Prepared(tuple(written), left_out, SplitTable.of(home).missing)
    _write_facts(home, folder, prepared, {"seed": seed, "most": most})
    return prepared


def _obstacle(home: DataRoot, each: TrainingSet) -> str:
    if task := each.out_of_train():
        return f"the open suite keeps {task} out of train"
    data = each.form.data
    return "" if ((home.folder or Path()) / data).is_dir() else f"the data set {data} is not there"


def _written(desk: Desk, each: TrainingSet, folder: Path) -> Written:
    done = Written(each)
    sizes: tuple[tuple[Part, int, int], ...] = (("train", desk.most, 1), ("dev", MOST_DEV, LEAST_DEV))
    for part, most, least in sizes:
        report, path = Sampled(), _path(folder, each, part)
        count = write_examples(each.form.examples(replace(desk, most=most), part, report), path)
        done.reports[part] = report
        if count >= least:
            done.files[part] = path
    return done


def _path(folder: Path, each: TrainingSet, part: str) -> Path:
    return folder / part / f"{each.name}.jsonl"


def _write_facts(home: DataRoot, folder: Path, prepared: Prepared, settings: dict[str, int]) -> None:
    facts = {
        "version": version("sciprism"),
        **settings,
        "sources": [each.to_json(folder) for each in prepared.written],
        "left_out": prepared.left_out,
        "not_in_split": prepared.missing,
        "data": home.provenance(),
    }
    write_json(folder / "sources.json", facts)
