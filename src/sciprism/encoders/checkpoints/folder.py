"""Read model folders of ours, of sentence-transformers and of transformers; write our own, also converted ones."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from tokenizers import Tokenizer

from sciprism.arrays import Floats
from sciprism.encoders.checkpoints import backbone, released_models, sentence_transformers
from sciprism.encoders.checkpoints.families.family import publish_weights
from sciprism.encoders.methods.registry import PLAIN, build_method, methods
from sciprism.encoders.settings import EncoderSettings
from sciprism.encoders.transformer import Transformer
from sciprism.errors import DamagedFileError, InputError, ShownWarning
from sciprism.files import (
    CHECKSUMS_NAME,
    cache_folder,
    check_folder,
    commit_folder,
    replace_folder,
    sync_folder,
    sync_tree,
    write_checksums,
    write_tensors,
)
from sciprism.formats import Format
from sciprism.text.template import Template
from sciprism.text.tokenizer import read_json, read_tokenizer

LAYOUT = 1
WEIGHTS = "model.safetensors"
REPLACED = ("modules.json", WEIGHTS, backbone.COMPACT)
"""Files of a model that was in the folder before, which would be read as the new one's."""

SELFCHECK = "selfcheck.json"
TEXT = "A paper of known content: light is split by a prism into a spectrum, and every colour has its own angle."
SELFCHECK_TEXTS = (TEXT, "Dark matter", "β-decay in 3.14 µs: naïve Schrödinger, 量子力学 και φως [SEP] 🔬")
"""Texts whose vectors are written with a model, and compared when it is loaded."""
LONG_TEXT = " ".join([TEXT] * 30)
"""Its token ids show where texts are truncated; its vectors would take time at each load."""
TOLERANCE = {"float32": 1e-4, "tf32": 5e-3, "bfloat16": 5e-2, "float16": 5e-3}  # of the vector's largest entry

EncodeAll = Callable[[list[str]], Mapping[Format, Floats]]  # maps texts to one array per format
Tokenize = Callable[[list[str]], list[list[int]]]


