"""Directions of a format's vectors that vary more alike: what few papers differ by counts for more.

Ours, after whitened sentence vectors (Su et al. 2021): those are turned and stretched until all directions
vary alike; here each direction is stretched where it lies, and only a part of the way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product

import numpy as np
import torch
from numpy.typing import NDArray

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods.prism import Prism
from sciprism.errors import InputError
from sciprism.formats import ROLES, Format
from sciprism.seeding import sample
from sciprism.text.template import Item
from sciprism.training.dev import units
from sciprism.training.recipe import Stage
from sciprism.training.sources import Source
from sciprism.training.token_source import TokenSource

EXAMPLES = 200
"""Of each source, whose papers are measured."""
LEAST = 0.01
"""Of the mean spread of all directions: one that varies less is stretched no more than that."""


def check_whitening(encoder: Encoder, stage: Stage) -> None:
    """Refuse formats whose vectors cannot be stretched by numbers of their own, or would not compare."""
    shares = stage.whitening
    if lost := sorted(set(shares) - set(encoder.formats)):
        raise InputError(f"whitening: {lost[0]!r} is no format of the model, {', '.join(encoder.formats)}")
    if shares and not (isinstance(prism := encoder.model.beside, Prism) and prism.scales):
        raise InputError("whitening is for the method prism with options = { scaled = true }")
    for formats in _together(encoder, shares):
        if len({shares.get(format) for format in formats}) > 1:
            raise InputError(f"whitening: {' and '.join(formats)} share a space; give both one number")
        mine = [spec for spec in stage.sources if spec.format in formats]
        if all("paper" not in (spec.query, spec.candidate) for spec in mine):
            raise InputError(f"whitening: no source of {' or '.join(formats)} holds papers to measure")


def whiten(encoder: Encoder, sources: Sequence[Source | TokenSource], shares: Mapping[Format, float]) -> None:
    """Stretch a model's directions, as far for each format as its share says: 0 none, 1 all alike.

    They are measured on papers of the format's sources; queries' are stretched like those of their papers.
    """
    prism = encoder.model.beside
    for formats in _together(encoder, shares):
        assert isinstance(prism, Prism), "a stage that asks for it of another method is refused"
        mine = (each for each in sources if isinstance(each, Source) and each.spec.format in formats)
        papers = list(chain.from_iterable(map(papers_of, mine)))
        vectors = encoder.encode(papers, format=formats[0])
        if encoder.distance == "cosine":
            vectors = units(vectors)
        scale = torch.from_numpy(stretch(vectors, shares[formats[0]], kept=encoder.model.config.lexical))
        with torch.no_grad():
            for way in {encoder.route(*asked) for asked in product(formats, ROLES)}:
                prism.scales[way].mul_(scale.to(encoder.device))


def _together(encoder: Encoder, shares: Mapping[Format, float]) -> list[list[Format]]:
    """Return formats that are asked for, with all that share their space."""
    found: dict[str, list[Format]] = defaultdict(list)
    for format in encoder.formats:
        found[encoder.space(format)].append(format)
    return [formats for formats in found.values() if not set(shares).isdisjoint(formats)]


def papers_of(source: Source) -> Iterator[Item]:
    """Yield the papers of some of a source's examples."""
    rows = sample(range(len(source)), EXAMPLES, "whitening", source.name)
    for example in source.examples(rows):
        if source.spec.query == "paper":
            yield example.query
        if source.spec.candidate == "paper":
            yield from example.positives[:1]


def stretch(vectors: NDArray[np.floating], share: float, *, kept: int = 0) -> NDArray[np.float32]:
    """Return what each direction of vectors, (n, d), is multiplied by, (d,).

    It is spread^-share, times what keeps the vectors as long as they were in the quadratic mean. kept: of the
    last directions, which stay: those of words vary alike as they are made.
    """
    free = vectors[:, : vectors.shape[1] - kept].astype(np.float64)
    spread = free.std(axis=0)
    scale = np.ones_like(spread)
    if spread.any():
        scale = np.maximum(spread, LEAST * spread.mean()) ** -share
        scale *= np.sqrt((free**2).sum() / ((free * scale) ** 2).sum())
    return np.append(scale, np.ones(kept)).astype(np.float32)
