"""Read tokenizers, of model folders in every public layout and of single files, and hash them."""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress
from operator import not_
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Encoding, Tokenizer, models, normalizers, pre_tokenizers, processors

from sciprism.errors import InputError, ShownWarning
from sciprism.files import check_folder, describe_wrong_path
from sciprism.limits import describe_excess, limit

_ROLES = ["unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]
BERT_TOKENS = dict(zip(_ROLES, ["[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"], strict=True))
ROBERTA_TOKENS = dict(zip(_ROLES, ["<unk>", "</s>", "<pad>", "<s>", "<mask>"], strict=True))
_CONFIGS = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
TOKENIZER_FILES = (*_CONFIGS, "vocab.txt", "vocab.json", "merges.txt")
PROBES = (
    "",
    "The Schrödinger equation, E = mc² and β-decay: naïve café",
    "DNA dna Dna don't U.S. 3.14 1e-5 [SEP] </s> <mask>",
    "量子力学 και φως العربية 🔬 e\u0301",
    "  tabs\tand\nlines   and soft\u00adhyphens  ",
)
"""Texts whose token ids tell tokenizers apart."""
BATCH_CHARS = 1 << 18  # characters that are tokenized at a time
FEW = 64  # texts for which a second tokenizer is not built
START, LONG = 8, 16  # characters of a long text for each token that is read: those tried first, and the fewest
MOST = 1 << 17  # characters of a text, at most, that are looked at


def read_tokenizer(folder: Path) -> tuple[Tokenizer, dict[str, str]]:
    """Return the tokenizer, without truncation or padding, and role -> special token.

    It is read from `tokenizer.json`, else built from `vocab.txt` (WordPiece: SciBERT, PubMedBERT and SPECTER
    have only that) or from `vocab.json` and `merges.txt` (byte-level BPE), with the settings of
    `tokenizer_config.json`, which for a `BertTokenizer` decide about case and accents in any case, as in transformers;
    where `tokenizer.json` says otherwise, a warning names both. The roles are cls_token, sep_token, pad_token,
    unk_token, mask_token.
    """
    check_folder(folder, TOKENIZER_FILES)
    check_settings_files(*(folder / name for name in TOKENIZER_FILES))
    config = read_json(folder / "tokenizer_config.json", missing={})
    byte_level = (folder / "merges.txt").exists()
    special = dict(ROBERTA_TOKENS if byte_level else BERT_TOKENS)
    given = read_json(folder / "special_tokens_map.json", missing={})
    try:
        for source in (given, config):
            tokens = {role: source[role] for role in special if source.get(role)}
            special |= {k: t["content"] if isinstance(t, dict) else str(t) for k, t in tokens.items()}
        if (folder / "tokenizer.json").exists():
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            special = _find_special(tokenizer, special)
            _follow_bert_config(folder, tokenizer, config)
        elif (folder / "vocab.txt").exists():
            tokenizer = _build_wordpiece(folder, config, special)
            _add_tokens(folder, tokenizer, config)
        elif byte_level and (folder / "vocab.json").exists():
            tokenizer = _build_byte_level(folder, config, special)
            _add_tokens(folder, tokenizer, config)
        else:
            raise InputError(f"{folder}: no tokenizer.json, vocab.txt or vocab.json with merges.txt")
    except InputError:
        raise
    except Exception as error:  # `tokenizers` raises nothing narrower for a bad file
        wrong = ((name, describe_wrong_path(folder / name)) for name in TOKENIZER_FILES if (folder / name).is_file())
        reason = next((f"{name}: {what}" for name, what in wrong if what), str(error))
        raise InputError(f"{folder}: the tokenizer cannot be read: {reason}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, special


def open_tokenizer(path: Path) -> Tokenizer:
    """Open the tokenizer of a model folder, or a `tokenizer.json`."""
    if path.is_dir():
        return read_tokenizer(path)[0]
    if not path.is_file():
        raise InputError(f"{path}: no such file; name a model folder or a tokenizer.json")
    check_settings_files(path)
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # `tokenizers` raises nothing narrower for a bad file
        raise InputError(f"{path}: the tokenizer cannot be read: {error}") from error


def read_json(path: Path, missing: Any = None, kind: type = dict) -> Any:
    """Read a JSON file of a model folder that holds a `kind`; return `missing`, unless None, for no file."""
    if not path.exists():
        if missing is None:
            raise InputError(f"{path.parent}: there is no {path.name}")
        return missing
    check_settings_files(path)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = describe_wrong_path(path) or f"cannot be read as JSON: {error}"
        raise InputError(f"{path}: {reason}") from error
    if not isinstance(value, kind):
        raise InputError(f"{path}: holds a {type(value).__name__}, expected a {kind.__name__}")
    return value


def check_regular(path: Path) -> None:
    """Raise InputError for a pipe, a device or a folder in place of a model's file: it may never end."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a regular file; a model's files are read from the disk alone")


def check_settings_files(*paths: Path) -> None:
    """Raise InputError for what is not a regular file, and may never end, or is too large to be settings."""
    for path in paths:
        check_regular(path)
        if path.exists() and path.stat().st_size > limit("settings"):
            raise InputError(f"{path} holds {describe_excess('settings')}")


def _find_special(tokenizer: Tokenizer, special: dict[str, str]) -> dict[str, str]:
    """Return the roles whose token exists, under the given, BERT's or RoBERTa's name."""
    present: dict[str, str] = {}
    for role, token in special.items():
        for name in (token, BERT_TOKENS[role], ROBERTA_TOKENS[role]):
            if tokenizer.token_to_id(name) is not None:
                present.setdefault(role, name)
    return present


def _follow_bert_config(folder: Path, tokenizer: Tokenizer, config: dict[str, Any]) -> None:
    """Normalize texts as `BertTokenizer` of transformers 5 does, which reads `tokenizer_config.json` for that alone."""
    model = read_json(folder / "config.json", missing={})
    of_type = "BertTokenizer" if model.get("model_type") == "bert" else ""
    kind = config.get("tokenizer_class") or model.get("tokenizer_class") or of_type
    if str(kind).removesuffix("Fast") != "BertTokenizer" or not isinstance(tokenizer.model, models.WordPiece):
        return
    before, after = tokenizer.normalizer, _bert_normalizer(config)
    texts = [text if before is None else before.normalize_str(text) for text in PROBES]
    if texts != [after.normalize_str(text) for text in PROBES]:
        tokenizer.normalizer = after
        lower = config.get("do_lower_case", "not stated, so True")
        message = (
            f"{folder}: tokenizer.json changes case, accents or characters in another way than tokenizer_config.json, "
            f"which is followed, as in transformers (do_lower_case: {lower}); state there how it was trained"
        )
        warnings.warn(ShownWarning(message), stacklevel=3)


def _bert_normalizer(config: dict[str, Any]) -> normalizers.Normalizer:
    return normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=config.get("tokenize_chinese_chars", True),
        strip_accents=config.get("strip_accents"),
        lowercase=config.get("do_lower_case", True),
    )


def _build_wordpiece(folder: Path, config: dict[str, Any], special: dict[str, str]) -> Tokenizer:
    vocabulary = models.WordPiece.read_file(str(folder / "vocab.txt"))
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=special["unk_token"], max_input_chars_per_word=100))
    tokenizer.normalizer = _bert_normalizer(config)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    cls, sep = special["cls_token"], special["sep_token"]
    _require_tokens(folder, vocabulary, special.values())
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, vocabulary[cls]), (sep, vocabulary[sep])],
    )
    tokenizer.add_special_tokens(list(special.values()))
    return tokenizer


def _build_byte_level(folder: Path, config: dict[str, Any], special: dict[str, str]) -> Tokenizer:
    vocabulary, merges = models.BPE.read_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    prefix_space = config.get("add_prefix_space", False)
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    cls, sep = special["cls_token"], special["sep_token"]
    _require_tokens(folder, vocabulary, special.values())
    tokenizer.post_processor = processors.RobertaProcessing(
        (sep, vocabulary[sep]), (cls, vocabulary[cls]), add_prefix_space=prefix_space
    )
    mask = special["mask_token"]
    plain = [token for token in special.values() if token != mask]
    tokenizer.add_special_tokens([*plain, AddedToken(mask, lstrip=True, special=True)])
    return tokenizer


def _add_tokens(folder: Path, tokenizer: Tokenizer, config: dict[str, Any]) -> None:
    """Add the tokens that a folder lists outside its vocabulary, with the ids listed."""
    tokens = {int(n): AddedToken(**row) for n, row in (config.get("added_tokens_decoder") or {}).items()}
    if not tokens:
        names = read_json(folder / "added_tokens.json", missing={})
        tokens = {number: AddedToken(name, normalized=False) for name, number in names.items()}
    for number, token in sorted(tokens.items()):
        if tokenizer.token_to_id(token.content) is None:
            tokenizer.add_tokens([token])
        if tokenizer.token_to_id(token.content) != number:
            raise InputError(f"{folder}: the added token {token.content!r} cannot have the id {number}")


def _require_tokens(folder: Path, vocabulary: dict[str, int], tokens: Any) -> None:
    if missing_tokens := [token for token in tokens if token not in vocabulary]:
        raise InputError(f"{folder}: the vocabulary lacks the special tokens {', '.join(missing_tokens)}")


def encode_texts(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Return the token ids of each text, without special tokens."""
    return [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


def tokenize_texts(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Return the token ids of each text, special ones included, truncated. Raises InputError for half a character."""
    return [ids for ids, _ in read_tokens(tokenizer, texts)]


def read_tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> list[tuple[list[int], bool]]:
    """Return the token ids of each text, special ones included, truncated, and whether its text is longer.

    Of a long text only the beginning is tokenized. Raises InputError for half a character.
    """
    limits = tokenizer.truncation or {}
    most = LONG * limits["max_length"] if limits.get("direction") == "right" else sys.maxsize
    state = tuple(limits.items()), tokenizer.get_vocab_size()
    try:
        if long := [text for text in texts if len(text) > most]:
            beginnings = iter(_read_beginnings(tokenizer, long, limits["max_length"]))
            others = iter(read_tokens(tokenizer, [text for text in texts if len(text) <= most]))
            return [next(beginnings if len(text) > most else others) for text in texts]
        if len(texts) == 1:  # in this thread: to wake others takes longer than the text
            return _take([tokenizer.encode(texts[0])])
        if len(texts) <= FEW or (found := _build_ascii_tokenizer(tokenizer, state)) is None:
            return _take(tokenizer.encode_batch_fast(texts))
        ascii_tokenizer, first, last = found
        plain = [text.isascii() and text.isprintable() for text in texts]
        quick = iter(_take(ascii_tokenizer.encode_batch_fast(list(compress(texts, plain))), first, last))
        others = iter(_take(tokenizer.encode_batch_fast(list(compress(texts, map(not_, plain))))))
        return [next(quick if is_plain else others) for is_plain in plain]
    except TypeError as error:  # `tokenizers` raises it for a lone surrogate
        text = next(text for text in texts if any("\ud800" <= c <= "\udfff" for c in text))
        raise InputError(f"half a character (a lone surrogate) in {text!r:.80}") from error


def _take(
    encodings: Iterable[Encoding], first: Sequence[int] = (), last: Sequence[int] = ()
) -> list[tuple[list[int], bool]]:
    return [([*first, *encoding.ids, *last], bool(encoding.overflowing)) for encoding in encodings]


def _read_beginnings(tokenizer: Tokenizer, texts: Sequence[str], length: int) -> list[tuple[list[int], bool]]:
    """Return what `read_tokens` does, of long texts, from a beginning of each that is as long as its tokens need.

    At its end may stand half a word, which is another one in the whole text, or half an added token, or some of the
    blanks before a word. So the tokens that are read must end more words before it than an added token has characters;
    else four times as much is tokenized, up to `MOST` characters: no text of any language holds fewer tokens.
    """
    added = tokenizer.get_added_tokens_decoder().values()
    margin = 2 + max((len(token.content) for token in added), default=0)
    read: dict[int, tuple[list[int], bool]] = {}
    left, size, most = list(range(len(texts))), START * length, max(MOST, LONG * length)
    while left:
        for row, encoding in zip(left, tokenizer.encode_batch([texts[i][:size] for i in left]), strict=True):
            parts = [encoding, *encoding.overflowing]
            last = [max((word for word in part.word_ids if word is not None), default=-1) for part in parts]
            if size >= min(most, len(texts[row])) or last[0] + margin <= last[-1]:
                read[row] = encoding.ids, bool(encoding.overflowing) or size < len(texts[row])
        left, size = [row for row in left if row not in read], min(4 * size, most)
    return [read[row] for row in range(len(texts))]


@lru_cache(maxsize=4)
def _build_ascii_tokenizer(
    tokenizer: Tokenizer, state: tuple[tuple[tuple[str, Any], ...], int]
) -> tuple[Tokenizer, list[int], list[int]] | None:
    """Return a tokenizer of printable ASCII texts, and the special tokens before and after them; None for no such one.

    It gives the same ids in two thirds of the time: BERT's normalizer passes over such a text four times only to lower
    its case, and special tokens are added by a copy of each text. state: its truncation and size of vocabulary now.
    """
    encoding, added = tokenizer.encode("a"), tokenizer.get_added_tokens_decoder()
    mask, special = encoding.special_tokens_mask, sum(encoding.special_tokens_mask)
    quick, before = Tokenizer(tokenizer.model), tokenizer.normalizer
    if isinstance(before, normalizers.BertNormalizer):
        before = normalizers.Lowercase() if before.lowercase else None
    quick.normalizer, quick.pre_tokenizer = before, tokenizer.pre_tokenizer
    quick.encode_special_tokens = tokenizer.encode_special_tokens
    for _, token in sorted(added.items()):
        (quick.add_special_tokens if token.special else quick.add_tokens)([token])
    if limits := dict(state[0]):
        quick.enable_truncation(**limits | {"max_length": max(0, limits["max_length"] - special)})
    begin = mask.index(0) if 0 in mask else 0
    first, last = encoding.ids[:begin], encoding.ids[len(mask) - special + begin :]
    probes = [text for text in PROBES if text.isascii() and text.isprintable()]
    same = all([*first, *quick.encode(text).ids, *last] == tokenizer.encode(text).ids for text in probes)
    usable = all(token.content.isascii() for token in added.values()) and tokenizer.padding is None
    return (quick, first, last) if same and usable else None


def batch_texts(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the texts in lists of about `BATCH_CHARS` characters."""
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= BATCH_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def describe_tokenizer(tokenizer: Tokenizer) -> list[object]:
    """Return the vocabulary and the token ids of the probe texts: the input of fingerprints.

    The tokenizer's own JSON is not an input: it gains fields from release to release of `tokenizers`.
    """
    vocabulary = sorted(tokenizer.get_vocab(with_added_tokens=True).items())
    return [vocabulary, [tokenizer.encode(text).ids for text in PROBES]]


def fingerprint_tokenizer(tokenizer: Tokenizer) -> str:
    """Return a hash of a tokenizer: equal for equal vocabularies that tokenize texts alike."""
    untruncated = Tokenizer.from_str(tokenizer.to_str())
    untruncated.no_truncation()
    content = json.dumps(describe_tokenizer(untruncated), ensure_ascii=True)
    return hashlib.sha256(content.encode("ascii")).hexdigest()
