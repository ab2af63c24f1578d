"""Add lexical features to a model: their weights are measured on texts, not trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods.registry import PLAIN
from sciprism.encoders.pooling import SHARE, LexicalFeatures
from sciprism.errors import InputError
from sciprism.text.template import Item

WINDOW = 4_096  # texts encoded at once
EPSILON = 1e-6
VARIANCE_FLOOR = 0.01
"""Fraction of the mean variance of the word embeddings; directions below it are not fully whitened."""


def add_lexical_features(
    encoder: Encoder, texts: Sequence[Item], *, width: int, share: float = SHARE, seed: int = 0
) -> Encoder:
    """Return a copy of the model whose last `width` dimensions hold lexical features.

    A token's weight is BM25's log(1 + (N - n + 0.5) / (n + 0.5)), where n of the N texts contain it. The word
    embeddings are whitened and projected at random to `width` dimensions. The dense part keeps the directions
    in which the texts' vectors vary most. InputError for a model that is not `single`, has lexical features,
    does not compare by cosine or is not wider, and for fewer texts than dimensions.
    """
    model = encoder.model
    if encoder.settings.method != PLAIN or model.lexical is not None:
        has = "has them already" if model.lexical is not None else f"is a model of {encoder.settings.method}"
        raise InputError(f"lexical features need a model of the method single without; {encoder.name} {has}")
    if encoder.distance != "cosine":
        raise InputError(f"lexical features need cosine distance; {encoder.name} has {encoder.distance}")
    if not 1 <= width < encoder.dim:
        raise InputError(f"width is {width}; it must be from 1 to {encoder.dim - 1}")
    if not 0 < share < float("inf"):
        raise InputError(f"share is {share}, not a finite number above 0")
    if len(texts) < encoder.dim:
        raise InputError(f"{len(texts)} texts are too few to measure {encoder.dim} dimensions; give at least as many")
    part = LexicalFeatures(model.config.vocabulary, encoder.dim, width)
    weight, centre, words = _fit_words(encoder, texts, width, seed)
    weights = {"weight": weight, "centre": centre, "words.weight": words, "share": torch.tensor([float(share)])}
    part.load_state_dict(weights | {"dense.weight": _principal_directions(encoder, texts, encoder.dim - width)})
    model = deepcopy(encoder.model)
    model.config = replace(model.config, lexical=width)
    model.lexical = part
    return Encoder.from_parts(model, encoder.tokenizer, encoder.settings, name=encoder.name, device=str(encoder.device))


def _split_windows(texts: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (texts[start : start + WINDOW] for start in range(0, len(texts), WINDOW))


def _fit_words(encoder: Encoder, texts: Sequence[Item], width: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the tokens' weights, (V,), their embeddings' mean, (hidden,), and projection, (width, hidden).

    Special tokens have weight 0.
    """
    counts = np.zeros(encoder.model.config.vocabulary)  # how many texts contain each token
    for window in _split_windows(texts):
        for ids in encoder.tokenize(encoder.texts(window)):
            counts[np.unique(ids)] += 1
    weight = np.log1p((len(texts) - counts + 0.5) / (counts + 0.5))
    added = encoder.tokenizer.get_added_tokens_decoder()
    weight[[number for number, token in added.items() if token.special]] = 0
    table = encoder.model.embeddings.word.weight.detach().cpu().double().numpy()
    occurring = table[(counts > 0) & (weight > 0)]
    variances, directions = np.linalg.eigh(np.cov(occurring.T))
    white = directions / np.sqrt(np.maximum(variances, VARIANCE_FLOOR * variances.mean()))
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((table.shape[1], width)))
    return _to_tensor(weight), _to_tensor(occurring.mean(axis=0)), _to_tensor((white @ rotation).T)


def _principal_directions(encoder: Encoder, texts: Sequence[Item], count: int) -> Tensor:
    """Return the directions in which the texts' vectors vary most, (count, hidden)."""
    total, products = np.zeros(encoder.dim), np.zeros((encoder.dim, encoder.dim))
    for window in _split_windows(texts):
        vectors = encoder.encode(window, format=encoder.formats[0]).astype(np.float64)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), EPSILON)
        total += vectors.sum(axis=0)
        products += vectors.T @ vectors
    mean = total / len(texts)
    _, directions = np.linalg.eigh(products / len(texts) - np.outer(mean, mean))
    return _to_tensor(directions[:, ::-1][:, :count].T)


def _to_tensor(array: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
