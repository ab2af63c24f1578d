"""What a stage does to its weights after its last step: interpolation with those of its start, and whitening.

Between the start and the end of a training, the gain in the new tasks comes early and the loss in others late
(Wortsman et al. 2022). Partial whitening is ours, after whitened sentence vectors (Su et al. 2021), which are rotated
and scaled to equal variance; here dimensions are only scaled, and only a part of the way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sciprism.arrays import normalize_rows
from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.formats import ROLES, Format
from sciprism.seeding import sample
from sciprism.text.template import Item
from sciprism.training.recipe import Stage
from sciprism.training.sources import ExampleSource, StageSource

MAX_EXAMPLES = 200  # of each source, whose papers are measured
MIN_SPREAD = 0.01  # smallest standard deviation that is used, as a fraction of the mean over dimensions


def check_whitening(encoder: Encoder, stage: Stage) -> None:
    """Refuse formats without scales of their own, and different numbers for formats that share a space."""
    shares = stage.whitening
    if unknown := sorted(set(shares) - set(encoder.formats)):
        raise InputError(f"whitening: {unknown[0]!r} is no format of the model, {', '.join(encoder.formats)}")
    if shares and not encoder.method.scales(encoder.model):
        raise InputError("whitening needs the method prism with options = { scaled = true }")
    for formats in _formats_by_space(encoder, shares):
        if len({shares.get(format) for format in formats}) > 1:
            raise InputError(f"whitening: {' and '.join(formats)} share a space; give both one number")
        specs = [spec for spec in stage.sources if spec.format in formats]
        if all("paper" not in (spec.query, spec.candidate) for spec in specs):
            raise InputError(f"whitening: no source of {' or '.join(formats)} holds papers to measure")


def whiten(encoder: Encoder, sources: Sequence[StageSource], shares: Mapping[Format, float]) -> None:
    """Scale a model's dimensions towards equal variance: for each format 0 for not at all, 1 for equal.

    The variance is measured on papers of the format's sources; queries get the scale of their papers.
    """
    scales = encoder.method.scales(encoder.model)
    for formats in _formats_by_space(encoder, shares):
        measured = (source for source in sources if isinstance(source, ExampleSource) and source.spec.format in formats)
        papers = list(chain.from_iterable(map(sample_papers, measured)))
        vectors = encoder.encode(papers, format=formats[0])
        if encoder.distance == "cosine":
            vectors = normalize_rows(vectors)
        scale = torch.from_numpy(whitening_scale(vectors, shares[formats[0]], unscaled=encoder.model.config.lexical))
        with torch.no_grad():
            for route in {encoder.route(format, role) for format, role in product(formats, ROLES)}:
                scales[route].mul_(scale.to(encoder.device))


def _formats_by_space(encoder: Encoder, shares: Mapping[Format, float]) -> list[list[Format]]:
    """Return the formats to whiten, grouped with all that share their space."""
    by_space: dict[str, list[Format]] = defaultdict(list)
    for format in encoder.formats:
        by_space[encoder.space(format)].append(format)
    return [formats for formats in by_space.values() if not set(shares).isdisjoint(formats)]


def sample_papers(source: ExampleSource) -> Iterator[Item]:
    """Yield the papers of some of a source's examples."""
    rows = sample(range(len(source)), MAX_EXAMPLES, "whitening", source.name)
    for example in source.examples(rows):
        if source.spec.query == "paper":
            yield example.query
        if source.spec.candidate == "paper":
            yield from example.positives[:1]


def whitening_scale(vectors: NDArray[np.floating], share: float, *, unscaled: int = 0) -> NDArray[np.float32]:
    """Return the factor of each dimension of vectors, (n, d): (d,).

    It is std^-share, times a constant that keeps the mean square length. unscaled: the number of last dimensions
    that are not scaled: lexical features have equal variance by construction.
    """
    free = vectors[:, : vectors.shape[1] - unscaled].astype(np.float64)
    spread = free.std(axis=0)
    scale = np.ones_like(spread)
    if spread.any():
        scale = np.maximum(spread, MIN_SPREAD * spread.mean()) ** -share
        scale *= np.sqrt((free**2).sum() / ((free * scale) ** 2).sum())
    return np.append(scale, np.ones(unscaled)).astype(np.float32)


# ---- interpolation (WiSE-FT, Wortsman et al. 2022, equation 1) ----

InterpolationWeights = float | Mapping[str, float]
"""The weight of the stage's end, 1 for the end alone: of all weights, or by names of modules."""


def interpolation_weight(name: str, weights: InterpolationWeights) -> float:
    """Return the weight of the end for a parameter; 1 where no name is a part of its own."""
    if not isinstance(weights, Mapping):
        return weights
    return next((weight for part, weight in weights.items() if part in name.split(".")), 1.0)


def check_interpolation(encoder: Encoder, weights: InterpolationWeights) -> None:
    """Refuse names of modules without trained weights."""
    trained = [name for name, parameter in encoder.model.named_parameters() if parameter.requires_grad]
    modules = {part for name in trained for part in name.split(".")}
    if unknown := sorted(set(weights) - modules if isinstance(weights, Mapping) else ()):
        raise InputError(f"interpolation: no module {unknown[0]!r} has weights that are trained")


def copy_start_weights(encoder: Encoder, weights: InterpolationWeights) -> dict[str, Tensor]:
    """Return copies of the weights that training changes and interpolation needs."""
    return {
        name: parameter.detach().clone()
        for name, parameter in encoder.model.named_parameters()
        if parameter.requires_grad and interpolation_weight(name, weights) < 1
    }


def interpolate(encoder: Encoder, start_weights: Mapping[str, Tensor], weights: InterpolationWeights) -> None:
    """Interpolate a model's weights with those of its start; call `prepare` before it encodes."""
    with torch.no_grad():
        for name, weight in encoder.model.named_parameters():
            if name in start_weights:
                weight.copy_(torch.lerp(start_weights[name].to(weight), weight, interpolation_weight(name, weights)))
