"""Count what a set of papers holds and lacks."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sciprism.papers.duplicates import DuplicateFinder, Duplicates, IdClash
from sciprism.papers.languages import ENGLISH_OR_UNCLEAR, guess_language
from sciprism.papers.read import FileReport, ReadReport
from sciprism.papers.records import Paper, Place
from sciprism.parallel import Progress, show_nothing

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
class PaperInspection:
    """Counts of papers: the files, what was skipped, papers without a title, an abstract ..., quantiles of words.

    groups: ids of each group of duplicates. clashes: ids of several papers. languages: guessed. other_languages: the
    first of the papers that are in another language than English.
    """

    papers: int
    files: tuple[FileReport, ...]
    skipped: int
    ignored_files: int
    missing: dict[str, int]
    words: dict[str, int]
    languages: dict[str, int]
    other_languages: tuple[OtherLanguage, ...]
    years: dict[int, int]
    venues: int
    top_venues: dict[str, int]
    duplicates: Duplicates
    groups: list[list[str]]
    clashes: list[IdClash]

    @property
    def not_english(self) -> int:
        """Count the papers in another language; a text of a few words in Latin script may be in any."""
        return sum(count for language, count in self.languages.items() if language not in ENGLISH_OR_UNCLEAR)

    def to_json(self) -> dict[str, Any]:
        """Return all counts as JSON values, the duplicates and the clashes with their ids."""
        found = self.duplicates
        row = asdict(replace(self, duplicates=None))  # type: ignore[arg-type]
        row["years"] = {str(year): count for year, count in self.years.items()}
        row["not_english"] = self.not_english
        row["other_languages"] = [paper._asdict() | {"place": str(paper.place or "")} for paper in self.other_languages]
        row["duplicates"] = found.count_all() | {"groups": row.pop("groups")}
        row["clashes"] = [
            {"id": clash.id, "papers": len(clash.positions), "places": clash.places} for clash in self.clashes
        ]
        return row


def inspect_papers(papers: Iterable[Paper], report: ReadReport, progress: Progress = show_nothing) -> PaperInspection:
    """Count what papers hold and lack; they are read once. report: of `read_papers`."""
    finder, others = DuplicateFinder(), list[OtherLanguage]()
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
    found = finder.find(progress=progress)
    values = map(float, np.quantile(lengths, list(QUANTILES.values()))) if lengths else ()
    return PaperInspection(
        papers=len(lengths),
        files=tuple(report.files),
        skipped=report.skipped_count,
        ignored_files=report.ignored,
        missing=dict(missing),
        words={name: round(value) for name, value in zip(QUANTILES, values, strict=False)},
        languages=dict(languages.most_common()),
        other_languages=tuple(others),
        years=dict(sorted(years.items())),
        venues=len(venues),
        top_venues=dict(venues.most_common(TOP_VENUES)),
        duplicates=found,
        groups=[[finder[position].id for position in group] for group in found.groups],
        clashes=finder.find_clashes(found.containers),
    )
