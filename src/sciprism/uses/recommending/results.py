"""Recommended papers with reasons, interests and counts, and as files: CSV, JSON Lines, BibTeX and RIS."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.files import check_companion, join_cells, write_lines
from sciprism.papers.bibliography_entries import format_bibtex, format_ris
from sciprism.papers.read import read_papers
from sciprism.papers.records import Paper
from sciprism.uses.recommending.interests import Interest
from sciprism.uses.search import Hit

COLUMNS = ("rank", "score", "id", "doi", "url", "title", "authors", "year", "venue", "interest", "because")
ALL = (".csv", ".jsonl", ".bib")  # files that are written for a name without a suffix
SEEN_COLUMNS = ("shown", "id", "doi", "title", "authors", "year", "venue")
"""Of the file of papers that were shown; `shown` is the day."""
SUFFIXES = (*ALL, ".ris")
BEGINNINGS = {".csv": ",".join(COLUMNS), ".jsonl": '{"rank": ', ".bib": "% papers recommended by sciprism"}
"""How files of recommendations begin."""
NEAR_COPY, UNWANTED, SEEN, REPEATED = "near-duplicate", "unwanted", "seen", "repeated"
"""Reasons for leaving a paper out, besides an id that the library has."""


@dataclass(frozen=True, slots=True)
class NearPaper:
    """An own paper that is near to a recommended one, and the cosine of the two."""

    id: str
    title: str
    similarity: float


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A new paper that is not recommended, why, and the paper that it is a copy of.

    reason: by what the library has it, `doi`, `id`, `title`, `near-duplicate` ...; `unwanted`; `seen`; or `repeated`.
    """

    id: str
    title: str
    year: int | None
    doi: str
    reason: str
    copy_of: str
    copy_title: str


LEFT_OUT_COLUMNS = tuple(item.name for item in fields(LeftOut))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(Hit):
    """A recommended paper. interest: the nearest one's name. because: the nearest own papers, nearest first.

    score: its relevance, before diversity and the interests' shares decide on the order. unwanted: similarity to the
    nearest unwanted paper, None where none was given.
    """

    interest: str = ""
    because: tuple[NearPaper, ...] = ()
    unwanted: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the recommendation as JSON values: the fields of a hit, the interest, and the papers it is near to."""
        row = Hit.to_json(self)
        del row["why"]
        return row | {"because": [asdict(near) for near in self.because]}


@dataclass(slots=True, kw_only=True)
class RecommendCounts:
    """How many papers there were. owned: new papers that the library has, by what shows it (`doi`, `title` ...).

    Near-duplicates and repeated papers, which are copies of a new one, are counted among the best new papers alone.
    containers: ids of the library that are of no paper (`find_containers`). skipped: records that could not be used, of
    all inputs. encoded: papers without a stored vector. library_versions:
    further records of papers of the library, which count once.
    """

    library: int = 0
    library_versions: int = 0
    library_without_abstract: int = 0
    unwanted_given: int = 0
    new: int = 0
    new_without_abstract: int = 0
    owned: dict[str, int] = field(default_factory=dict)
    unwanted: int = 0
    seen: int = 0
    repeated: int = 0
    containers: int = 0
    skipped: int = 0
    encoded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendations:
    """Recommended papers, best first; the interests of the library, the largest first; counts; the model's name.

    skipped: why the first records that could not be used were skipped. left_out: all new papers that are copies.
    """

    hits: tuple[Recommendation, ...]
    interests: tuple[Interest, ...]
    counts: RecommendCounts
    model: str
    skipped: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def papers(self) -> list[Paper]:
        """Return the recommended papers."""
        return [hit.paper for hit in self.hits]

    def to_json(self) -> dict[str, Any]:
        """Return interests, counts and papers as JSON values."""
        counts = Counter(hit.interest for hit in self.hits)
        interests = [
            {"name": interest.name, "papers": interest.papers, "central": interest.central}
            | {"recommended": counts[interest.name]}
            for interest in self.interests
        ]
        return {
            "model": self.model,
            "counts": asdict(self.counts),
            "interests": interests,
            "hits": [hit.to_json() for hit in self.hits],
            "skipped": list(self.skipped),
            "left_out": [asdict(paper) for paper in self.left_out],
        }


def list_outputs(path: Path) -> list[Path]:
    """Return the files to write for a name: itself, or one of each kind for a name without a suffix.

    Raises InputError for an unknown suffix, or a folder in the place of a file.
    """
    if path.suffix and path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: its name must end with {', '.join(SUFFIXES)}, or have no suffix, which writes three")
    files = [path] if path.suffix else [path.with_name(path.name + suffix) for suffix in ALL]
    for file in files:
        if file.is_dir():
            raise InputError(f"{file} is a folder; name a file")
    return files


def check_companions(path: Path) -> None:
    """Raise InputError where a file would be replaced that was not named, and that no earlier run wrote."""
    for file in set(list_outputs(path)) - {path}:
        check_companion(file, path, BEGINNINGS[file.suffix])
    check_companion(name_left_out(path), path, join_cells(LEFT_OUT_COLUMNS))


def name_left_out(path: Path) -> Path:
    """Return the file that lists what is left out, next to an output."""
    return path.with_name(f"{path.stem if path.suffix else path.name}-left-out.csv")


def write_recommendations(recommended: Recommendations, path: Path) -> list[Path]:
    """Write the list to a file by its suffix, or to three for a name without one; return the files.

    .csv: the columns of `COLUMNS`. .jsonl: an object per paper, with its abstract. .bib, .ris: with the reason as a
    note. What is left out is listed in a file of `name_left_out`. Each file is written as a whole, or not at all.
    """
    files = list_outputs(path)
    check_companions(path)
    for file in files:
        write_lines(file, _list_lines(recommended, file.suffix.lower()), errors="replace")
    left_out = name_left_out(path)
    if recommended.left_out or left_out.exists():  # that of an earlier run would mislead
        rows = [LEFT_OUT_COLUMNS, *map(astuple, recommended.left_out)]
        write_lines(left_out, map(join_cells, rows), errors="replace")
    return files


def read_seen(path: Path) -> list[Paper]:
    """Return the papers of a file that `add_seen` wrote, none where there is no file. Raises InputError for another."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        if file.readline().rstrip() != join_cells(SEEN_COLUMNS):
            raise InputError(f"{path} does not begin as a file that --seen wrote; name one, or a new file")
        has_rows = bool(file.read(1))
    return list(read_papers(path)) if has_rows else []


