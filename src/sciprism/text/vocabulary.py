"""Vocabularies: learn one, classify its tokens, compare several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from sciprism.errors import InputError
from sciprism.files import write_atomically, write_json
from sciprism.text.tokenizer import BERT_TOKENS, ROBERTA_TOKENS, batch_texts, encode_texts

VOCAB_SIZE = 50_265  # tokens of IndusBPE, and of RoBERTa
FIRST_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")
MASK_TOKEN = "<mask>"
BYTE_TOKENS = 256
SPACE = "Ġ"  # how byte-level vocabularies write a space; most of their words begin with it
WORDPIECE_PREFIX = "##"
"""What WordPiece vocabularies write before a token that does not begin a word."""


def learn_vocabulary(texts: Iterable[str], *, vocab_size: int = VOCAB_SIZE) -> Tokenizer:
    """Return a tokenizer of byte-level BPE that is learned from the texts, as INDUS does.

    vocab_size: fewer tokens where the texts have fewer; `<s>`, `<pad>`, `</s>`, `<unk>` come first, `<mask>`
    last, as in RoBERTa. All texts are in lower case. Raises InputError for a vocabulary smaller than the bytes, and for
    no text.
    """
    min_size = len(FIRST_TOKENS) + 1 + BYTE_TOKENS
    if vocab_size < min_size:
        raise InputError(f"a vocabulary of {vocab_size} tokens; at least {min_size} are needed")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    nonempty = (text for text in texts if text.strip())
    first = next(nonempty, None)
    if first is None:
        raise InputError("no text to learn a vocabulary from")
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - 1,
        min_frequency=2,  # of a pair of tokens that is merged
        special_tokens=list(FIRST_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(chain([first], nonempty), trainer)
    tokenizer.add_special_tokens([AddedToken(MASK_TOKEN, lstrip=True, special=True)])
    begin, _, end, _ = ((token, number) for number, token in enumerate(FIRST_TOKENS))
    tokenizer.post_processor = processors.RobertaProcessing(end, begin, add_prefix_space=False)
    return tokenizer


def save_vocabulary(tokenizer: Tokenizer, folder: Path, *, max_length: int = 512) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json`, which transformers opens too.

    max_length: tokens of a text; INDUS's files lack it, and their model fails beyond 512. Raises InputError for a
    folder of other things, such as a model.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if others := sorted({path.name for path in folder.iterdir()} - {"tokenizer.json", "tokenizer_config.json"}):
        raise InputError(f"{folder} holds {others[0]}, and is not a folder of a tokenizer alone; name another folder")
    write_tokenizer(tokenizer, folder)
    ends = {"bos_token": FIRST_TOKENS[0], "eos_token": FIRST_TOKENS[2]}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_length, **ends}
    write_json(folder / "tokenizer_config.json", config | ROBERTA_TOKENS)


def write_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write `tokenizer.json` into a folder, atomically."""
    write_atomically(folder / "tokenizer.json", lambda file: file.write(tokenizer.to_str(pretty=True).encode()))


# ---- the classes of tokens ----


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


# ---- comparison ----


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


@dataclass(slots=True)
class TokenizerReport:
    """A tokenizer, compared with others.

    size: number of its tokens. domains: name -> counts. shared_tokens: other tokenizer -> number of tokens in both, of
    the same text, both at the start of a word or both not.
    """

    size: int
    domains: dict[str, TokenCounts]
    shared_tokens: dict[str, int]


def compare_tokenizers(
    tokenizers: Mapping[str, Tokenizer], domains: Mapping[str, Iterable[str]]
) -> dict[str, TokenizerReport]:
    """Return name -> report of each tokenizer, on the same texts, which are read once. domains: name -> texts."""
    counts = {name: {domain: TokenCounts() for domain in domains} for name in tokenizers}
    for domain, texts in domains.items():
        for batch in batch_texts(texts):
            words = sum(len(text.split()) for text in batch)
            for name, tokenizer in tokenizers.items():
                found = counts[name][domain]
                found.texts, found.words = found.texts + len(batch), found.words + words
                found.tokens += sum(map(len, encode_texts(tokenizer, batch)))
    vocabularies = {name: _token_meanings(tokenizer) for name, tokenizer in tokenizers.items()}
    return {
        name: TokenizerReport(
            size=tokenizer.get_vocab_size(),
            domains=counts[name],
            shared_tokens={other: len(vocabularies[name] & vocabularies[other]) for other in tokenizers},
        )
        for name, tokenizer in tokenizers.items()
    }


def _token_meanings(tokenizer: Tokenizer) -> set[tuple[bool, str]]:
    """Return of each token whether a word begins with it, and its text."""
    byte_level = is_byte_level(tokenizer)
    return {
        (begins_word(token, byte_level=byte_level), token if "\ufffd" in text else text.removeprefix(" "))
        for token, text in decode_vocabulary(tokenizer).items()
    }
