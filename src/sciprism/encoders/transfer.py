"""Begin a model with parts of another one: its embeddings, also for other words, and some of its layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from tokenizers import Tokenizer
from torch import Tensor

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.lexical import Lexical
from sciprism.encoders.transformer import Transformer, TransformerConfig
from sciprism.errors import InputError
from sciprism.text.tokenizer import ROBERTA_TOKENS
from sciprism.text.words import INNER, special_id, words_of, written


def copy_parts(ours: Transformer, tokenizer: Tokenizer, other: Encoder, layers: Sequence[int]) -> None:
    """Give a plain model another one's embeddings, and of its layers these, counted from 1, as its own.

    Where vocabularies differ, a token gets the mean of the other's embeddings of its letters. Where layers
    are narrower inside, they keep the strongest inner units. InputError where other widths differ, or there
    are not as many layers.
    """
    theirs = other.model
    mine, given = ours.config, theirs.config
    like = (mine.hidden, mine.heads) == (given.hidden, given.heads)
    like = like and mine.intermediate <= given.intermediate
    if not like or len(layers) != mine.layers or not all(1 <= n <= given.layers for n in layers):
        raise InputError(
            f"shape: {_told(mine)} cannot be copies of the layers {', '.join(map(str, layers)) or '(none)'} "
            f"of {other.name}, which has {_told(given)}"
        )
    with torch.no_grad():
        for own, number in zip(ours.blocks, layers, strict=True):
            own.load_state_dict(_narrowed(theirs.blocks[number - 1].state_dict(), mine.intermediate))
        ours.embeddings.norm.load_state_dict(theirs.embeddings.norm.state_dict())
        _copy_rows(ours.embeddings.segment.weight, theirs.embeddings.segment.weight)
        _copy_rows(
            ours.embeddings.position.weight[mine.first_position :],
            theirs.embeddings.position.weight[given.first_position :],
        )
        same = _vocabulary(tokenizer) == _vocabulary(other.tokenizer)
        if ours.lexical is not None:
            _copy_lexical(ours.lexical, mine.lexical, other, same_words=same)
        table = theirs.embeddings.word.weight
        words = table if same else _words(tokenizer, other.tokenizer, table)
        _copy_rows(ours.embeddings.word.weight, words)


def _copy_lexical(ours: Lexical, width: int, other: Encoder, *, same_words: bool) -> None:
    """Take the lexical part, as wide, of a model with the same words."""
    theirs, given = other.model.lexical, other.model.config.lexical
    if theirs is None or given != width:
        raise InputError(f"shape: lexical is {width}; {other.name} has {given}")
    if not same_words:
        raise InputError(f"shape: lexical is {width}; {other.name} has other words")
    ours.load_state_dict(theirs.state_dict())


def _vocabulary(tokenizer: Tokenizer) -> dict[str, int]:
    return tokenizer.get_vocab(with_added_tokens=True)


def _narrowed(state: Mapping[str, Tensor], count: int) -> dict[str, Tensor]:
    """Return a block with so many of its inner units: those of the largest weights in times weights out."""
    inner, outer = "feed_forward.expand.weight", "feed_forward.contract.weight"
    strength = state[inner].norm(dim=1) * state[outer].norm(dim=0)
    kept = strength.topk(count).indices.sort().values
    bias = "feed_forward.expand.bias"
    return dict(state) | {inner: state[inner][kept], bias: state[bias][kept], outer: state[outer][:, kept]}


def _told(config: TransformerConfig) -> str:
    width = f"{config.hidden} wide, {config.intermediate} inside, {config.heads} heads"
    return f"{config.layers} layers ({width})"


def _copy_rows(ours: Tensor, theirs: Tensor) -> None:
    count = min(len(ours), len(theirs))
    ours[:count] = theirs[:count]


def _words(tokenizer: Tokenizer, other: Tokenizer, table: Tensor) -> Tensor:
    """Return a row for each token of a vocabulary, out of the table of another one."""
    tokens, inner = _vocabulary(tokenizer), other.get_vocab()
    rows = table.mean(dim=0).repeat(1 + max(tokens.values()), 1)
    words = words_of(tokenizer)
    said = written(tokenizer)
    plain = [(said[t], n) for t, n in tokens.items() if not words.special[n]]
    found = other.encode_batch_fast([text.strip() for text, _ in plain], add_special_tokens=False)
    for (text, number), part in zip(plain, found, strict=True):
        piece = None if words.starts[number] else inner.get(f"{INNER}{text}")
        ids = part.ids if piece is None else [piece]
        if ids:
            rows[number] = table[ids].mean(dim=0)
    for role in ROBERTA_TOKENS:
        own, theirs = special_id(tokenizer, role), special_id(other, role)
        if own is not None and theirs is not None:
            rows[own] = table[theirs]
    return rows
