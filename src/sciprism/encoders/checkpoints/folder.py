"""Model folders: recognise their layout, read them, write our own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from tokenizers import Tokenizer

from sciprism.encoders.checkpoints import sentence_transformers
from sciprism.encoders.checkpoints.backbone import (
    backbone_config,
    backbone_state,
    read_backbone,
    read_config,
    read_filled,
)
from sciprism.encoders.checkpoints.compact import COMPACT, write_compact
from sciprism.encoders.checkpoints.family import named_settings, prompted
from sciprism.encoders.methods.registry import Method, make, methods
from sciprism.encoders.settings import Settings
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.text.template import Template
from sciprism.text.tokenizer import read_json, read_tokenizer

LAYOUT = 1
WEIGHTS = "model.safetensors"
REPLACED = ("modules.json", WEIGHTS, COMPACT)
"""Files of a model that was there before, which would be taken for the new one's."""


class Parts:
    """What a model folder holds, read and checked against each other.

    changes: settings that are asked for instead of what the folder says; None stands for what it says. A
    folder that holds a `single` model or a plain backbone becomes a model of any method. name: the model's,
    which says for some released ones what their files do not.
    """

    def __init__(self, folder: Path, changes: Mapping[str, Any], name: str = "") -> None:
        inner = (
            sentence_transformers.backbone_folder(folder) if (folder / "modules.json").exists() else folder
        )
        self.tokenizer, self.special = read_tokenizer(inner)
        config = read_config(inner)
        stored = named_settings(name, config.max_length, self.special)
        if stored is None:
            own = methods[changes.get("method") or "single"].pooling
            pooling = "cls" if own else changes.get("pooling")
            stored = prompted(name, _stored(folder, config.max_length, self.special, pooling))
        self.settings = _changed(folder, stored, changes)
        if self.settings.max_length > config.max_length:
            raise InputError(
                f"max length {self.settings.max_length}, but the model has positions for "
                f"{config.max_length} tokens"
            )
        size = 1 + max(self.tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
        if size > config.vocabulary:
            raise InputError(f"{folder}: the tokenizer knows {size} tokens, the weights {config.vocabulary}")
        if not self.tokenizer.encode("").ids:
            raise InputError(f"{folder}: the tokenizer adds no special tokens: an empty text has no vector")
        self.model, self.ignored = self._read_model(folder, inner, stored)
        about = read_json(folder / "sciprism.json", missing={})
        self.provenance: dict[str, Any] = about.get("provenance") or {}

    def _read_model(self, folder: Path, inner: Path, stored: Settings) -> tuple[Transformer, tuple[str, ...]]:
        settings = self.settings
        method = make(settings.method, settings.options)
        if stored.method == "single":
            model, ignored = _read_single(inner)
            method.fill(model)
            method.begin(model, self.tokenizer.encode("").ids[0])
            return model, ignored
        try:
            if stored.method == settings.method:
                return read_filled(inner, method), ()
            model = read_filled(inner, make(stored.method, stored.options))
        except InputError as error:
            if stored.options == settings.options:
                raise
            raise InputError(
                f"{folder}: its options {stored.options} cannot become {settings.options}: {error}"
            ) from error
        return _grown(model, method), ()


def _read_single(folder: Path) -> tuple[Transformer, tuple[str, ...]]:
    if read_config(folder).lexical:  # under our own names
        return read_filled(folder, make("single", {})), ()
    return read_backbone(folder)


def _grown(model: Transformer, method: Method) -> Transformer:
    """Return a model of a method from one of the method that it grows from, whose weights it keeps."""
    state = model.state_dict()
    method.fill(model)
    model.load_state_dict(state, strict=False)
    return model


def _stored(folder: Path, longest: int, special: dict[str, str], pooling: str | None) -> Settings:
    """Return the settings that the folder states; pooling: for a folder that states none."""
    if (folder / "sciprism.json").exists():
        row = read_json(folder / "sciprism.json")
        if row.get("layout") != LAYOUT:
            raise InputError(
                f"{folder}/sciprism.json: layout {row.get('layout')!r}; this version reads {LAYOUT}"
            )
        return Settings.from_json(row.get("settings", {}), f"{folder}/sciprism.json")
    if (folder / "modules.json").exists():
        return sentence_transformers.read_settings(folder, longest)
    if pooling is None:
        raise InputError(
            f"{folder}: a plain transformers folder does not state its pooling; pass pooling cls or mean"
        )
    return Settings(
        pooling=pooling, max_length=longest, template=Template(separator=special.get("sep_token", " "))
    )


def _changed(folder: Path, stored: Settings, changes: Mapping[str, Any]) -> Settings:
    wanted = {name: value for name, value in changes.items() if value is not None}
    method = wanted.get("method", stored.method)
    grows_from = methods[method].grows_from
    if stored.method not in (method, grows_from):
        other = "a backbone, a single model," if grows_from == "single" else f"a model of {grows_from}"
        raise InputError(
            f"{folder} holds a model of the method {stored.method}; a model of the method {method} "
            f"starts from {other} or a model of its own method"
        )
    if stored.method != "single":
        wanted["options"] = {**stored.options, **wanted.get("options", {})}
    elif method != "single" and methods[method].pooling:
        wanted.setdefault("pooling", methods[method].pooling)
    try:
        if isinstance(wanted.get("template"), Mapping):
            wanted["template"] = replace(stored.template, **wanted["template"])
        return replace(stored, **wanted)
    except (TypeError, ValueError) as error:
        raise InputError(f"{folder}: {error}") from error


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """Give a folder to write in; what is written there comes to `folder` once all is written, or not at all.

    Other files that lie in `folder` stay, save for what would let other libraries open a model that is no
    longer theirs. Where the folder exists, its files are replaced one by one.
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
            draft.rename(folder)
            return
        for name in REPLACED:
            if not (draft / name).exists():
                (folder / name).unlink(missing_ok=True)
        for path in filter(Path.is_file, sorted(draft.rglob("*"))):
            target = folder / path.relative_to(draft)
            target.parent.mkdir(exist_ok=True)
            path.replace(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_folder(
    folder: Path,
    *,
    model: Transformer,
    tokenizer: Tokenizer,
    settings: Settings,
    provenance: dict[str, Any],
    compact: bool = False,
) -> None:
    """Write a model folder; sentence-transformers and transformers too can load that of a `single` model.

    The weights of any other method, or with a lexical part, have our own names, those of
    `Transformer.state_dict()`. compact: int8 weights, which sciprism alone reads.
    """
    plain = settings.method == "single" and not model.config.lexical
    state = backbone_state(model) if plain else {k: v.contiguous() for k, v in model.state_dict().items()}
    if compact:
        write_compact(state, folder)
    else:
        save_file(state, folder / WEIGHTS, metadata={"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    _, special = read_tokenizer(folder)
    about = {"layout": LAYOUT, "settings": settings.to_json(), "provenance": provenance}
    tokens = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": settings.max_length,
        **special,
    }
    for name, content in (
        ("config.json", backbone_config(model.config)),
        ("tokenizer_config.json", tokens),
        ("sciprism.json", about),
    ):
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    if plain and not compact:
        sentence_transformers.write_settings(folder, settings, model.config.hidden)