class ModelFolder:
    """The contents of a model folder, read and checked: transformer, tokenizer, settings, provenance.

    changes: settings that replace the folder's; None keeps the folder's. A folder with a `single` model or a
    plain backbone becomes a model of any method. name: the model's; some released models have known settings
    that their files do not state.
    """

    def __init__(self, folder: Path, changes: Mapping[str, Any], name: str = "") -> None:
        check_folder(folder)
        inner = sentence_transformers.transformer_folder(folder) if (folder / "modules.json").exists() else folder
        self.tokenizer, self.special = read_tokenizer(inner)
        config = backbone.read_config(inner)
        if name in released_models.CLS_MODELS:
            stored = released_models.specter_settings(config.max_length, self.special)
        elif name in released_models.INDUS_MODELS:
            length = min(released_models.MAX_TOKENS, config.max_length)
            stored = EncoderSettings(pooling="mean", max_length=length, template=Template(lowercase=True))
        else:
            pooling = "cls" if methods[changes.get("method") or PLAIN].pooling else changes.get("pooling")
            stored = _stored_settings(folder, config.max_length, self.special, pooling)
            more: dict[str, Any] = {}
            if name in released_models.PROMPTS and not stored.template.prompts:
                more["prompts"] = released_models.PROMPTS[name]
            of_indus = name in released_models.INDUS_RETRIEVERS
            if of_indus and self.tokenizer.encode("A").ids != self.tokenizer.encode("a").ids:
                more["lowercase"] = True
            stored = replace(stored, template=replace(stored.template, **more))
        self.settings = _apply_changes(folder, stored, changes)
        if self.settings.max_length > config.max_length:
            raise InputError(
                f"max length {self.settings.max_length}, but the model has positions for {config.max_length} tokens"
            )
        size = 1 + max(self.tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
        if size > config.vocabulary:
            raise InputError(f"{folder}: the tokenizer knows {size} tokens, the weights {config.vocabulary}")
        if not (added := self.tokenizer.encode("").ids):
            raise InputError(f"{folder}: the tokenizer adds no special tokens: an empty text has no vector")
        if max(added) >= config.vocabulary:
            raise InputError(f"{folder}: the tokenizer adds the token {max(added)} of {config.vocabulary}")
        self.model, self.ignored = self._read_model(folder, inner, stored)
        about = read_json(folder / "sciprism.json", missing={})
        self.provenance: dict[str, Any] = about.get("provenance") or {}

    def check_plain(self, where: str, name: str) -> None:
        """Raise InputError for a model that cannot be the base of adapters. where: they are; name: the base's."""
        if self.settings.method != PLAIN:
            raise InputError(f"{where}: its base {name} is of the method {self.settings.method}")

    def _read_model(self, folder: Path, inner: Path, stored: EncoderSettings) -> tuple[Transformer, tuple[str, ...]]:
        settings = self.settings
        method = build_method(settings.method, settings.options)
        if stored.method == PLAIN:
            if not backbone.read_config(inner).lexical:
                model, ignored = backbone.read_backbone(inner)
            else:  # saved under our own names
                model, ignored = backbone.read_filled(inner, build_method(PLAIN, {})), ()
            method.fill(model)
            method.initialize(model, self.tokenizer)
            return model, ignored
        try:
            if stored.method == settings.method:
                return backbone.read_filled(inner, method), ()
            model = backbone.read_filled(inner, build_method(stored.method, stored.options))
        except InputError as error:
            if stored.options == settings.options:
                raise
            raise InputError(
                f"{folder}: its options {stored.options} cannot become {settings.options}: {error}"
            ) from error
        state = model.state_dict()
        method.fill(model)
        model.load_state_dict(state, strict=False)  # the method's own weights stay new
        return model, ()


def _stored_settings(folder: Path, longest: int, special: dict[str, str], pooling: str | None) -> EncoderSettings:
    """Return the settings that the folder states; pooling: for a folder without one."""
    if (folder / "sciprism.json").exists():
        row = read_json(folder / "sciprism.json")
        if row.get("layout") != LAYOUT:
            raise InputError(f"{folder}/sciprism.json: layout {row.get('layout')!r}; this version reads {LAYOUT}")
        return EncoderSettings.from_json(row.get("settings", {}), f"{folder}/sciprism.json")
    if (folder / "modules.json").exists():
        return sentence_transformers.read_settings(folder, longest)
    if pooling is None:
        raise InputError(f"{folder}: a plain transformers folder does not state its pooling; pass pooling cls or mean")
    return EncoderSettings(
        pooling=pooling, max_length=longest, template=Template(separator=special.get("sep_token", " "))
    )


def _apply_changes(folder: Path, stored: EncoderSettings, changes: Mapping[str, Any]) -> EncoderSettings:
    wanted = {name: value for name, value in changes.items() if value is not None}
    method = wanted.get("method", stored.method)
    starts_from = methods[method].starts_from
    if stored.method not in (method, starts_from):
        other = "a backbone, a single model," if starts_from == PLAIN else f"a model of {starts_from}"
        raise InputError(
            f"{folder} holds a model of the method {stored.method}; a model of the method {method} "
            f"starts from {other} or a model of its own method"
        )
    if stored.method != PLAIN:
        wanted["options"] = {**stored.options, **wanted.get("options", {})}
    elif method != PLAIN and methods[method].pooling:
        wanted.setdefault("pooling", methods[method].pooling)
    try:
        if isinstance(wanted.get("template"), Mapping):
            wanted["template"] = replace(stored.template, **wanted["template"])
        return replace(stored, **wanted)
    except (TypeError, ValueError) as error:
        raise InputError(f"{folder}: {error}") from error


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield a draft folder; its files are moved to `folder` once all are written, or not at all.

    In an existing folder, files are replaced one by one, and others stay, except weights and module lists of
    the model before.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; a model is written to a folder")
    folder = folder.resolve()
    draft = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        yield draft
        if not folder.exists():
            commit_folder(draft, folder)
            return
        sync_tree(draft)
        for name in REPLACED:
            if not (draft / name).exists():
                (folder / name).unlink(missing_ok=True)
        for path in filter(Path.is_file, sorted(draft.rglob("*"))):
            target = folder / path.relative_to(draft)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
        sync_folder(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_folder(
    folder: Path,
    model: Transformer,
    tokenizer: Tokenizer,
    settings: EncoderSettings,
    provenance: dict[str, Any],
    *,
    compact: bool = False,
) -> None:
    """Write a model folder; that of a `single` model opens in sentence-transformers and transformers too.

    Weights of other methods, or with lexical features, have our own names, those of
    `Transformer.state_dict()`. compact: int8 weights, which only sciprism reads.
    """
    plain = settings.method == PLAIN and not model.config.lexical
    names = backbone.published_names(model.config) if plain else {}
    state = publish_weights(model.state_dict(), names)
    if compact:
        backbone.write_compact(state, folder)
    else:
        write_tensors(folder / WEIGHTS, state, {"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    _, special = read_tokenizer(folder)
    tokens = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": settings.max_length}
    documents = {
        "config.json": backbone.backbone_config(model.config),
        "tokenizer_config.json": tokens | special,
        "sciprism.json": {"layout": LAYOUT, "settings": settings.to_json(), "provenance": provenance},
    }
    sentence_transformers.write_documents(folder, documents)
    if plain and not compact:
        sentence_transformers.write_settings(folder, settings, model.config.hidden)


def write_selfcheck(folder: Path, encode_all: EncodeAll, tokenize: Tokenize) -> None:
    """Write `selfcheck.json`: one vector per text and format, and the token ids of a long text."""
    vectors = encode_all(list(SELFCHECK_TEXTS))
    rows = [
        {"text": text, "vectors": {format: rows[n].tolist() for format, rows in vectors.items()}}
        for n, text in enumerate(SELFCHECK_TEXTS)
    ]
    content = {**rows[0], "more": rows[1:], "long_text": LONG_TEXT, "long_text_ids": tokenize([LONG_TEXT])[0]}
    (folder / SELFCHECK).write_text(json.dumps(content) + "\n", encoding="utf-8")


def verify_selfcheck(folder: Path, encode_all: EncodeAll, tokenize: Tokenize, precision: str) -> None:
    """Compare vectors with the folder's `selfcheck.json`, if any; a difference is an InputError."""
    path = folder / SELFCHECK
    if not path.exists():
        return
    stored = read_json(path)
    try:
        rows = [stored, *stored.get("more", ())]
        texts = [str(row["text"]) for row in rows]
        vectors_of = {format: [row["vectors"][format] for row in rows] for format in stored["vectors"]}
        expected = {format: np.array(rows, np.float32) for format, rows in vectors_of.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: does not hold a text and one vector per format; damaged") from error
    now = encode_all(texts)
    if {format: vectors.shape for format, vectors in now.items()} != {f: v.shape for f, v in expected.items()}:
        raise InputError(f"{path}: holds other formats or numbers than the model gives; damaged")
    for format, vectors in now.items():
        largest = np.abs(expected[format]).max(axis=1).clip(1e-12)
        off = float((np.abs(vectors - expected[format]).max(axis=1) / largest).max())
        if not off <= (limit := TOLERANCE[precision]):
            more = f"by {off:.1e}, in {precision} at most {limit:.0e}"
            raise InputError(f"{folder}: the {format} vector differs from selfcheck.json {more}: damaged")
    if "long_text" in stored and tokenize([str(stored["long_text"])])[0] != stored.get("long_text_ids"):
        raise InputError(f"{folder}: the tokens of a long text differ from selfcheck.json: damaged")


def convert_once(source: str | Path, facts: object, write: Callable[[Path], None]) -> Path:
    """Return the folder that `write` fills, from the cache if it was written before.

    source: the name of what is converted, for the folder's name and for messages. facts: all that decides the
    content. The folder is written atomically, also by several processes. A damaged one is made again, with a
    warning.
    """
    key = hashlib.sha256(f"{facts}|{LAYOUT}".encode()).hexdigest()[:16]
    stem = re.sub(r"[^\w.-]+", "-", Path(source).stem).strip("-")
    folder = cache_folder() / "converted" / f"{stem}-{key}"
    try:
        check_folder(folder)
        if (folder / CHECKSUMS_NAME).exists():
            return folder
    except DamagedFileError:
        warnings.warn(ShownWarning(f"{folder} is damaged; the model is converted again"), stacklevel=2)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{stem}-", dir=folder.parent))
        try:
            write(draft)
            write_checksums(draft)
            draft.chmod(0o755)
            replace_folder(folder, draft)
        except OSError:
            if not folder.exists():  # else another process was faster
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except (OSError, SafetensorError) as error:
        where = f"{source}: cannot be converted in {folder.parent}; set SCIPRISM_CACHE to another folder"
        raise InputError(f"{where}: {error}") from error
    return folder


def describe_files(*folders: Path) -> list[tuple[object, ...]]:
    """Return path, size and time of all files in the folders."""
    files = [path for folder in folders for path in sorted(folder.iterdir()) if path.is_file()]
    return [(path.resolve(), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
