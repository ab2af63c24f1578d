"""Learn a vocabulary from texts: byte-level BPE, special tokens and ids as RoBERTa's (INDUS, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.text.tokenizer import ROBERTA_TOKENS

SIZE = 50_265
"""Tokens of IndusBPE, and of RoBERTa."""
FIRST = ("<s>", "<pad>", "</s>", "<unk>")
MASK = "<mask>"
BYTES = 256


def learn_vocabulary(
    texts: Iterable[str], *, size: int = SIZE, lower: bool = True, least: int = 2, prefix_space: bool = False
) -> Tokenizer:
    """Return a tokenizer whose vocabulary the texts gave.

    size: tokens, fewer where the texts have not so many; `<s>`, `<pad>`, `</s>`, `<unk>` are the first four,
    `<mask>` the last, as in RoBERTa. lower: of letters, before anything else. least: how often two parts must
    stand together to become one. prefix_space: a text begins as if a space stood before it, which words that
    were split beforehand want. Raises InputError for a size without room for the bytes, and for no text.
    """
    room = len(FIRST) + 1 + BYTES
    if size < room or least < 1:
        raise InputError(f"size {size}, least {least}: at least {room} tokens and 1 occurrence are needed")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Lowercase() if lower else None
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    given = (text for text in texts if text.strip())
    first = next(given, None)
    if first is None:
        raise InputError("no text to learn a vocabulary from")
    tokenizer.train_from_iterator(
        chain([first], given),
        trainers.BpeTrainer(
            vocab_size=size - 1,
            min_frequency=least,
            special_tokens=list(FIRST),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.add_special_tokens([AddedToken(MASK, lstrip=True, special=True)])
    begin, end = FIRST[0], FIRST[2]
    tokenizer.post_processor = processors.RobertaProcessing(
        (end, FIRST.index(end)), (begin, FIRST.index(begin)), add_prefix_space=prefix_space
    )
    return tokenizer


def save_vocabulary(tokenizer: Tokenizer, folder: Path, *, max_length: int = 512) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json`, which also transformers opens.

    max_length: of a text in tokens; INDUS's own files leave it open and break beyond 512.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    ends = {"bos_token": FIRST[0], "eos_token": FIRST[2]}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_length, **ends}
    write_json(folder / "tokenizer_config.json", config | ROBERTA_TOKENS)
