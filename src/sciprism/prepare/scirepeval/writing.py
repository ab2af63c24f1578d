"""Write training sources as files, with a record of retained and dropped examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import Part
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.prepare.open.builders import OpenPrepareContext
from sciprism.prepare.open.writing import describe_file
from sciprism.prepare.samplers.stratification import SEED
from sciprism.prepare.scirepeval.config import PARTS
from sciprism.prepare.scirepeval.source import SciRepEvalSource, SourceReport, count_lists
from sciprism.training.examples import Example, write_examples

MAX_EXAMPLES, MAX_DEV_EXAMPLES = 600_000, 40_000
"""Examples of a train and of a dev file, as published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    """Sizes of files, 0 for all; the seed of samples; the number of processes."""

    max_examples: int = MAX_EXAMPLES
    max_dev_examples: int = MAX_DEV_EXAMPLES
    seed: int = SEED
    workers: int = 1

    def __post_init__(self) -> None:
        if min(self.max_examples, self.max_dev_examples, self.seed) < 0 or self.workers < 1:
            raise InputError(
                f"max_examples {self.max_examples}, max_dev_examples {self.max_dev_examples}, "
                f"seed {self.seed}, workers {self.workers}: none may be negative, workers must be at least 1"
            )


@dataclass(slots=True)
class AnswerCounts:
    """Statistics of a file's answers: the number of each class, or the range and mean of the numbers."""

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
        """Return the counts of the classes, or minimum, mean and maximum of the numbers."""
        if self.bounds:
            low, high = self.bounds
            return {"numbers": {"min": low, "mean": self.total / self.examples, "max": high}}
        return {"classes": dict(sorted(self.classes.items()))} if self.classes else {}


@dataclass(frozen=True, slots=True)
class WrittenSource:
    """A source with the files and reports of its parts.

    files: of the parts with enough examples. limits: requested number of examples, 0 for all.
    """

    source: SciRepEvalSource
    limits: dict[Part, int] = field(default_factory=dict)
    files: dict[Part, Path] = field(default_factory=dict)
    reports: dict[Part, SourceReport] = field(default_factory=dict)
    answers: dict[Part, AnswerCounts] = field(default_factory=dict)

    def reasons(self) -> list[str]:
        """Return the three most frequent reasons for dropped train examples, with counts."""
        dropped = self.reports["train"].dropped if "train" in self.reports else DropReport()
        counts = Counter({reason: dropped.count(reason) for reason in dropped.ids})
        return [f"{reason} {count:,}" for reason, count in counts.most_common(3)]

    def find_shortage(self, part: Part) -> int:
        """Return the requested number of examples if there are fewer, else 0."""
        requested, limit = self.source.max_examples.get(part, 0), self.limits.get(part, 0)
        needed = count_lists(limit) if self.source.type == "ir" else limit
        return requested if requested and self.reports[part].records < needed else 0

    def to_json(self, folder: Path) -> dict[str, Any]:
        """Return everything as JSON values, paths relative to the folder."""
        return self.source.to_json() | {"parts": {part: self._part(part, folder) for part in self.reports}}

    def _part(self, part: Part, folder: Path) -> dict[str, Any]:
        report, answers, path = self.reports[part], self.answers[part], self.files.get(part)
        counts = report.to_json()
        if not report.queries:  # classes and numbers have no pairs
            counts = {"dropped": counts["dropped"]}
        limit = self.source.max_examples.get(part)
        return {
            **describe_file(path, folder),
            "examples": answers.examples,
            **({"requested": limit} if limit else {}),
            **answers.to_json(),
            **counts,
        }


@dataclass(frozen=True, slots=True)
class PreparedSources:
    """Written sources; skipped sources with the reason."""

    written: tuple[WrittenSource, ...]
    skipped: dict[str, str]


def write_sources(
    sources: Sequence[SciRepEvalSource],
    data_root: DataRoot,
    folder: Path,
    settings: SourceSettings,
    *,
    skipped: Mapping[str, str] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> PreparedSources:
    """Write `train/NAME.jsonl` and `dev/NAME.jsonl` of every source, and `sources.json`.

    skipped: sources that cannot be built, with the reason. facts: further keys of `sources.json`. Runs with
    the same settings write the same bytes. Raises InputError where no source can be written.
    """
    missing = dict(skipped or {})
    written = []
    for source in sources:
        found = _write_source(data_root, source, folder, settings)
        if "train" in found.files:
            written.append(found)
        else:
            missing[source.name] = "; ".join(["no example remains", *found.reasons()])
    for name in missing:
        for part in PARTS:
            _build_path(folder, name, part).unlink(missing_ok=True)  # of an earlier run
    if not written:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in missing.items())
        raise InputError(f"no training source can be built. {reasons}")
    record = {
        "version": version("sciprism"),
        "seed": settings.seed,
        "max_examples": {"train": settings.max_examples, "dev": settings.max_dev_examples},
        **(facts or {}),
        "sources": [each.to_json(folder) for each in written],
        "skipped": missing,
        "data": data_root.provenance(),
    }
    write_json(folder / "sources.json", record)
    return PreparedSources(tuple(written), missing)


def _write_source(
    data_root: DataRoot, source: SciRepEvalSource, folder: Path, settings: SourceSettings
) -> WrittenSource:
    done, context = WrittenSource(source), OpenPrepareContext(data_root, settings.seed, 0, settings.workers)
    sizes: dict[Part, tuple[int, int]] = {
        "train": (settings.max_examples, 1),
        "dev": (settings.max_dev_examples, source.min_dev_examples),
    }
    for part, (max_examples, min_examples) in sizes.items():
        path = _build_path(folder, source.name, part)
        report, answers = SourceReport(), AnswerCounts()
        if part not in source.parts:
            path.unlink(missing_ok=True)
            continue
        limits = (max_examples, source.max_examples.get(part, 0))
        limit = min(filter(None, limits), default=0)  # 0 is no limit
        found = source.builder.examples(replace(context, max_queries=limit), part, report)
        count = write_examples(answers.counted(found), path)
        done.limits[part], done.reports[part], done.answers[part] = limit, report, answers
        if count >= min_examples:
            done.files[part] = path
        else:
            path.unlink()
    return done


def _build_path(folder: Path, name: str, part: str) -> Path:
    return folder / part / f"{name}.jsonl"
