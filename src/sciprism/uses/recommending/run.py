"""Recommend new papers to someone by the papers that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from sciprism.arrays import Floats, normalize_rows
from sciprism.errors import InputError
from sciprism.papers.duplicates import find_versions
from sciprism.papers.records import Paper
from sciprism.uses.rankings import describe_paper
from sciprism.uses.recommending.candidates import CandidatePool, list_years
from sciprism.uses.recommending.interests import Interest, describe_interests, find_interests
from sciprism.uses.recommending.paper_sources import (
    CollectionSource,
    FileReading,
    PaperBlock,
    PaperInput,
    PaperSource,
    SharedSpace,
    open_sources,
)
from sciprism.uses.recommending.profile import LibraryProfile, choose_papers
from sciprism.uses.recommending.results import (
    SEEN,
    UNWANTED,
    NearPaper,
    Recommendation,
    Recommendations,
    RecommendCounts,
)
from sciprism.uses.recommending.settings import RecommendSettings

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

CENTRED = 1000  # new papers whose mean vector is what all have in common, where there are so many
COMMON = 0.75
"""Part of it that is taken off, chosen on dev halves of users, authors and papers (results/recommending.json)."""
DOUBTED = 10  # new papers at which half of their mean vector is taken off: fewer may be of one topic by accident
REASONS = 3  # own papers that are named as the reason of a recommendation
OnProgress = Callable[[str, int, int | None], None]
"""Shows a piece of work, how many papers are done, and of how many (None: unknown)."""


def recommend(
    library: PaperInput,
    new: PaperInput,
    *,
    unwanted: PaperInput = (),
    seen: Sequence[Paper] = (),
    settings: RecommendSettings | None = None,
    model: str | Encoder = "",
    reading: FileReading | None = None,
    progress: OnProgress | None = None,
) -> Recommendations:
    """Rank new papers for someone by the papers of their library, with the nearest own papers as the reason.

    library, new, unwanted: files of papers, folders of collections, or papers; new papers are read once, in blocks,
    so there may be millions. unwanted: papers that are not to be shown, nor others like them. seen: shown before, and
    left out. Papers that the library has, also as a preprint or under another id, are left out and listed. model: of
    files; by default that of the collections, else the one that ships. InputError where the library has no papers,
    collections do not compare, or a record cannot be used.
    """
    settings, progress = settings or RecommendSettings(), progress or (lambda *_: None)
    given = {"library": library, "new": new, "unwanted": unwanted}
    inputs = {name: open_sources(papers, reading or FileReading(), name) for name, papers in given.items()}
    piped = [name for name, opened in inputs.items() for source in opened if source.piped]
    if len(piped) > 1:
        raise InputError(f"{' and '.join(piped)} are both standard input, which can be read once; name a file")
    sources = [source for part in inputs.values() for source in part]
    space = SharedSpace([source.stored for source in sources if isinstance(source, CollectionSource)], model)
    own, versions, vectors, counts = _read_library(inputs["library"], space, progress)
    disliked, disliked_vectors, _ = _read_all(inputs["unwanted"], space, "reading unwanted papers", progress)
    counts.unwanted_given = len(disliked)
    groups = find_interests(vectors, settings.interests)
    interests, total = tuple(describe_interests(own, vectors, groups)), _count(inputs["new"])
    centre, blocks = _find_centre(inputs["new"], space)
    profile = LibraryProfile(vectors, groups, disliked_vectors, settings, centre)
    pool = CandidatePool(profile, own, {UNWANTED: disliked, SEEN: seen}, settings.k, counts, versions)
    for block in blocks:
        pool.add(block)
        progress("comparing new papers", counts.new, total)
    hits = tuple(_choose_hits(pool, interests, settings))  # counts what is repeated
    counts.skipped, counts.encoded = sum(source.skipped.skipped_count for source in sources), space.encoded
    skipped = tuple(str(record) for source in sources for record in source.skipped.skipped)
    return Recommendations(
        hits=hits, interests=interests, counts=counts, model=space.model, skipped=skipped, left_out=tuple(pool.left_out)
    )


def _read_library(
    sources: Sequence[PaperSource], space: SharedSpace, progress: OnProgress
) -> tuple[list[Paper], list[Paper], Floats, RecommendCounts]:
    """Return each own paper once, further versions of them, the vectors of the former, and the counts of the library.

    Raises InputError for a library without papers.
    """
    papers, vectors, without_abstract = _read_all(sources, space, "reading the library", progress)
    if not papers:
        raise InputError("the library has no papers; name a file or a collection of papers that you have")
    groups = find_versions(papers)
    rows = [group[0] for group in groups]
    versions = [papers[row] for group in groups for row in group[1:]]
    counts = RecommendCounts(
        library=len(papers), library_versions=len(versions), library_without_abstract=without_abstract
    )
    return [papers[row] for row in rows], versions, vectors[rows], counts


def _read_all(
    sources: Sequence[PaperSource], space: SharedSpace, work: str, progress: OnProgress
) -> tuple[list[Paper], Floats, int]:
    """Return all papers, their vectors (n, d) of length 1, and how many lack an abstract.

    Papers of a collection are read with all their fields.
    """
    papers, vectors, without_abstract = list[Paper](), list[Floats](), 0
    total = _count(sources)
    for block in (block for source in sources for block in source.blocks(space.encode)):
        papers += block.papers if block.stored is None else block.stored.papers(block.rows)
        vectors.append(normalize_rows(block.vectors))
        without_abstract += block.without_abstract
        progress(work, len(papers), total)
    return papers, np.concatenate(vectors) if papers else np.empty((0, 0), np.float32), without_abstract


def _find_centre(sources: Sequence[PaperSource], space: SharedSpace) -> tuple[Floats, Iterator[PaperBlock]]:
    """Return a part of the mean vector (d,) of some new papers, less where they are few, and the blocks of all.

    Of collections, papers are taken evenly; of files, the first ones, which are encoded once.
    """
    stored = [source for source in sources if isinstance(source, CollectionSource)]
    files = [source for source in sources if not isinstance(source, CollectionSource)]
    encoded = chain.from_iterable(source.blocks(space.encode) for source in files)
    head = list[PaperBlock]()
    while sum(len(block.papers) for block in head) < CENTRED and (block := next(encoded, None)):
        head.append(block)
    parts = [vector for source in stored for vector in source.sample_vectors(CENTRED)]
    parts += [block.vectors for block in head]
    vectors = normalize_rows(np.concatenate(parts)) if parts else np.zeros((0, 1), np.float32)
    centre = COMMON / (len(vectors) + DOUBTED) * vectors.sum(axis=0)
    blocks = chain.from_iterable(source.blocks(space.encode) for source in stored)
    return centre.astype(np.float32), chain(blocks, head, encoded)


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
        Recommendation(
            rank=rank,
            score=float(relevance.overall[place]),
            **describe_paper(best[place].complete()),
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
