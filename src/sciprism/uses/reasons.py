"""Say why a paper was found: the sentence of its abstract nearest to what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from sciprism.arrays import Floats
from sciprism.index.exact import topk
from sciprism.papers.records import Paper
from sciprism.store import Collection, Matrix
from sciprism.text.sentences import split_sentences

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.formats import Format

SENTENCES = 64
"""Sentences of one abstract that are looked at: whole books come as abstracts now and then."""


def nearest_sentences(
    collection: Collection, encoder: Encoder, space: str, asked: Floats, found: Sequence[Sequence[Paper]]
) -> list[list[str]]:
    """Return the nearest sentence ("" without abstract) for each vector asked for (m, d) and its papers."""
    distance = collection.manifest.encoder.distance
    places: dict[str, range] = {}
    sentences: list[str] = []
    for paper in (paper for papers in found for paper in papers):
        if paper.id not in places:
            mine = split_sentences(paper.abstract)[:SENTENCES]
            places[paper.id] = range(len(sentences), len(sentences) + len(mine))
            sentences += mine
    if not sentences:
        return [["" for _ in papers] for papers in found]
    format = cast("Format", collection.manifest.spaces[space].formats[0])
    vectors = encoder.encode(sentences, format=format, role="paper")

    def nearest(query: Floats, paper: Paper) -> str:
        place = places[paper.id]
        if not place:
            return ""
        _, rows = topk(query[None], [Matrix(vectors[place.start : place.stop])], 1, distance=distance)
        return sentences[place.start + int(rows[0, 0])]

    return [[nearest(query, paper) for paper in papers] for query, papers in zip(asked, found, strict=True)]
