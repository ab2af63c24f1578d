"""Read all that an assignment needs: submissions, reviewers, vectors, pairs; and check that it fits together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sciprism.arrays import Floats
from sciprism.errors import InputError
from sciprism.files import cache_folder
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.store.manifest import is_collection
from sciprism.uses.matching.details import read_authorships
from sciprism.uses.matching.reviewer_files import read_reviewers
from sciprism.uses.matching.reviewers import Authorship, Reviewer
from sciprism.uses.matching.settings import MatchFiles
from sciprism.uses.matching.stored_papers import StoredVectors, read_collection

if TYPE_CHECKING:
    from sciprism.encoders.protocols import EncoderProtocol

NO_AUTHORSHIP = Authorship()


class MatchProgress(Protocol):
    """Is told what is done: a new piece of work, and how far it is."""

    def begin(self, work: str, unit: str = "", total: int | None = None) -> None:
        """Begin a piece of work."""
        ...

    def update(self, done: int) -> None:
        """Show how many are done."""
        ...


class NoProgress:
    """Shows nothing."""

    def begin(self, work: str, unit: str = "", total: int | None = None) -> None:
        """Show nothing."""

    def update(self, done: int) -> None:
        """Show nothing."""


@dataclass(frozen=True, slots=True)
class Submissions:
    """The submissions with what is known of their authors, and what was read of which file."""

    papers: list[Paper]
    authorships: list[Authorship]
    report: ReadReport = field(default_factory=ReadReport)


def read_submissions(
    given: Sequence[Path] | Sequence[Paper], authors: Path | None, *, skip_bad: bool = False
) -> Submissions:
    """Return submissions of files or of papers in memory; InputError for none, or an id of two submissions."""
    report = ReadReport()
    paths = [each for each in given if isinstance(each, Path)]
    papers = [each for each in given if isinstance(each, Paper)]
    for path in paths:
        papers += read_collection(path) if is_collection(path) else read_papers(path, skip_bad=skip_bad, report=report)
    if not papers:
        raise InputError("no submission to assign; name a file that holds papers")
    check_ids(papers)
    known = read_authorships([*paths, *([authors] if authors else [])])
    if authors is not None and not {paper.id for paper in papers} & set(read_authorships([authors])):
        raise InputError(f"{authors} names authors of none of the submissions; its column paper holds their ids")
    return Submissions(papers, [known.get(paper.id, NO_AUTHORSHIP) for paper in papers], report)


def check_ids(papers: Iterable[Paper]) -> None:
    """Raise InputError where two submissions have one id."""
    seen: dict[str, Paper] = {}
    for paper in papers:
        if (other := seen.setdefault(paper.id, paper)) is not paper:
            places = f" ({other.place} and {paper.place})" if paper.place else ""
            raise InputError(f"two submissions have the id {paper.id!r}{places}; ids must be distinct")


def collect_reviewers(
    given: Path | Sequence[Reviewer], files: MatchFiles, report: ReadReport, *, skip_bad: bool
) -> list[Reviewer]:
    """Return reviewers of a file or folder, or those in memory; InputError for none, or an id of two reviewers."""
    if isinstance(given, Path):
        return read_reviewers(given, files.reviewer_papers, skip_bad=skip_bad, report=report)
    if not given:
        raise InputError("no reviewer")
    ids = [reviewer.id for reviewer in given]
    if repeated := next((id for id in ids if ids.count(id) > 1), None) if len(set(ids)) < len(ids) else None:
        raise InputError(f"two reviewers have the id {repeated!r}")
    return list(given)


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

    cached = CachedEncoder(encoder, cache_folder() / "vectors")
    found = {}
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
        found[name] = vectors
    return found
