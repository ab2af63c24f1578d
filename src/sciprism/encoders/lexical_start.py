"""Give a model's vectors a lexical part: what it is made of is measured on texts, nothing is trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.lexical import SHARE, Lexical
from sciprism.errors import InputError
from sciprism.text.template import Item

WINDOW = 4_096  # texts that are encoded at once
TINY = 1e-6
FAINT = 0.01
"""Of the mean variance of the word table's rows: what varies less is not made as strong as the rest."""


def with_lexical(
    encoder: Encoder, texts: Sequence[Item], *, width: int, share: float = SHARE, seed: int = 0
) -> Encoder:
    """Return the model with a lexical part of `width` directions; the one that is given keeps its weights.

    A word's weight is log(1 + (N - n + 0.5) / (n + 0.5)), as in BM25, n of the N texts having it. The rows
    of the word table are made alike in all directions (whitened) and turned by chance into the `width`;
    those of the vectors where the texts vary least give way. InputError where the model is not `single`, has
    a lexical part, compares by lengths too, or is not wider, and for fewer texts than directions.
    """
    model = encoder.model
    if encoder.settings.method != "single" or model.lexical is not None:
        has = "has a lexical part" if model.lexical is not None else f"is of {encoder.settings.method}"
        raise InputError(f"{encoder.name} {has}; a lexical part is for a model of the method single without")
    if encoder.distance != "cosine":
        raise InputError(f"{encoder.name} compares by {encoder.distance}; a lexical part is for cosines")
    if not 1 <= width < encoder.dim:
        raise InputError(f"a lexical part of {width} directions in vectors of {encoder.dim}")
    if not 0 < share < float("inf"):
        raise InputError(f"a lexical part of length {share}; it is a number above 0")
    if len(texts) < encoder.dim:
        raise InputError(f"{len(texts)} texts are too few to measure {encoder.dim} directions by")
    seen = _frequencies(encoder, texts)
    part = Lexical(model.config.vocabulary, encoder.dim, width)
    weight, centre, words = _words(encoder, seen, len(texts), width, seed)
    found = {"weight": weight, "centre": centre, "words.weight": words, "share": torch.tensor([float(share)])}
    part.load_state_dict(found | {"dense.weight": _strongest(encoder, texts, encoder.dim - width)})
    return _joined(encoder, part, width)


def _joined(encoder: Encoder, part: Lexical, width: int) -> Encoder:
    model = deepcopy(encoder.model)
    model.config = replace(model.config, lexical=width)
    model.lexical = part
    return Encoder(model, encoder.tokenizer, encoder.settings, name=encoder.name, device=str(encoder.device))


def _windows(texts: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (texts[start : start + WINDOW] for start in range(0, len(texts), WINDOW))


def _frequencies(encoder: Encoder, texts: Sequence[Item]) -> NDArray[np.float64]:
    """Return in how many texts each word of the vocabulary stands, (V,)."""
    seen = np.zeros(encoder.model.config.vocabulary)
    for window in _windows(texts):
        for ids in encoder.tokenize(encoder.texts(window)):
            seen[np.unique(ids)] += 1
    return seen


def _words(
    encoder: Encoder, seen: NDArray[np.float64], count: int, width: int, seed: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the words' weights, (V,), their rows' centre, (hidden,), and the rows' map, (width, hidden).

    Special tokens weigh nothing.
    """
    weight = np.log1p((count - seen + 0.5) / (seen + 0.5))
    added = encoder.tokenizer.get_added_tokens_decoder()
    weight[[number for number, token in added.items() if token.special]] = 0
    table = encoder.model.embeddings.word.weight.detach().cpu().double().numpy()
    known = table[(seen > 0) & (weight > 0)]
    variances, directions = np.linalg.eigh(np.cov(known.T))
    white = directions / np.sqrt(np.maximum(variances, FAINT * variances.mean()))
    turned, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((table.shape[1], width)))
    return _floats(weight), _floats(known.mean(axis=0)), _floats((white @ turned).T)


def _strongest(encoder: Encoder, texts: Sequence[Item], count: int) -> Tensor:
    """Return the directions in which the texts' vectors vary most, (count, hidden)."""
    total, products = np.zeros(encoder.dim), np.zeros((encoder.dim, encoder.dim))
    for window in _windows(texts):
        vectors = encoder.encode(window, format=encoder.formats[0]).astype(np.float64)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
        total += vectors.sum(axis=0)
        products += vectors.T @ vectors
    mean = total / len(texts)
    _, directions = np.linalg.eigh(products / len(texts) - np.outer(mean, mean))
    return _floats(directions[:, ::-1][:, :count].T)


def _floats(array: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
