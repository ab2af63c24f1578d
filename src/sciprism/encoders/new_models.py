"""Create models: with random weights, copies of another model's, or lexical features that are measured on texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import SHARE, LexicalFeatures, initialize_linears
from sciprism.encoders.methods.registry import PLAIN, build_method
from sciprism.encoders.settings import EncoderSettings
from sciprism.encoders.transformer import Transformer, TransformerConfig
from sciprism.errors import InputError
from sciprism.text.template import Item, Template
from sciprism.text.tokenizer import ROBERTA_TOKENS, open_tokenizer
from sciprism.text.vocabulary import WORDPIECE_PREFIX, classify_tokens, decode_vocabulary, find_special_id

WeightInitializer = Callable[[Transformer, Tokenizer], None]
"""Replaces the random weights of a plain model with this vocabulary."""
ROBERTA_CLS = "<s>"  # the first token of vocabularies whose models leave the position rows up to the padding id unused
WINDOW = 4_096  # texts encoded at once
EPSILON = 1e-6
VARIANCE_FLOOR = 0.01
"""Fraction of the mean variance of the word embeddings; directions below it are not fully whitened."""


def create_encoder(
    architecture: Mapping[str, Any],
    tokenizer: Path,
    *,
    method: str = PLAIN,
    options: Mapping[str, Any] | None = None,
    pooling: str = "mean",
    max_length: int | None = None,
    template: Mapping[str, Any] | None = None,
    seed: int = 0,
    initializer: WeightInitializer | None = None,
    device: str | None = None,
    **settings: Any,
) -> Encoder:
    """Return an encoder with BERT's random weights, or those that `initializer` sets.

    architecture: fields of TransformerConfig, except those that the vocabulary decides. tokenizer: a model
    folder or a tokenizer.json. initializer: called before the method copies layers into its slots. settings:
    further ones of `EncoderSettings`. InputError where they do not fit each other.
    """
    vocabulary = open_tokenizer(tokenizer)
    vocabulary.no_truncation()
    vocabulary.no_padding()
    padding = find_special_id(vocabulary, "pad_token") or 0
    first = padding + 1 if vocabulary.token_to_id(ROBERTA_CLS) is not None else 0
    size = 1 + max(vocabulary.get_vocab(with_added_tokens=True).values())
    config = TransformerConfig(vocabulary=size, padding_id=padding, first_position=first, **architecture)
    chosen = build_method(method, options or {})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Transformer(config)
        initialize_linears(model)
        if initializer is not None:
            initializer(model, vocabulary)
        chosen.fill(model)
        chosen.initialize(model, vocabulary)
    length = config.max_length if max_length is None else max_length
    if length > config.max_length:
        raise InputError(f"max length {length}, but the architecture has positions for {config.max_length} tokens")
    encoder_settings = EncoderSettings(
        method=method,
        options=options or {},
        pooling=chosen.pooling or pooling,
        max_length=length,
        template=Template(**(template or {})),
        **{key: value for key, value in settings.items() if value is not None},
    )
    return Encoder.from_parts(model, vocabulary, encoder_settings, name="new", device=device)


def copy_weights(ours: Transformer, tokenizer: Tokenizer, other: Encoder, layers: Sequence[int]) -> None:
    """Copy another model's embeddings, and these layers, counted from 1, into a plain model.

    With another vocabulary, a token gets the mean of the other model's embeddings of its text. A smaller
    feed-forward keeps the strongest inner units. InputError where other widths or the number of layers
    differ.
    """
    theirs, same = other.model, tokenizer.get_vocab() == other.tokenizer.get_vocab()
    config, other_config = ours.config, theirs.config
    yours, mine = theirs.embeddings, ours.embeddings
    alike = bool(other_config.relative_buckets) == bool(config.relative_buckets) and other_config.style == config.style
    if not alike or mine.position is None or yours.position is None or mine.norm is None or yours.norm is None:
        raise InputError(f"architecture: {other.name} has blocks of another style than a new model; copy another")
    fits = (config.hidden, config.heads) == (other_config.hidden, other_config.heads)
    fits = fits and config.intermediate <= other_config.intermediate
    if not fits or len(layers) != config.layers or not all(1 <= n <= other_config.layers for n in layers):
        wanted, found = (
            f"{c.layers} layers ({c.hidden} wide, {c.intermediate} inside, {c.heads} heads)"
            for c in (config, other_config)
        )
        numbers = ", ".join(map(str, layers)) or "(none)"
        raise InputError(
            f"architecture: {wanted} cannot be copies of the layers {numbers} of {other.name}, which has {found}"
        )
    if config.lexical and (config.lexical != other_config.lexical or not same):
        has = "another vocabulary" if config.lexical == other_config.lexical else other_config.lexical
        raise InputError(f"architecture: lexical is {config.lexical}; {other.name} has {has}")
    with torch.no_grad():
        for block, number in zip(ours.blocks, layers, strict=True):
            block.load_state_dict(_prune_inner_units(theirs.blocks[number - 1].state_dict(), config.intermediate))
        mine.norm.load_state_dict(yours.norm.state_dict())
        if ours.lexical is not None and theirs.lexical is not None:
            ours.lexical.load_state_dict(theirs.lexical.state_dict())
        table = yours.word.weight
        pairs = [
            (mine.position.weight[config.first_position :], yours.position.weight[other_config.first_position :]),
            (mine.word.weight, table if same else _map_word_rows(tokenizer, other.tokenizer, table)),
        ]
        if mine.segment is not None and yours.segment is not None:
            pairs.append((mine.segment.weight, yours.segment.weight))
        for our_rows, their_rows in pairs:
            count = min(len(our_rows), len(their_rows))
            our_rows[:count] = their_rows[:count]


def _prune_inner_units(state: Mapping[str, Tensor], count: int) -> dict[str, Tensor]:
    """Return a block with `count` inner units: those with the largest product of input and output weight norms."""
    inner, outer, bias = (f"feed_forward.{part}" for part in ("expand.weight", "contract.weight", "expand.bias"))
    strength = state[inner].norm(dim=1) * state[outer].norm(dim=0)
    strongest = strength.topk(count).indices.sort().values
    return dict(state) | {
        inner: state[inner][strongest],
        bias: state[bias][strongest],
        outer: state[outer][:, strongest],
    }


def _map_word_rows(tokenizer: Tokenizer, other: Tokenizer, table: Tensor) -> Tensor:
    """Return one row per token of a vocabulary, computed from the table of another vocabulary."""
    tokens, inner = tokenizer.get_vocab(), other.get_vocab()
    rows = table.mean(dim=0).repeat(1 + max(tokens.values()), 1)
    words = classify_tokens(tokenizer)
    text_of = decode_vocabulary(tokenizer)
    plain = [(text_of[token], number) for token, number in tokens.items() if not words.special[number]]
    encodings = other.encode_batch_fast([text.strip() for text, _ in plain], add_special_tokens=False)
    for (text, number), encoding in zip(plain, encodings, strict=True):
        piece = None if words.word_starts[number] else inner.get(f"{WORDPIECE_PREFIX}{text}")
        ids = encoding.ids if piece is None else [piece]
        if ids:
            rows[number] = table[ids].mean(dim=0)
    for role in ROBERTA_TOKENS:
        our_id, their_id = find_special_id(tokenizer, role), find_special_id(other, role)
        if our_id is not None and their_id is not None:
            rows[our_id] = table[their_id]
    return rows


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
    windows = [texts[start : start + WINDOW] for start in range(0, len(texts), WINDOW)]
    weights = _fit_words(encoder, windows, width, seed)
    weights["dense.weight"] = _principal_directions(encoder, windows, encoder.dim - width)
    tensors = {name: torch.from_numpy(np.ascontiguousarray(array, np.float32)) for name, array in weights.items()}
    part.load_state_dict(tensors | {"share": torch.tensor([float(share)])})
    model = deepcopy(encoder.model)
    model.config = replace(model.config, lexical=width)
    model.lexical = part
    return Encoder.from_parts(model, encoder.tokenizer, encoder.settings, name=encoder.name, device=str(encoder.device))


def _fit_words(
    encoder: Encoder, windows: Sequence[Sequence[Item]], width: int, seed: int
) -> dict[str, NDArray[np.float64]]:
    """Return the tokens' weights, (V,), 0 of special ones, the mean of their embeddings, and the map of these."""
    counts = np.zeros(encoder.model.config.vocabulary)  # how many texts contain each token
    for window in windows:
        for ids in encoder.tokenize(encoder.texts(window)):
            counts[np.unique(ids)] += 1
    weight = np.log1p((sum(map(len, windows)) - counts + 0.5) / (counts + 0.5))
    added = encoder.tokenizer.get_added_tokens_decoder()
    weight[[number for number, token in added.items() if token.special]] = 0
    table = encoder.model.embeddings.word.weight.detach().cpu().double().numpy()
    occurring = table[(counts > 0) & (weight > 0)]
    variances, directions = np.linalg.eigh(np.cov(occurring.T))
    white = directions / np.sqrt(np.maximum(variances, VARIANCE_FLOOR * variances.mean()))
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((table.shape[1], width)))
    return {"weight": weight, "centre": occurring.mean(axis=0), "words.weight": (white @ rotation).T}


def _principal_directions(encoder: Encoder, windows: Sequence[Sequence[Item]], count: int) -> NDArray[np.float64]:
    """Return the directions in which the texts' vectors vary most, (count, hidden)."""
    total, products = np.zeros(encoder.dim), np.zeros((encoder.dim, encoder.dim))
    for window in windows:
        vectors = encoder.encode(window, format=encoder.formats[0]).astype(np.float64)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), EPSILON)
        total += vectors.sum(axis=0)
        products += vectors.T @ vectors
    number = sum(map(len, windows))
    _, directions = np.linalg.eigh(products / number - np.outer(total / number, total / number))
    return directions[:, ::-1][:, :count].T