def add_seen(recommended: Recommendations, path: Path) -> None:
    """Add the recommended papers to the file of papers that were shown, written as a whole or not at all."""
    before = [path.read_text(encoding="utf-8").rstrip("\n")] if path.exists() else [join_cells(SEEN_COLUMNS)]
    rows = [
        hit.to_json()
        | {"shown": date.today(), "title": hit.title or hit.paper.abstract, "authors": "; ".join(hit.authors)}
        for hit in recommended.hits
    ]
    write_lines(path, [*before, *(join_cells(row[name] for name in SEEN_COLUMNS) for row in rows)], errors="replace")


def describe_reason(hit: Recommendation) -> str:
    """Return the nearest own papers of a recommendation as a line, "Title (id, 0.81); ..."."""
    return "; ".join(f"{near.title or '(no title)'} ({near.id}, {near.similarity:.2f})" for near in hit.because)


def _list_lines(recommended: Recommendations, suffix: str) -> Iterator[str]:
    if suffix == ".csv":
        yield join_cells(COLUMNS)
        for hit in recommended.hits:
            texts = {"score": f"{hit.score:.4f}", "authors": "; ".join(hit.authors), "because": describe_reason(hit)}
            row = hit.to_json() | texts
            yield join_cells(row[name] for name in COLUMNS)
    elif suffix == ".jsonl":
        for hit in recommended.hits:
            yield json.dumps(hit.to_json() | {"abstract": hit.paper.abstract}, ensure_ascii=False)
    else:
        entries = [
            (hit.paper, f"rank {hit.rank}, {hit.interest}; near {describe_reason(hit)}") for hit in recommended.hits
        ]
        if suffix == ".bib":
            yield BEGINNINGS[".bib"]
        yield from (format_bibtex if suffix == ".bib" else format_ris)(entries)
