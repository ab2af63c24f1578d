"""What a vocabulary's tokens are: special, the beginning of a word, or the mask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders

from sciprism.errors import InputError
from sciprism.text.tokenizer import BERT_TOKENS, ROBERTA_TOKENS

SPACE = "Ġ"
"""What byte-level vocabularies write for a space, with which most of their words begin."""
INNER = "##"
"""What WordPiece vocabularies write in front of a piece that begins no word."""


@dataclass(frozen=True, slots=True)
class Words:
    """The tokens of a vocabulary by id. special, starts: (V,), the latter where a word begins."""

    special: NDArray[np.bool_]
    starts: NDArray[np.bool_]
    mask: int

    @property
    def plain(self) -> NDArray[np.int64]:
        """Return the ids of all tokens that are not special."""
        return np.flatnonzero(~self.special)


def is_byte_level(tokenizer: Tokenizer) -> bool:
    """Say whether a vocabulary is one of byte-level BPE, whose words begin with a letter for the space."""
    return any(token.startswith(SPACE) for token in tokenizer.get_vocab())


def begins_word(token: str, *, byte_level: bool) -> bool:
    """Say whether a word begins with a token."""
    return token.startswith(SPACE) if byte_level else not token.startswith(INNER)


def written(tokenizer: Tokenizer) -> dict[str, str]:
    """Return what each token stands for in a text, with the space in front where it has one."""
    tokens = tokenizer.get_vocab()
    if not is_byte_level(tokenizer):
        return {token: token.removeprefix(INNER) for token in tokens}
    letters = decoders.ByteLevel()
    return {token: letters.decode([token]) for token in tokens}


def special_id(tokenizer: Tokenizer, role: str) -> int | None:
    """Return the id of a role's token (`mask_token`, `pad_token` ...) by the names of BERT and RoBERTa."""
    for names in (BERT_TOKENS, ROBERTA_TOKENS):
        number = tokenizer.token_to_id(names[role])
        if number is not None:
            return int(number)
    return None


def words_of(tokenizer: Tokenizer) -> Words:
    """Return what the tokens of a vocabulary are. InputError for one that has no token for a mask."""
    tokens = tokenizer.get_vocab(with_added_tokens=True)
    added = tokenizer.get_added_tokens_decoder()
    size = 1 + max(tokens.values())
    special, starts = np.zeros(size, bool), np.zeros(size, bool)
    special[[number for number, token in added.items() if token.special]] = True
    byte_level = is_byte_level(tokenizer)
    for token, number in tokens.items():
        starts[number] = begins_word(token, byte_level=byte_level)
    mask = special_id(tokenizer, "mask_token")
    if mask is None:
        raise InputError("the vocabulary has no mask: neither [MASK] nor <mask>")
    return Words(special, starts, mask)
