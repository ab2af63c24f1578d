"""Why a paper was found: the sentence of its abstract that is nearest to the query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from sciprism.arrays import Floats
from sciprism.index.exact import Distance, topk
from sciprism.papers.records import Paper
from sciprism.store import Matrix
from sciprism.store.manifest import SpaceRecord
from sciprism.text.sentences import split_sentences

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.formats import Format

MAX_SENTENCES = 64
"""Sentences per abstract that are compared: some abstracts are whole books."""


def find_nearest_sentences(
    encoder: Encoder,
    space: SpaceRecord,
    distance: Distance,
    query_vectors: Floats,
    papers: Sequence[Sequence[Paper]],
) -> list[list[str]]:
    """Return the sentence nearest to each query vector (m, d) in each of its papers; "" if there is none.

    space, distance: of the query vectors.
    """
    ranges: dict[str, range] = {}
    sentences: list[str] = []
    for paper in (paper for ranked in papers for paper in ranked):
        if paper.id not in ranges:
            found = split_sentences(paper.abstract)[:MAX_SENTENCES]
            ranges[paper.id] = range(len(sentences), len(sentences) + len(found))
            sentences += found
    if not sentences:
        return [["" for _ in ranked] for ranked in papers]
    format = cast("Format", space.formats[0])
    vectors = encoder.encode(sentences, format=format, role="paper")

    def nearest(query: Floats, paper: Paper) -> str:
        here = ranges[paper.id]
        if not here:
            return ""
        _, rows = topk(query[None], [Matrix(vectors[here.start : here.stop])], 1, distance=distance)
        return sentences[here.start + int(rows[0, 0])]

    pairs = zip(query_vectors, papers, strict=True)
    return [[nearest(query, paper) for paper in ranked] for query, ranked in pairs]
