"""Hash a tokenizer by its vocabulary and by the token ids of a few probe texts."""

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


def describe_tokenizer(tokenizer: Tokenizer) -> list[object]:
    """Return the vocabulary and the token ids of the probe texts: the input of fingerprints.

    The tokenizer's own JSON is no input: it gains fields from release to release of `tokenizers`.
    """
    vocabulary = sorted(tokenizer.get_vocab(with_added_tokens=True).items())
    return [vocabulary, [tokenizer.encode(text).ids for text in PROBES]]


def fingerprint_tokenizer(tokenizer: Tokenizer) -> str:
    """Return a hash of a tokenizer: equal for equal vocabularies that tokenize texts alike."""
    untruncated = Tokenizer.from_str(tokenizer.to_str())
    untruncated.no_truncation()
    content = json.dumps(describe_tokenizer(untruncated), ensure_ascii=True)
    return hashlib.sha256(content.encode("ascii")).hexdigest()
