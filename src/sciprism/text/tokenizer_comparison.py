"""Compare tokenizers: tokens per text and word, terms kept whole, shared vocabularies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tokenizers import Tokenizer

from sciprism.text.token_classes import begins_word, decode_vocabulary, is_byte_level
from sciprism.text.tokenizer import batch_texts, encode_texts


@dataclass(slots=True)
class TokenCounts:
    """Counts of one tokenizer on the texts of one domain, without special tokens."""

    texts: int = 0
    words: int = 0
    tokens: int = 0

    @property
    def fertility(self) -> float:
        """Return tokens per word; words are separated by white space."""
        return self.tokens / self.words if self.words else 0.0


@dataclass(frozen=True, slots=True)
class TokenizerComparison:
    """Tokenizers by name, compared on domains by name.

    counts: (tokenizer, domain) -> counts. whole_terms: tokenizer -> share of the terms that are one token.
    vocab_sizes: tokenizer -> tokens. shared_tokens: (one, other) -> tokens in both, of the same text, both at
    the start of a word or both not. splits: (tokenizer, sentence) -> text of each token.
    """

    counts: dict[tuple[str, str], TokenCounts] = field(default_factory=dict)
    whole_terms: dict[str, float] = field(default_factory=dict)
    vocab_sizes: dict[str, int] = field(default_factory=dict)
    shared_tokens: dict[tuple[str, str], int] = field(default_factory=dict)
    splits: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return of each tokenizer what is known of it, as JSON values."""
        return {
            name: {
                "size": size,
                "terms_whole": self.whole_terms.get(name),
                "domains": {domain: asdict(each) for (mine, domain), each in self.counts.items() if mine == name},
                "shared_tokens": {other: n for (mine, other), n in self.shared_tokens.items() if mine == name},
                "splits": {text: parts for (mine, text), parts in self.splits.items() if mine == name},
            }
            for name, size in self.vocab_sizes.items()
        }


def compare_tokenizers(
    tokenizers: Mapping[str, Tokenizer],
    domains: Mapping[str, Iterable[str]],
    *,
    terms: Sequence[str] = (),
    sentences: Sequence[str] = (),
    lowercase: bool = False,
) -> TokenizerComparison:
    """Count tokens of the same texts for each tokenizer; texts are read once.

    terms: whole if they are one token at the start of a text or after a space. lowercase: of texts, terms and
    sentences, for all tokenizers.
    """
    fold = str.lower if lowercase else str
    found = TokenizerComparison()
    for domain, texts in domains.items():
        for batch in batch_texts(map(fold, texts)):
            words = sum(len(text.split()) for text in batch)
            for name, tokenizer in tokenizers.items():
                counts = found.counts.setdefault((name, domain), TokenCounts())
                counts.texts += len(batch)
                counts.words += words
                counts.tokens += sum(map(len, encode_texts(tokenizer, batch)))
    vocabularies = {name: _token_meanings(tokenizer) for name, tokenizer in tokenizers.items()}
    for name, tokenizer in tokenizers.items():
        found.vocab_sizes[name] = tokenizer.get_vocab_size()
        bare = encode_texts(tokenizer, [fold(term) for term in terms])
        spaced = encode_texts(tokenizer, [f" {fold(term)}" for term in terms])
        whole = sum(min(map(len, both)) == 1 for both in zip(bare, spaced, strict=True))
        found.whole_terms[name] = whole / max(1, len(terms))
        for other in tokenizers:
            found.shared_tokens[name, other] = len(vocabularies[name] & vocabularies[other])
        for sentence in sentences:
            found.splits[name, sentence] = split_into_tokens(tokenizer, fold(sentence))
    return found


def _token_meanings(tokenizer: Tokenizer) -> set[tuple[bool, str]]:
    """Return of each token whether a word begins with it, and its text."""
    byte_level = is_byte_level(tokenizer)
    return {
        (begins_word(token, byte_level=byte_level), token if "\ufffd" in text else text.removeprefix(" "))
        for token, text in decode_vocabulary(tokenizer).items()
    }


def split_into_tokens(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return the part of a text that each token covers, without special tokens."""
    encoded = tokenizer.encode(text, add_special_tokens=False)
    return [text[start:end].strip() or text[start:end] for start, end in encoded.offsets]
