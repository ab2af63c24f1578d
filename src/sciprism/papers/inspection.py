"""Tell what a set of papers or labels holds before anything is made of it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sciprism.errors import InputError
from sciprism.papers.duplicates import DuplicateFinder, Duplicates
from sciprism.papers.languages import guess_language
from sciprism.papers.reading import FileReport, ReadReport
from sciprism.papers.records import Label, Paper

TOP_VENUES = 10
QUANTILES = {"least": 0.0, "10%": 0.1, "median": 0.5, "90%": 0.9, "99%": 0.99, "most": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What was counted among papers.

    missing: papers without a title, an abstract ... languages: a guess. words: quantiles of the length of
    title and abstract. seconds: what encoding takes at `papers_per_second`, which is the caller's word.
    """

    papers: int
    files: tuple[FileReport, ...]
    skipped: int
    ignored_files: int
    missing: dict[str, int]
    languages: dict[str, int]
    years: dict[int, int]
    venues: int
    top_venues: dict[str, int]
    words: dict[str, int]
    duplicates: Duplicates
    papers_per_second: float | None
    seconds: float | None

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values, the duplicates with their ids."""
        row = asdict(self)
        row["years"] = {str(year): count for year, count in self.years.items()}
        row["duplicates"] = {
            "surplus": self.duplicates.surplus,
            "reasons": self.duplicates.reasons(),
            "groups": [{"ids": group.ids, "reasons": group.reasons} for group in self.duplicates.groups],
        }
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelInspection:
    """What was counted among labels.

    unknown_broader: ids named as broader that no label has. repeated_ids, repeated_names: labels beyond the
    first with one id, or with one name whatever its case. words: quantiles of the length of the definitions.
    """

    labels: int
    files: tuple[FileReport, ...]
    skipped: int
    ignored_files: int
    missing: dict[str, int]
    synonyms: int
    unknown_broader: int
    repeated_ids: int
    repeated_names: int
    words: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return asdict(self)


def inspect(
    papers: Iterable[Paper],
    report: ReadReport,
    *,
    near: float | None = 0.8,
    papers_per_second: float | None = None,
) -> Inspection:
    """Count what papers hold and lack; they are read once and not kept.

    `report` is the one that `read_papers` fills. `near` is as in `find_duplicates`: about 0.8 kB a paper stay
    in memory with it, 0.25 kB without.
    """
    if papers_per_second is not None and not papers_per_second > 0:
        raise InputError(f"{papers_per_second} papers per second is no speed; give a number above 0")
    finder, tally = DuplicateFinder(near=near), _Tally()
    for paper in papers:
        finder.add(paper)
        tally.add(paper)
    count = len(tally.lengths)
    return Inspection(
        papers=count,
        files=tuple(report.files),
        skipped=report.skipped_count,
        ignored_files=report.ignored,
        missing=dict(tally.missing),
        languages=dict(tally.languages.most_common()),
        years=dict(sorted(tally.years.items())),
        venues=len(tally.venues),
        top_venues=dict(tally.venues.most_common(TOP_VENUES)),
        words=_quantiles(tally.lengths),
        duplicates=finder.find(),
        papers_per_second=papers_per_second,
        seconds=None if papers_per_second is None else count / papers_per_second,
    )


def inspect_labels(labels: Iterable[Label], report: ReadReport) -> LabelInspection:
    """Count what labels hold and lack."""
    missing = Counter(dict.fromkeys(("synonyms", "definition", "broader", "codes"), 0))
    ids, names = Counter[str](), Counter[str]()
    broader: set[str] = set()
    lengths = array("I")
    synonyms = 0
    for label in labels:
        ids[label.id] += 1
        names[label.name.casefold()] += 1
        synonyms += len(label.synonyms)
        broader.update(label.broader)
        missing.update(name for name in missing if not getattr(label, name))
        if label.definition:
            lengths.append(len(label.definition.split()))
    return LabelInspection(
        labels=ids.total(),
        files=tuple(report.files),
        skipped=report.skipped_count,
        ignored_files=report.ignored,
        missing=dict(missing),
        synonyms=synonyms,
        unknown_broader=len(broader - ids.keys()),
        repeated_ids=ids.total() - len(ids),
        repeated_names=names.total() - len(names),
        words=_quantiles(lengths),
    )


class _Tally:
    """What is counted of each paper as it passes."""

    def __init__(self) -> None:
        self.missing = Counter(dict.fromkeys(("title", "abstract", "authors", "venue", "year", "doi"), 0))
        self.languages: Counter[str] = Counter()
        self.years: Counter[int] = Counter()
        self.venues: Counter[str] = Counter()
        self.lengths = array("I")

    def add(self, paper: Paper) -> None:
        self.missing.update(name for name in self.missing if not _has(paper, name))
        text = f"{paper.title} {paper.abstract}"
        self.languages[guess_language(text)] += 1
        self.lengths.append(len(text.split()))
        if paper.year is not None:
            self.years[paper.year] += 1
        if paper.venue:
            self.venues[paper.venue] += 1


def _has(paper: Paper, name: str) -> bool:
    if name == "doi":
        return bool(paper.ids.get("doi"))
    return getattr(paper, name) not in ("", None, ())


def _quantiles(lengths: array[int]) -> dict[str, int]:
    if not lengths:
        return {}
    values = np.quantile(np.frombuffer(lengths, dtype=np.uint32), list(QUANTILES.values()))
    return {name: round(value) for name, value in zip(QUANTILES, values.tolist(), strict=True)}
