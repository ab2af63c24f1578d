"""Write training sources as files, with what was kept and dropped beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.sources import Part
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import sha256, write_json
from sciprism.prepare.open.making import Desk
from sciprism.prepare.samplers.strata import SEED
from sciprism.prepare.scirepeval.config import PARTS
from sciprism.prepare.scirepeval.source import Taken, TrainingSource, lists_for
from sciprism.training.examples import Example, write_examples

MOST, MOST_DEV = 600_000, 40_000
"""Examples of a train and of a dev file, as published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much is written, and what chance does. most, most_dev: examples of a file, 0 for all."""

    most: int = MOST
    most_dev: int = MOST_DEV
    seed: int = SEED
    workers: int = 1

    def __post_init__(self) -> None:
        if min(self.most, self.most_dev, self.seed) < 0 or self.workers < 1:
            raise InputError(
                f"most {self.most}, most of dev {self.most_dev}, seed {self.seed}, workers {self.workers}: "
                "none may be negative, workers at least 1"
            )


@dataclass(slots=True)
class Answers:
    """What the examples of a file have to be predicted: how many of each class, or how the numbers lie."""

    examples: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    total: float = 0.0
    bounds: tuple[float, float] | None = None

    def counted(self, examples: Iterable[Example]) -> Iterator[Example]:
        """Yield the examples and count them."""
        for example in examples:
            self.examples += 1
            for answer in example.answers:
                if isinstance(answer, str):
                    self.classes[answer] += 1
                else:
                    low, high = self.bounds or (answer, answer)
                    self.bounds = min(low, answer), max(high, answer)
                    self.total += answer
            yield example

    def to_json(self) -> dict[str, Any]:
        """Return the counts of the classes, or least, mean and greatest number."""
        if self.bounds:
            low, high = self.bounds
            return {"numbers": {"least": low, "mean": self.total / self.examples, "greatest": high}}
        return {"classes": dict(sorted(self.classes.items()))} if self.classes else {}


@dataclass(frozen=True, slots=True)
class Written:
    """A source and what was made of each part.

    files: of the parts that had enough examples. limits: how many were to be made, 0 for all.
    """

    source: TrainingSource
    limits: dict[Part, int] = field(default_factory=dict)
    files: dict[Part, Path] = field(default_factory=dict)
    reports: dict[Part, Taken] = field(default_factory=dict)
    answers: dict[Part, Answers] = field(default_factory=dict)

    def reasons(self) -> list[str]:
        """Return what most was dropped for in train, with counts."""
        dropped = self.reports["train"].dropped if "train" in self.reports else DropReport()
        counts = {reason: dropped.count(reason) for reason in dropped.ids}
        first = sorted(counts, key=lambda reason: -counts[reason])[:3]
        return [f"{reason} {counts[reason]:,}" for reason in first]

    def short(self, part: Part) -> int:
        """Return how many examples were asked for where there were fewer, and all were used; else 0."""
        asked, limit = self.source.most.get(part, 0), self.limits.get(part, 0)
        needed = lists_for(limit) if self.source.type == "ir" else limit
        return asked if asked and self.reports[part].records < needed else 0

    def to_json(self, folder: Path) -> dict[str, Any]:
        """Return everything as JSON values, paths below the folder."""
        return self.source.to_json() | {"parts": {part: self._part(part, folder) for part in self.reports}}

    def _part(self, part: Part, folder: Path) -> dict[str, Any]:
        report, answers, path = self.reports[part], self.answers[part], self.files.get(part)
        named = {"file": str(path.relative_to(folder)), "sha256": sha256(path)} if path else {"file": None}
        counts = report.to_json()
        if not report.queries:  # nothing is paired where classes or numbers are to be predicted
            counts = {"dropped": counts["dropped"]}
        asked = {"asked": self.source.most[part]} if self.source.most.get(part) else {}
        return {**named, "examples": answers.examples, **asked, **answers.to_json(), **counts}


@dataclass(frozen=True, slots=True)
class Prepared:
    """All sources that were written, and the reason for each that was not."""

    written: tuple[Written, ...]
    left_out: dict[str, str]


def write_sources(
    sources: Sequence[TrainingSource],
    home: DataRoot,
    folder: Path,
    settings: Settings,
    *,
    left_out: Mapping[str, str] | None = None,
    told: Mapping[str, Any] | None = None,
) -> Prepared:
    """Write `train/NAME.jsonl` and `dev/NAME.jsonl` of every source, and `sources.json`.

    left_out: sources that could not be tried, with the reason. told: more for `sources.json`. A later run
    with the same settings writes the same bytes. Raises InputError where no source could be written.
    """
    missing = dict(left_out or {})
    written = []
    for source in sources:
        found = _written(home, source, folder, settings)
        if "train" in found.files:
            written.append(found)
        else:
            missing[source.name] = "; ".join(["no example is left of it", *found.reasons()])
    for name in missing:
        for part in PARTS:
            _path(folder, name, part).unlink(missing_ok=True)  # of an earlier run
    if not written:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in missing.items())
        raise InputError(f"no training source could be made. {reasons}")
    prepared = Prepared(tuple(written), missing)
    facts = {
        "version": version("sciprism"),
        "seed": settings.seed,
        "most": {"train": settings.most, "dev": settings.most_dev},
        **(told or {}),
        "sources": [each.to_json(folder) for each in written],
        "left_out": missing,
        "data": home.provenance(),
    }
    write_json(folder / "sources.json", facts)
    return prepared


def _written(home: DataRoot, source: TrainingSource, folder: Path, settings: Settings) -> Written:
    done, desk = Written(source), Desk(home, settings.seed, 0, settings.workers)
    caps: dict[Part, tuple[int, int]] = {
        "train": (settings.most, 1),
        "dev": (settings.most_dev, source.least),
    }
    for part, (cap, least) in caps.items():
        path = _path(folder, source.name, part)
        report, answers = Taken(), Answers()
        if part not in source.parts:
            path.unlink(missing_ok=True)
            continue
        limit = _smaller(cap, source.most.get(part, 0))
        found = source.form.examples(replace(desk, most=limit), part, report)
        count = write_examples(answers.counted(found), path)
        done.limits[part], done.reports[part], done.answers[part] = limit, report, answers
        if count >= least:
            done.files[part] = path
        else:
            path.unlink()
    return done


def _smaller(one: int, other: int) -> int:
    """Return the smaller of two limits, of which 0 is none."""
    return min(filter(None, (one, other)), default=0)


def _path(folder: Path, name: str, part: str) -> Path:
    return folder / part / f"{name}.jsonl"
