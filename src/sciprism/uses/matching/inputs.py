"""Read all that an assignment needs: submissions, reviewers, stated pairs, vectors; and check that it fits together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.read import ReadReport
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection
from sciprism.store.manifest import is_collection
from sciprism.store.paper_lookup import iterate_papers, iterate_vectors
from sciprism.uses.collection import load_encoder
from sciprism.uses.matching.conflicts import Conflict, ConflictInput, find_conflicts, list_unchecked
from sciprism.uses.matching.pair_files import (
    ForbiddenReport,
    PairReader,
    StatedPairs,
    drop_allowed,
    join_forbidden,
    read_stated_pairs,
)
from sciprism.uses.matching.persons import IdIndex, normalize_id
from sciprism.uses.matching.program import GroupMinimum, Requirements
from sciprism.uses.matching.reviewers import (
    NO_AUTHORSHIP,
    Authorship,
    Reviewer,
    ReviewerIndex,
    list_papers,
    read_authorships,
    read_reviewers,
)
from sciprism.uses.matching.settings import MatchFiles, MatchSettings, parse_requirement
from sciprism.uses.search import choose_paper_space

if TYPE_CHECKING:
    from sciprism.encoders.protocols import EncoderProtocol

MAX_LISTED = 50  # submissions, reviewers or records of one kind that an audit lists; all are counted


class MatchProgress(Protocol):
    """Shows which piece of work has begun, and how much of it is done."""

    def begin(self, work: str, unit: str = "", total: int | None = None) -> None:
        """Begin a piece of work of `total` units."""

    def update(self, done: int) -> None:
        """Show how many units are done."""


class NoProgress:
    """Shows nothing."""

    def begin(self, *_: Any, **__: Any) -> None:
        """Show nothing."""

    update = begin


@dataclass(frozen=True, slots=True, eq=False)
class MatchInputs:
    """All inputs, read and checked. report: records that were skipped; dropped: pairs of unknown ids."""

    submissions: list[Paper]
    reviewers: list[Reviewer]
    stated: StatedPairs
    forbidden: ForbiddenReport
    conflicts: list[Conflict]
    unchecked: dict[str, str]
    report: ReadReport
    dropped: DropReport
    year: int

    @property
    def ids(self) -> tuple[list[str], list[str]]:
        """Return the ids of submissions and reviewers."""
        return [paper.id for paper in self.submissions], [reviewer.id for reviewer in self.reviewers]

    def require(self, settings: MatchSettings) -> Requirements:
        """Return the requirements of the assignment; reviews of earlier rounds count."""
        papers, reviewers = self.ids
        most = np.array([settings.max_papers if r.most is None else r.most for r in self.reviewers], np.int64)
        least = np.array([settings.min_papers if r.least is None else r.least for r in self.reviewers], np.int64)
        least = np.minimum(least, np.where([r.least is None for r in self.reviewers], most, least))
        earlier = self.stated.earlier_loads
        locked = self.stated.locked
        return Requirements(
            paper_ids=papers,
            reviewer_ids=reviewers,
            needs=np.full(len(papers), settings.per_paper, np.int64),
            least=np.maximum(least - earlier, 0),
            most=np.maximum(most - earlier, 0),
            forbidden=self.forbidden.pairs,
            locked=(locked.papers, locked.reviewers),
            groups=tuple(_find_group(self.reviewers, text) for text in settings.require),
        )

    def to_json(self) -> dict[str, Any]:
        """Return counts of what was read, forbidden, dropped and not checked."""
        without_abstract = [paper.id for paper in self.submissions if not paper.abstract]
        without_papers = [reviewer.id for reviewer in self.reviewers if not reviewer.papers]
        return {
            "counts": {
                "submissions": len(self.submissions),
                "submissions without abstract": len(without_abstract),
                "submissions without authors": sum(not paper.authors for paper in self.submissions),
                "reviewers": len(self.reviewers),
                "reviewers without papers": len(without_papers),
                "papers of reviewers": sum(len(reviewer.papers) for reviewer in self.reviewers),
                "records skipped": self.report.skipped_count,
                "forbidden pairs": len(self.forbidden.pairs),
                "locked pairs": len(self.stated.locked),
                "bids above 0 on forbidden pairs": len(self.forbidden.contradicted),
            },
            "conflicts": self.forbidden.counts,
            "conflicts not checked": self.unchecked,
            "contradicting bids": self.forbidden.contradicted[:MAX_LISTED],
            "reviewers without papers": without_papers[:MAX_LISTED],
            "submissions without abstract": without_abstract[:MAX_LISTED],
            "dropped": self.dropped.to_json(),
            "skipped": [str(record) for record in self.report.skipped[:MAX_LISTED]],
        }


def read_inputs(
    submissions: Sequence[Path | Paper],
    reviewers: Path | str | Sequence[Reviewer],
    files: MatchFiles,
    settings: MatchSettings,
    skip_bad: bool,
) -> MatchInputs:
    """Read submissions, reviewers and what the files state of pairs, and find the conflicts."""
    report, dropped = ReadReport(), DropReport()
    papers, authorships = _read_submissions(submissions, files.authors, skip_bad, report)
    if isinstance(reviewers, str | Path):
        papers_of = files.reviewer_papers
        people = read_reviewers(Path(reviewers), papers_of, skip_bad=skip_bad, report=report, dropped=dropped)
    else:
        people = _check_reviewers(reviewers)
    ids = [paper.id for paper in papers], [reviewer.id for reviewer in people]
    reader = PairReader(IdIndex(ids[0]), ReviewerIndex(people), skip_bad, dropped)
    stated = read_stated_pairs(files, reader, len(people))
    years = [p.year for p in (*papers, *(p for reviewer in people for p in reviewer.papers)) if p.year is not None]
    year = settings.year or max(years, default=0)
    conflict_input = ConflictInput(papers, authorships, people, year - settings.coauthor_years + 1)
    conflicts = drop_allowed(stated, find_conflicts(conflict_input, settings.conflicts))
    return MatchInputs(
        submissions=papers,
        reviewers=people,
        stated=stated,
        forbidden=join_forbidden(stated, conflicts, ids),
        conflicts=conflicts,
        unchecked=list_unchecked(conflict_input, settings.conflicts),
        report=report,
        dropped=dropped,
        year=year,
    )


def _read_submissions(
    given: Sequence[Path | Paper], authors: Path | None, skip_bad: bool, report: ReadReport
) -> tuple[list[Paper], list[Authorship]]:
    """Return submissions of files or in memory, and what files say of their authors."""
    paths = [item for item in given if isinstance(item, Path)]
    papers = [item for item in given if isinstance(item, Paper)]
    for path in paths:
        papers += list_papers(path, skip_bad, report)
    if not papers:
        raise InputError("no submission to assign; name a file that holds papers")
    papers = [replace(paper, id=normalize_id(paper.id)) for paper in papers]
    first: dict[str, Paper] = {}
    for paper in papers:
        if (other := first.setdefault(paper.id, paper)) is not paper:
            places = f" ({other.place} and {paper.place})" if paper.place else ""
            raise InputError(f"two submissions have the id {paper.id!r}{places}; ids must be distinct")
    index, of_paper = IdIndex(first), [NO_AUTHORSHIP] * len(papers)
    for path in (*paths, *([authors] if authors else [])):
        found = [
            (row, details) for id, details in read_authorships([path]).items() if (row := index.find(id)) is not None
        ]
        for row, details in found:
            of_paper[row] = of_paper[row].join(details)
        if path == authors and not found:
            raise InputError(f"{authors} names authors of none of the submissions; its column paper holds their ids")
    return papers, of_paper


def _check_reviewers(reviewers: Sequence[Reviewer]) -> list[Reviewer]:
    """Return reviewers in memory; InputError for none, or an id of two reviewers."""
    if not reviewers:
        raise InputError("no reviewer")
    ids = [normalize_id(reviewer.id) for reviewer in reviewers]
    if len(set(ids)) < len(ids):
        raise InputError(f"two reviewers have the id {next(id for id in ids if ids.count(id) > 1)!r}")
    return [replace(reviewer, id=id) for reviewer, id in zip(reviewers, ids, strict=True)]


def _find_group(reviewers: Sequence[Reviewer], text: str) -> GroupMinimum:
    column, value, minimum = parse_requirement(text)
    key = "".join(filter(str.isalnum, column.casefold()))
    members = np.array([r.groups.get(key, r.groups.get(column, "")).casefold() == value.casefold() for r in reviewers])
    if not members.any():
        columns = sorted({name for reviewer in reviewers for name in reviewer.groups})
        values = sorted({reviewer.groups[key] for reviewer in reviewers if key in reviewer.groups})
        choices = f"its values: {', '.join(values[:10])}" if values else f"columns: {', '.join(columns) or 'none'}"
        raise InputError(f"no reviewer has {column}={value}; {choices}")
    return GroupMinimum(f"{column}={value}", members, minimum)


@dataclass(frozen=True, slots=True, eq=False)
class StoredVectors:
    """Vectors of collections of one encoder. first: shows which; rows: (title, abstract) -> row of vectors."""

    first: StoredCollection
    rows: dict[tuple[str, str], int]
    vectors: Floats

    def find(self, papers: Sequence[Paper]) -> Rows:
        """Return the row of each paper's vector, -1 for a text that is not there."""
        return np.array([self.rows.get((paper.title, paper.abstract), -1) for paper in papers], np.int64)


