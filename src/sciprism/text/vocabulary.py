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

VOCAB_SIZE = 50_265
"""Tokens of IndusBPE, and of RoBERTa."""
FIRST_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")
MASK_TOKEN = "<mask>"
BYTE_TOKENS = 256


def learn_vocabulary(
    texts: Iterable[str], *, vocab_size: int = VOCAB_SIZE, lowercase: bool = True, min_frequency: int = 2
) -> Tokenizer:
    """Return a tokenizer whose vocabulary is learned from the texts.

    vocab_size: fewer tokens where the texts have fewer; `<s>`, `<pad>`, `</s>`, `<unk>` come first, `<mask>`
    last, as in RoBERTa. lowercase: of all texts. min_frequency: of a pair of tokens that is merged. Raises
    InputError for a vocabulary smaller than the bytes, and for no text.
    """
    min_size = len(FIRST_TOKENS) + 1 + BYTE_TOKENS
    if vocab_size < min_size or min_frequency < 1:
        raise InputError(
            f"a vocabulary of {vocab_size} tokens, each from {min_frequency} occurrences; "
            f"at least {min_size} tokens and 1 occurrence are needed"
        )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Lowercase() if lowercase else None
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    nonempty = (text for text in texts if text.strip())
    first = next(nonempty, None)
    if first is None:
        raise InputError("no text to learn a vocabulary from")
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - 1,
        min_frequency=min_frequency,
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

    max_length: tokens of a text; INDUS's files lack it, and their model fails beyond 512.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    ends = {"bos_token": FIRST_TOKENS[0], "eos_token": FIRST_TOKENS[2]}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_length, **ends}
    write_json(folder / "tokenizer_config.json", config | ROBERTA_TOKENS)
