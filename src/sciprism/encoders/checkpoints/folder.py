"""Model folders: recognise their layout, read them, write our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from tokenizers import Tokenizer

from sciprism.encoders.checkpoints import sentence_transformers
from sciprism.encoders.checkpoints.backbone import backbone_config, backbone_state, read_backbone
from sciprism.encoders.settings import Settings
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.text.template import Template
from sciprism.text.tokenizer import read_json, read_tokenizer

LAYOUT = 1


class Parts:
    """What a model folder holds, read and checked against each other."""

    def __init__(self, folder: Path, *, pooling: str | None, max_length: int | None) -> None:
        inner = (
            sentence_transformers.backbone_folder(folder) if (folder / "modules.json").exists() else folder
        )
        self.tokenizer, special = read_tokenizer(inner)
        self.model, self.ignored = read_backbone(inner)
        self.settings = _settings(folder, self.model, special, pooling=pooling, max_length=max_length)
        size = 1 + max(self.tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
        if size > self.model.config.vocabulary:
            raise InputError(
                f"{folder}: the tokenizer knows {size} tokens, the weights {self.model.config.vocabulary}"
            )
        if not self.tokenizer.encode("").ids:
            raise InputError(f"{folder}: the tokenizer adds no special tokens: an empty text has no vector")


def _settings(
    folder: Path, model: Transformer, special: dict[str, str], *, pooling: str | None, max_length: int | None
) -> Settings:
    longest = model.config.max_length
    if (folder / "sciprism.json").exists():
        row = read_json(folder / "sciprism.json")
        if row.get("layout") != LAYOUT:
            raise InputError(
                f"{folder}/sciprism.json: layout {row.get('layout')!r}; this version reads {LAYOUT}"
            )
        settings = Settings.from_json(row.get("settings", {}), f"{folder}/sciprism.json")
    elif (folder / "modules.json").exists():
        settings = sentence_transformers.read_settings(folder, longest)
    elif pooling is None:
        raise InputError(
            f"{folder}: a plain transformers folder does not state its pooling; pass pooling cls or mean"
        )
    else:
        template = Template(separator=special.get("sep_token", " "))
        settings = Settings(pooling=pooling, max_length=longest, template=template)
    row = settings.to_json() | {
        "pooling": settings.pooling if pooling is None else pooling,
        "max_length": settings.max_length if max_length is None else max_length,
    }
    if row["max_length"] > longest:
        raise InputError(f"max length {row['max_length']}, but the model has positions for {longest} tokens")
    return Settings.from_json(row, str(folder))


def write_folder(
    folder: Path, *, model: Transformer, tokenizer: Tokenizer, settings: Settings, provenance: dict[str, Any]
) -> None:
    """Write a model folder that this package, sentence-transformers and transformers can all load."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; a model is written to a folder")
    folder.mkdir(parents=True, exist_ok=True)
    save_file(backbone_state(model), folder / "model.safetensors", metadata={"format": "pt"})
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
    sentence_transformers.write_settings(folder, settings, model.config.hidden)