def open_vectors(paths: Iterable[Path]) -> StoredVectors | None:
    """Return the vectors of those paths that are collections, None of none.

    Raises InputError where two collections were made by different encoders: their vectors do not compare.
    """
    opened = [StoredCollection.open(path) for path in paths if is_collection(path)]
    if not opened:
        return None
    first = opened[0]
    for other in opened[1:]:
        if other.manifest.encoder.fingerprint != first.manifest.encoder.fingerprint:
            raise InputError(
                f"{first.folder} was made by {first.manifest.encoder.name}, {other.folder} by "
                f"{other.manifest.encoder.name}: their vectors do not compare; embed one of them again"
            )
    rows: dict[tuple[str, str], int] = {}
    parts: list[Floats] = []
    for collection in opened:
        start = sum(map(len, parts))
        papers = [paper for part in iterate_papers(collection) for paper in part]
        for row, paper in enumerate(papers, start):
            rows.setdefault((paper.title, paper.abstract), row)
        parts += iterate_vectors(collection, choose_paper_space(collection))
    return StoredVectors(first, rows, np.concatenate(parts))


def load_match_encoder(encoder: EncoderProtocol | str | None, stored: StoredVectors | None) -> EncoderProtocol:
    """Return the given or named encoder, else that of the collections, else the default.

    Raises InputError where it is not the one that made the vectors of the collections.
    """
    from sciprism.encoders.encoder import Encoder

    if encoder is None or isinstance(encoder, str):
        return load_encoder(stored.first, encoder or "") if stored is not None else Encoder.load(encoder or None)
    if stored is not None and encoder.fingerprint != stored.first.manifest.encoder.fingerprint:
        raise InputError(f"{stored.first.folder} holds vectors of another encoder")
    return encoder


def encode_papers(
    encoder: EncoderProtocol,
    parts: Mapping[str, Sequence[Paper]],
    progress: MatchProgress,
    stored: StoredVectors | None = None,
) -> dict[str, Floats]:
    """Return the vectors of several lists of papers, for proximity.

    Those of collections are read, known texts come from the cache on disk, others are encoded.
    """
    from sciprism.encoders.cached_encoder import CachedEncoder

    cached = CachedEncoder(encoder)
    vectors_by_part = {}
    for name, papers in parts.items():
        progress.begin(f"encoding {name}", "papers", len(papers))
        cached.watch(lambda done, _: progress.update(done))
        rows = stored.find(papers) if stored is not None else np.full(len(papers), -1, np.int64)
        new = np.flatnonzero(rows < 0)
        vectors = np.empty((len(papers), encoder.dim), np.float32)
        if stored is not None:
            vectors[rows >= 0] = stored.vectors[rows[rows >= 0]]
        if len(new):
            vectors[new] = cached.encode([papers[row] for row in new.tolist()], format="proximity", role="paper")
        vectors_by_part[name] = vectors
    return vectors_by_part
