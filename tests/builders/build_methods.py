"""Encoders of every method, with weights that all affect the vectors."""

import tempfile
from pathlib import Path

import numpy as np
import torch

from sciprism import Encoder
from sciprism.encoders.methods.registry import methods


def build_encoder(folder, method, **changes):
    """Return an untrained encoder of a method over a plain folder."""
    first = methods[method].starts_from
    if first == "single":
        return Encoder.start(folder, method=method, **({"pooling": "mean", "device": "cpu"} | changes))
    with tempfile.TemporaryDirectory() as place:
        build_encoder(folder, first, **changes).save(Path(place) / first)
        return Encoder.start(Path(place) / first, method=method, **({"device": "cpu"} | changes))


def perturb_weights(encoder, seed=0, size=0.1):
    """Add noise to every weight, so that modules copied from each other differ; prepare for inference."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, weight in sorted(encoder.model.named_parameters()):
            weight.add_(size * torch.randn(weight.shape, generator=generator))
    encoder.prepare()
    return encoder


def max_difference(ours, theirs):
    """Return the largest difference between rows of vectors."""
    assert ours.shape == theirs.shape
    return np.abs(ours - theirs).max()


def pack_texts(encoder, texts, formats):
    """Return a packed batch of texts on their formats' routes; texts of one route must be adjacent."""
    from sciprism.encoders.layers import pack

    return pack(encoder.tokenize(texts), [encoder.route(format) for format in formats])
