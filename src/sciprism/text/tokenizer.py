"""Read a model folder's tokenizer, in whichever of the public layouts it comes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from sciprism.errors import InputError

BERT_TOKENS = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}
ROBERTA_TOKENS = {
    "unk_token": "<unk>",
    "sep_token": "</s>",
    "pad_token": "<pad>",
    "cls_token": "<s>",
    "mask_token": "<mask>",
}


def read_tokenizer(folder: Path) -> tuple[Tokenizer, dict[str, str]]:
    """Return the tokenizer, without truncation or padding, and its special tokens by role.

    `tokenizer.json` goes first; else one is built from `vocab.txt` (WordPiece: SciBERT, PubMedBERT,
    SPECTER ship only that) or from `vocab.json` and `merges.txt` (byte-level BPE), with the settings of
    `tokenizer_config.json`. The roles are cls_token, sep_token, pad_token, unk_token, mask_token.
    """
    config = read_json(folder / "tokenizer_config.json", missing={})
    byte_level = (folder / "merges.txt").exists()
    special = dict(ROBERTA_TOKENS if byte_level else BERT_TOKENS)
    given = read_json(folder / "special_tokens_map.json", missing={})
    try:
        for source in (given, config):
            special.update({k: _content(source[k]) for k in special if source.get(k)})
        if (folder / "tokenizer.json").exists():
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            special = _known(tokenizer, special)
        elif (folder / "vocab.txt").exists():
            tokenizer = _wordpiece(folder, config, special)
            _add_tokens(folder, tokenizer, config)
        elif byte_level and (folder / "vocab.json").exists():
            tokenizer = _byte_level(folder, config, special)
            _add_tokens(folder, tokenizer, config)
        else:
            raise InputError(f"{folder}: no tokenizer.json, vocab.txt or vocab.json with merges.txt")
    except InputError:
        raise
    except Exception as error:  # `tokenizers` raises nothing narrower for a bad file
        raise InputError(f"{folder}: the tokenizer cannot be read: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, special


def read_json(path: Path, missing: Any = None, kind: type = dict) -> Any:
    """Read a JSON file of a model folder that holds a `kind`; `missing`, unless None, stands for no file."""
    if not path.exists():
        if missing is None:
            raise InputError(f"{path.parent}: there is no {path.name}")
        return missing
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(value, kind):
        raise InputError(f"{path}: holds a {type(value).__name__}, expected a {kind.__name__}")
    return value


def _content(token: Any) -> str:
    return token["content"] if isinstance(token, dict) else str(token)


def _known(tokenizer: Tokenizer, special: dict[str, str]) -> dict[str, str]:
    """Keep the roles whose token exists; a tokenizer.json may follow either convention."""
    found = {}
    for role, token in special.items():
        for candidate in (token, BERT_TOKENS[role], ROBERTA_TOKENS[role]):
            if tokenizer.token_to_id(candidate) is not None:
                found[role] = candidate
                break
    return found


def _wordpiece(folder: Path, config: dict[str, Any], special: dict[str, str]) -> Tokenizer:
    vocabulary = models.WordPiece.read_file(str(folder / "vocab.txt"))
    tokenizer = Tokenizer(
        models.WordPiece(vocabulary, unk_token=special["unk_token"], max_input_chars_per_word=100)
    )
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=config.get("tokenize_chinese_chars", True),
        strip_accents=config.get("strip_accents"),
        lowercase=config.get("do_lower_case", True),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    cls, sep = special["cls_token"], special["sep_token"]
    _require(folder, vocabulary, special.values())
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, vocabulary[cls]), (sep, vocabulary[sep])],
    )
    tokenizer.add_special_tokens(list(special.values()))
    return tokenizer


def _byte_level(folder: Path, config: dict[str, Any], special: dict[str, str]) -> Tokenizer:
    vocabulary, merges = models.BPE.read_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    prefix_space = config.get("add_prefix_space", False)
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    cls, sep = special["cls_token"], special["sep_token"]
    _require(folder, vocabulary, special.values())
    tokenizer.post_processor = processors.RobertaProcessing(
        (sep, vocabulary[sep]), (cls, vocabulary[cls]), add_prefix_space=prefix_space
    )
    mask = special["mask_token"]
    plain = [token for token in special.values() if token != mask]
    tokenizer.add_special_tokens([*plain, AddedToken(mask, lstrip=True, special=True)])
    return tokenizer


def _add_tokens(folder: Path, tokenizer: Tokenizer, config: dict[str, Any]) -> None:
    """Add the tokens that a folder names beside its vocabulary, under the ids that it gives them."""
    listed = config.get("added_tokens_decoder") or {}
    tokens = {int(number): AddedToken(**row) for number, row in listed.items()}
    if not tokens:
        names = read_json(folder / "added_tokens.json", missing={})
        tokens = {number: AddedToken(name, normalized=False) for name, number in names.items()}
    for number, token in sorted(tokens.items()):
        if tokenizer.token_to_id(token.content) is None:
            tokenizer.add_tokens([token])
        if tokenizer.token_to_id(token.content) != number:
            raise InputError(f"{folder}: the added token {token.content!r} cannot have the id {number}")


def _require(folder: Path, vocabulary: dict[str, int], tokens: Any) -> None:
    lacking = [token for token in tokens if token not in vocabulary]
    if lacking:
        raise InputError(f"{folder}: the vocabulary lacks the special tokens {', '.join(lacking)}")
