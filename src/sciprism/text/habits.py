"""What a tokenizer does, told by its vocabulary and by how it cuts a few telling texts."""

from __future__ import annotations

import hashlib
import json

from tokenizers import Tokenizer

PROBES = (
    "",
    "The Schrödinger equation, E = mc² and β-decay: naïve café",
    "DNA dna Dna don't U.S. 3.14 1e-5 [SEP] </s> <mask>",
    "量子力学 και φως العربية 🔬 e\u0301",
    "  tabs\tand\nlines   and soft\u00adhyphens  ",
)


def vocabulary_and_habits(tokenizer: Tokenizer) -> list[object]:
    """Return the vocabulary and the token ids of the probe texts.

    The tokenizer's own JSON says the same, but gains fields from release to release of `tokenizers`.
    """
    vocabulary = sorted(tokenizer.get_vocab(with_added_tokens=True).items())
    return [vocabulary, [tokenizer.encode(text).ids for text in PROBES]]


def tokenizer_key(tokenizer: Tokenizer) -> str:
    """Return a hash of what a tokenizer does: equal for equal vocabularies that cut texts alike."""
    content = json.dumps(vocabulary_and_habits(_uncut(tokenizer)), ensure_ascii=True)
    return hashlib.sha256(content.encode("ascii")).hexdigest()


def _uncut(tokenizer: Tokenizer) -> Tokenizer:
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_truncation()
    return copy
