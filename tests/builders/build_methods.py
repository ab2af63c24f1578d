"""Encoders of every method whose every weight matters."""

import tempfile
from pathlib import Path

import torch

from sciprism import Encoder
from sciprism.encoders.methods.registry import methods


def started(folder, method, **changes):
    """An encoder of a method over a plain folder, untrained."""
    first = methods[method].grows_from
    if first == "single":
        return Encoder.start(folder, method=method, **({"pooling": "mean", "device": "cpu"} | changes))
    with tempfile.TemporaryDirectory() as place:
        started(folder, first, **changes).save(Path(place) / first)
        return Encoder.start(Path(place) / first, method=method, **({"device": "cpu"} | changes))


def unequal(encoder, seed=0, size=0.1):
    """Move every weight, and so make what began as copies unlike; ready for inference."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, weight in sorted(encoder.model.named_parameters()):
            weight.add_(size * torch.randn(weight.shape, generator=generator))
    encoder.prepare()
    return encoder


def batch_of(encoder, texts, formats):
    """A packed batch of texts, each on its format's way; formats of one way must stand side by side."""
    from sciprism.encoders.packing import pack

    return pack(encoder.tokenize(texts), [encoder.route(format) for format in formats])
