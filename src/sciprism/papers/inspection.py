"""Count what a set of papers or labels holds and lacks."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from sciprism.papers.duplicates import DuplicateFinder, Duplicates
from sciprism.papers.languages import ENGLISH_OR_UNCLEAR, guess_language
from sciprism.papers.read import FileReport, ReadReport
from sciprism.papers.records import Label, Paper, Place

TOP_VENUES = 10
MAX_NAMED = 1000  # papers in other languages that are named; all are counted
QUANTILES = {"min": 0.0, "10%": 0.1, "median": 0.5, "90%": 0.9, "99%": 0.99, "max": 1.0}


class OtherLanguage(NamedTuple):
    """A paper that is not in English, and its language as guessed."""

    id: str
    language: str
    title: str
    place: Place | None


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """Counts of records: the files, what was skipped, records without a title, an abstract ..., and quantiles of words.

    words: of title and abstract, or of a definition.
    """

    files: tuple[FileReport, ...]
    skipped: int
    ignored_files: int
    missing: dict[str, int]
    words: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return all counts as JSON values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class PaperInspection(Inspection):
    """Counts of papers.

    languages: guessed. other_languages: the first of the papers that are in another language than English.
    """

    papers: int
    languages: dict[str, int]
    other_languages: tuple[OtherLanguage, ...]
    years: dict[int, int]
    venues: int
    top_venues: dict[str, int]
    duplicates: Duplicates

    @property
    def not_english(self) -> int:
        """Count the papers in another language; a text of a few words in Latin script may be in any."""
        return sum(count for language, count in self.languages.items() if language not in ENGLISH_OR_UNCLEAR)

    def to_json(self) -> dict[str, Any]:
        """Return all counts as JSON values, the duplicates and the clashes with their ids."""
        found, row = self.duplicates, asdict(self)
        row["years"] = {str(year): count for year, count in self.years.items()}
        row["not_english"] = self.not_english
        row["other_languages"] = [paper._asdict() | {"place": str(paper.place or "")} for paper in self.other_languages]
        groups = [{"ids": group.ids, "reasons": group.reasons} for group in found.groups]
        row["duplicates"] = {"surplus": found.surplus, "reasons": found.reasons(), "groups": groups}
        row["containers"] = found.containers
        row["clashes"] = [
            {"id": clash.id, "papers": len(clash.positions), "places": [str(place or "") for place in clash.places]}
            for clash in found.clashes
        ]
        return row


@dataclass(frozen=True, kw_only=True)
class LabelInspection(Inspection):
    """Counts of labels.

    unknown_broader: broader ids that no label has. repeated_ids, repeated_names: labels beyond the first of
    an id, or of a name (ignoring case).
    """

    labels: int
    synonyms: int
    unknown_broader: int
    repeated_ids: int
    repeated_names: int


def inspect_papers(
    papers: Iterable[Paper],
    report: ReadReport,
    *,
    near_duplicates: float | None = 0.8,
) -> PaperInspection:
    """Count what papers hold and lack; they are read once.

    report: of `read_papers`. near_duplicates: as in `find_duplicates`. Memory: 0.9 kB a paper (None: 0.3).
    """
    finder, others = DuplicateFinder(near_duplicates=near_duplicates), list[OtherLanguage]()
    missing = Counter(dict.fromkeys(("title", "abstract", "authors", "venue", "year", "doi"), 0))
    languages, years, venues, lengths = Counter[str](), Counter[int](), Counter[str](), array("I")
    for paper in papers:
        finder.add(paper)
        missing.update(
            name
            for name in missing
            if (paper.ids.get("doi") if name == "doi" else getattr(paper, name)) in ("", None, ())
        )
        text = f"{paper.title} {paper.abstract}"
        languages[language := guess_language(text)] += 1
        if language not in ENGLISH_OR_UNCLEAR and len(others) < MAX_NAMED:
            others.append(OtherLanguage(paper.id, language, paper.title, paper.place))
        lengths.append(len(text.split()))
        years.update([] if paper.year is None else [paper.year])
        venues.update(filter(None, [paper.venue]))
    return PaperInspection(
        papers=len(lengths),
        **_count_common(report, missing, lengths),
        languages=dict(languages.most_common()),
        other_languages=tuple(others),
        years=dict(sorted(years.items())),
        venues=len(venues),
        top_venues=dict(venues.most_common(TOP_VENUES)),
        duplicates=finder.find(),
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
        **_count_common(report, missing, lengths),
        synonyms=synonyms,
        unknown_broader=len(broader - ids.keys()),
        repeated_ids=ids.total() - len(ids),
        repeated_names=names.total() - len(names),
    )


def _count_common(report: ReadReport, missing: Counter[str], lengths: array[int]) -> dict[str, Any]:
    values = np.quantile(lengths, list(QUANTILES.values())) if lengths else ()
    words = {name: round(value) for name, value in zip(QUANTILES, map(float, values), strict=False)}
    files = {"files": tuple(report.files), "skipped": report.skipped_count, "ignored_files": report.ignored}
    return files | {"missing": dict(missing), "words": words}
