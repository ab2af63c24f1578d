"""Recommend new papers to someone by the papers that they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sciprism.arrays import Floats
from sciprism.errors import InputError
from sciprism.papers.links import find_doi, find_url
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection
from sciprism.uses.recommending.candidates import Candidate, CandidateCounts, CandidatePool, OnProgress, list_years
from sciprism.uses.recommending.interests import Interest, describe_interests, find_interests
from sciprism.uses.recommending.paper_sources import (
    CollectionSource,
    FileReading,
    PaperInput,
    PaperSource,
    open_sources,
)
from sciprism.uses.recommending.profile import LibraryProfile
from sciprism.uses.recommending.results import NearPaper, Recommendation, Recommendations, RecommendCounts
from sciprism.uses.recommending.selection import choose_papers
from sciprism.uses.recommending.settings import RecommendSettings
from sciprism.uses.recommending.shared_space import SharedSpace, normalize

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

REASONS = 3
"""Own papers that are named as the reason of a recommendation."""


def recommend(
    library: PaperInput,
    new: PaperInput,
    *,
    unwanted: PaperInput = (),
    settings: RecommendSettings | None = None,
    model: str | Encoder = "",
    reading: FileReading | None = None,
    progress: OnProgress | None = None,
) -> Recommendations:
    """Rank new papers for someone by the papers of their library, with the nearest own papers as the reason.

    library, new, unwanted: files of papers, folders of collections, or papers; new papers are read once, in blocks,
    so there may be millions. unwanted: papers that are not to be shown, nor others like them. Papers that the library
    has already, also as a preprint or under another id, are left out and counted. model: encodes papers of files; by
    default that of the collections among the inputs, else the model that ships. Raises InputError where the library
    has no papers, collections do not compare, or a record cannot be used.
    """
    settings, report = settings or RecommendSettings(), progress or _report_nothing
    inputs = _RecommendInputs.open(library, new, unwanted, reading or FileReading())
    space = SharedSpace(inputs.collections(), model)
    own = _read_all(inputs.library, space, "reading the library", report)
    if not own.papers:
        raise InputError("the library has no papers; name a file or a collection of papers that you have")
    disliked = _read_all(inputs.unwanted, space, "reading unwanted papers", report)
    groups = find_interests(own.vectors, settings.interests)
    interests = describe_interests(own.papers, own.vectors, groups)
    profile = LibraryProfile(own.vectors, groups, disliked.vectors, settings)
    pool = CandidatePool(profile, own.papers, disliked.papers, settings.k)
    total = _count(inputs.new)
    for block in (block for source in inputs.new for block in source.blocks(space.encode)):
        pool.add(block)
        report("comparing new papers", pool.counts.read, total)
    return Recommendations(
        hits=tuple(_choose_hits(pool, interests, settings)),  # counts what is repeated
        interests=tuple(interests),
        counts=_sum_counts(inputs, own, disliked, pool.counts, space.encoded),
        model=space.model,
        skipped=tuple(str(record) for source in inputs.all() for record in source.skipped.skipped),
    )


@dataclass(frozen=True, slots=True)
class _RecommendInputs:
    """The sources of the three inputs."""

    library: list[PaperSource]
    new: list[PaperSource]
    unwanted: list[PaperSource]

    @classmethod
    def open(cls, library: PaperInput, new: PaperInput, unwanted: PaperInput, reading: FileReading) -> _RecommendInputs:
        """Open all inputs: what does not exist is an error before anything is encoded."""
        named = {"library": library, "new": new, "unwanted": unwanted}
        found = {name: open_sources(papers, reading, name) for name, papers in named.items()}
        piped = [name for name, sources in found.items() for source in sources if source.piped]
        if len(piped) > 1:
            raise InputError(f"{' and '.join(piped)} are both standard input, which can be read once; name a file")
        return cls(**found)

    def all(self) -> list[PaperSource]:
        return [*self.library, *self.new, *self.unwanted]

    def collections(self) -> list[StoredCollection]:
        return [source.stored for source in self.all() if isinstance(source, CollectionSource)]


@dataclass(slots=True)
class _OwnPapers:
    """Papers that are held in memory, with their vectors (n, d) of length 1."""

    papers: list[Paper] = field(default_factory=list)
    vectors: Floats = field(default_factory=lambda: np.empty((0, 0), np.float32))
    without_abstract: int = 0


def _read_all(sources: Sequence[PaperSource], space: SharedSpace, work: str, report: OnProgress) -> _OwnPapers:
    """Read and encode the papers of a library; those of a collection are read with all their fields."""
    found, vectors = _OwnPapers(), []
    total = _count(sources)
    for source in sources:
        for block in source.blocks(space.encode):
            if isinstance(source, CollectionSource):
                found.papers += source.stored.papers(block.rows)
            else:
                found.papers += block.papers
            found.without_abstract += block.without_abstract
            vectors.append(normalize(block.vectors))
            report(work, len(found.papers), total)
    if found.papers:
        found.vectors = np.concatenate(vectors)
    return found


def _sum_counts(
    inputs: _RecommendInputs, own: _OwnPapers, disliked: _OwnPapers, found: CandidateCounts, encoded: int
) -> RecommendCounts:
    return RecommendCounts(
        library=len(own.papers),
        library_without_abstract=own.without_abstract,
        unwanted_given=len(disliked.papers),
        new=found.read,
        new_without_abstract=found.without_abstract,
        owned=dict(sorted(found.owned.items())),
        unwanted=found.unwanted,
        repeated=found.repeated,
        skipped=sum(source.skipped.skipped_count for source in inputs.all()),
        encoded=encoded,
    )


def _count(sources: Sequence[PaperSource]) -> int | None:
    """Return the papers of all sources, None where one can be read only once; bad records are found here."""
    counts = [source.count() for source in sources]
    return None if None in counts else sum(count or 0 for count in counts)


def _choose_hits(
    pool: CandidatePool, interests: Sequence[Interest], settings: RecommendSettings
) -> list[Recommendation]:
    """Choose the list from the best papers, scored again in double precision: the order is the same everywhere."""
    best = pool.list_best()
    if not best:
        return []
    profile = pool.profile
    vectors = np.stack([candidate.vector for candidate in best]).astype(np.float64)
    years = list_years([candidate.paper for candidate in best])
    chosen, relevance = choose_papers(profile, vectors, years, settings)
    unwanted = profile.measure_unwanted(vectors) if len(profile.unwanted) else None
    return [
        _build_hit(
            rank,
            best[place],
            score=float(relevance.overall[place]),
            interest=interests[relevance.interest[place]].name,
            because=_find_reasons(pool, vectors[place]),
            unwanted=None if unwanted is None else float(unwanted[place]),
        )
        for rank, place in enumerate(chosen, 1)
    ]


def _find_reasons(pool: CandidatePool, vector: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[NearPaper, ...]:
    similarities = pool.profile.vectors.astype(np.float64) @ vector
    rows = np.argsort(-similarities, kind="stable")[:REASONS]
    return tuple(NearPaper(pool.own[row].id, pool.own[row].title, float(similarities[row])) for row in rows.tolist())


def _build_hit(
    rank: int,
    candidate: Candidate,
    *,
    score: float,
    interest: str,
    because: tuple[NearPaper, ...],
    unwanted: float | None,
) -> Recommendation:
    paper = candidate.complete()
    return Recommendation(
        rank=rank,
        score=score,
        id=paper.id,
        title=paper.title,
        venue=paper.venue,
        year=paper.year,
        authors=paper.authors,
        doi=find_doi(paper),
        url=find_url(paper),
        paper=paper,
        interest=interest,
        because=because,
        unwanted=unwanted,
    )


def _report_nothing(work: str, done: int, total: int | None) -> None:
    """Ignore progress."""
