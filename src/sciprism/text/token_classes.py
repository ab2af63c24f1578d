"""Classify the tokens of a vocabulary: special, the start of a word, the mask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders

from sciprism.errors import InputError
from sciprism.text.tokenizer import BERT_TOKENS, ROBERTA_TOKENS

SPACE = "Ġ"
"""How byte-level vocabularies write a space; most of their words begin with it."""
WORDPIECE_PREFIX = "##"
"""What WordPiece vocabularies write before a token that does not begin a word."""


@dataclass(frozen=True, slots=True)
class TokenClasses:
    """The tokens of a vocabulary by id. special, word_starts: (V,). mask_id: of the mask token."""

    special: NDArray[np.bool_]
    word_starts: NDArray[np.bool_]
    mask_id: int

    @property
    def regular_ids(self) -> NDArray[np.int64]:
        """Return the ids of all tokens that are not special."""
        return np.flatnonzero(~self.special)


def is_byte_level(tokenizer: Tokenizer) -> bool:
    """Say whether a vocabulary is byte-level BPE, where words begin with `SPACE`."""
    return any(token.startswith(SPACE) for token in tokenizer.get_vocab())


def begins_word(token: str, *, byte_level: bool) -> bool:
    """Say whether a word begins with a token."""
    return token.startswith(SPACE) if byte_level else not token.startswith(WORDPIECE_PREFIX)


def decode_vocabulary(tokenizer: Tokenizer) -> dict[str, str]:
    """Return token -> its text, with a leading space where the token has one."""
    tokens = tokenizer.get_vocab()
    if not is_byte_level(tokenizer):
        return {token: token.removeprefix(WORDPIECE_PREFIX) for token in tokens}
    letters = decoders.ByteLevel()
    return {token: letters.decode([token]) for token in tokens}


def find_special_id(tokenizer: Tokenizer, role: str) -> int | None:
    """Return the id of a role's token (`mask_token`, `pad_token` ...) as BERT or RoBERTa name it, or None."""
    numbers = (tokenizer.token_to_id(names[role]) for names in (BERT_TOKENS, ROBERTA_TOKENS))
    return next((number for number in numbers if number is not None), None)


def classify_tokens(tokenizer: Tokenizer) -> TokenClasses:
    """Return the classes of a vocabulary's tokens; raises InputError for one without a mask token."""
    tokens = tokenizer.get_vocab(with_added_tokens=True)
    added = tokenizer.get_added_tokens_decoder()
    size = 1 + max(tokens.values())
    special, word_starts = np.zeros(size, bool), np.zeros(size, bool)
    special[[number for number, token in added.items() if token.special]] = True
    byte_level = is_byte_level(tokenizer)
    word_starts[list(tokens.values())] = [begins_word(token, byte_level=byte_level) for token in tokens]
    mask_id = find_special_id(tokenizer, "mask_token")
    if mask_id is None:
        raise InputError("the vocabulary has no mask token: neither [MASK] nor <mask>")
    return TokenClasses(special, word_starts, mask_id)
