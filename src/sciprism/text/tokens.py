"""Put tokenizers beside each other: tokens per text and word, words kept whole, vocabularies shared."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from sciprism.errors import InputError
from sciprism.text.tokenizer import read_tokenizer
from sciprism.text.words import begins_word, is_byte_level, written

BATCH = 1000


@dataclass(slots=True)
class Counts:
    """What a tokenizer makes of the texts of a domain; special tokens do not count."""

    texts: int = 0
    words: int = 0
    tokens: int = 0

    @property
    def fertility(self) -> float:
        """Return tokens per word, words parted by white space."""
        return self.tokens / self.words if self.words else 0.0


@dataclass(frozen=True, slots=True)
class Compared:
    """Tokenizers by name on domains by name.

    counts: (tokenizer, domain) -> what it makes of it. whole: tokenizer -> share of the terms that are one
    token. sizes: tokens of each vocabulary; shared: (one, other) -> tokens in both, which are the same text
    at the same place, the beginning of a word or not. splits: (tokenizer, sentence) -> its parts.
    """

    counts: dict[tuple[str, str], Counts] = field(default_factory=dict)
    whole: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    shared: dict[tuple[str, str], int] = field(default_factory=dict)
    splits: dict[tuple[str, str], list[str]] = field(default_factory=dict)


def compare_tokenizers(
    tokenizers: Mapping[str, Tokenizer],
    domains: Mapping[str, Iterable[str]],
    *,
    terms: Sequence[str] = (),
    sentences: Sequence[str] = (),
    lower: bool = False,
) -> Compared:
    """Count tokens of the same texts for each tokenizer. Texts are taken once, and not kept.

    terms: whole where one token says them, at the beginning of a text or behind a space. lower: texts, terms
    and sentences are lower-cased for all.
    """
    found = Compared()
    for domain, texts in domains.items():
        for batch in batches(text.lower() if lower else text for text in texts):
            words = sum(len(text.split()) for text in batch)
            for name, tokenizer in tokenizers.items():
                mine = found.counts.setdefault((name, domain), Counts())
                mine.texts += len(batch)
                mine.words += words
                mine.tokens += sum(map(len, token_ids(tokenizer, batch)))
    vocabularies = {name: _meant(tokenizer) for name, tokenizer in tokenizers.items()}
    for name, tokenizer in tokenizers.items():
        found.sizes[name] = tokenizer.get_vocab_size()
        shown = [term.lower() if lower else term for term in terms]
        ids = zip(
            token_ids(tokenizer, shown), token_ids(tokenizer, [f" {term}" for term in shown]), strict=True
        )
        found.whole[name] = sum(min(map(len, both)) == 1 for both in ids) / max(1, len(shown))
        for other in tokenizers:
            found.shared[name, other] = len(vocabularies[name] & vocabularies[other])
        for sentence in sentences:
            found.splits[name, sentence] = parts_of(tokenizer, sentence.lower() if lower else sentence)
    return found


def _meant(tokenizer: Tokenizer) -> set[tuple[bool, str]]:
    """Return what the tokens of a vocabulary mean: whether a word begins with them, and their text."""
    byte_level = is_byte_level(tokenizer)
    return {
        (begins_word(token, byte_level=byte_level), token if "\ufffd" in text else text.removeprefix(" "))
        for token, text in written(tokenizer).items()
    }


def parts_of(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return the parts of a text that its tokens stand for, without special tokens."""
    encoded = tokenizer.encode(text, add_special_tokens=False)
    return [text[start:end].strip() or text[start:end] for start, end in encoded.offsets]


def open_tokenizer(path: Path) -> Tokenizer:
    """Open the tokenizer of a model folder, a `tokenizer.json`, or a vocabulary in tiktoken's format."""
    if path.is_dir():
        return read_tokenizer(path)[0]
    if not path.is_file():
        raise InputError(f"{path}: not there; name a model folder, a tokenizer.json or a .tiktoken file")
    if path.suffix == ".tiktoken":
        return _of_ranks(path)
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # `tokenizers` raises nothing narrower for a bad file
        raise InputError(f"{path}: the tokenizer cannot be read: {error}") from error


def _of_ranks(path: Path) -> Tokenizer:
    """Return the byte-level BPE of lines "token in base64, rank": GPT-2's, whose tokens RoBERTa has too."""
    try:
        pairs = (line.split() for line in path.read_text(encoding="ascii").splitlines() if line)
        ranks = {base64.b64decode(token, validate=True): int(rank) for token, rank in pairs}
    except ValueError as error:
        raise InputError(f"{path}: not lines of a token in base64 and a rank ({error})") from error
    letters = _letters()
    shown = {token: "".join(letters[byte] for byte in token) for token in ranks}
    merges = [_parts(token, ranks) for token in sorted(ranks, key=ranks.__getitem__) if len(token) > 1]
    vocabulary = {shown[token]: rank for token, rank in ranks.items()}
    tokenizer = Tokenizer(models.BPE(vocabulary, [(shown[one], shown[other]) for one, other in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _parts(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes]:
    """Return the two tokens that were joined to this one: merge its bytes by all ranks below its own."""
    parts = [bytes([byte]) for byte in token]
    while len(parts) > 2:
        joined = [(ranks.get(one + other, len(ranks)), at) for at, (one, other) in enumerate(pairwise(parts))]
        rank, at = min(joined)
        if rank >= ranks[token]:
            raise InputError(f"the token {token!r} is not made of two others")
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts[0], parts[1]


def _letters() -> dict[int, str]:
    """Return the letter that stands for each byte in byte-level vocabularies (GPT-2)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + n) for n, byte in enumerate(others)}


def token_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Return the ids of each text's tokens without special ones."""
    return [each.ids for each in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


def batches(texts: Iterable[str]) -> Iterable[list[str]]:
    """Yield the texts some at a time."""
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
