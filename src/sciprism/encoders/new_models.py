"""Create models of any architecture over any vocabulary, with random weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.initialization import initialize_linears
from sciprism.encoders.methods.registry import PLAIN, Method, build_method
from sciprism.encoders.settings import EncoderSettings
from sciprism.encoders.transformer import Transformer, TransformerConfig
from sciprism.errors import InputError
from sciprism.text.template import Template
from sciprism.text.token_classes import find_special_id
from sciprism.text.tokenizer import open_tokenizer

WeightInitializer = Callable[[Transformer, Tokenizer], None]
"""Replaces the random weights of a plain model with this vocabulary."""
ROBERTA_CLS = "<s>"
"""The first token of vocabularies whose models leave the position rows up to the padding id unused."""


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
    config = build_config(architecture, vocabulary)
    chosen = build_method(method, options or {})
    model = _build_transformer(config, chosen, vocabulary, initializer, seed)
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


def _build_transformer(
    config: TransformerConfig,
    method: Method,
    vocabulary: Tokenizer,
    initializer: WeightInitializer | None,
    seed: int,
) -> Transformer:
    """Return a transformer whose random weights the seed decides."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Transformer(config)
        initialize_linears(model)
        if initializer is not None:
            initializer(model, vocabulary)
        method.fill(model)
        method.initialize(model, vocabulary.encode("").ids[0])
    return model


def build_config(architecture: Mapping[str, Any], tokenizer: Tokenizer) -> TransformerConfig:
    """Add the fields that a vocabulary decides: its size, its padding id, the first position."""
    padding = find_special_id(tokenizer, "pad_token") or 0
    first = padding + 1 if tokenizer.token_to_id(ROBERTA_CLS) is not None else 0
    size = 1 + max(tokenizer.get_vocab(with_added_tokens=True).values())
    try:
        return TransformerConfig(vocabulary=size, padding_id=padding, first_position=first, **architecture)
    except TypeError as error:
        raise InputError(f"architecture: {error}") from error
