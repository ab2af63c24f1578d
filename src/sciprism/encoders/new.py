"""New models: of any shape over any vocabulary, with random weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods.registry import Method, make
from sciprism.encoders.settings import Settings
from sciprism.encoders.starts import start_maps
from sciprism.encoders.transformer import Transformer, TransformerConfig
from sciprism.errors import InputError
from sciprism.text.template import Template
from sciprism.text.tokens import open_tokenizer
from sciprism.text.words import special_id

Begin = Callable[[Transformer, Tokenizer], None]
"""Gives a plain model, and its vocabulary, other weights than random ones."""
ROBERTA = "<s>"
"""The first token of vocabularies whose models keep position rows free up to the padding's id."""


def new_encoder(
    shape: Mapping[str, Any],
    tokenizer: Path,
    *,
    method: str = "single",
    options: Mapping[str, Any] | None = None,
    pooling: str = "mean",
    max_length: int | None = None,
    template: Mapping[str, Any] | None = None,
    seed: int = 0,
    begin: Begin | None = None,
    device: str | None = None,
    **settings: Any,
) -> Encoder:
    """Return an encoder with random weights (BERT's start), or what `begin` makes of the plain model.

    shape: fields of TransformerConfig besides those that the vocabulary decides. tokenizer: a model folder or
    a tokenizer.json. begin: called before the method fills its slots, which copy from the layers. settings:
    others of `Settings`. InputError where they do not fit each other.
    """
    vocabulary = open_tokenizer(tokenizer)
    vocabulary.no_truncation()
    vocabulary.no_padding()
    config = config_of(shape, vocabulary)
    chosen = make(method, options or {})
    model = _random(config, chosen, vocabulary, begin, seed)
    length = config.max_length if max_length is None else max_length
    if length > config.max_length:
        raise InputError(f"max length {length}, but the shape has positions for {config.max_length} tokens")
    made = Settings(
        method=method,
        options=options or {},
        pooling=chosen.pooling or pooling,
        max_length=length,
        template=Template(**(template or {})),
        **{key: value for key, value in settings.items() if value is not None},
    )
    return Encoder(model, vocabulary, made, name="new", device=device)


def _random(
    config: TransformerConfig, method: Method, vocabulary: Tokenizer, begin: Begin | None, seed: int
) -> Transformer:
    """Return a transformer as a seed draws it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Transformer(config)
        start_maps(model)
        if begin is not None:
            begin(model, vocabulary)
        method.fill(model)
        method.begin(model, vocabulary.encode("").ids[0])
    return model


def config_of(shape: Mapping[str, Any], tokenizer: Tokenizer) -> TransformerConfig:
    """Return a shape with what a vocabulary decides: its size, its padding, where positions begin."""
    padding = special_id(tokenizer, "pad_token") or 0
    first = padding + 1 if tokenizer.token_to_id(ROBERTA) is not None else 0
    size = 1 + max(tokenizer.get_vocab(with_added_tokens=True).values())
    try:
        return TransformerConfig(vocabulary=size, padding_id=padding, first_position=first, **shape)
    except TypeError as error:
        raise InputError(f"shape: {error}") from error
