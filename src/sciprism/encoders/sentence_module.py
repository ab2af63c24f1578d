"""An encoder of any method as a module of sentence-transformers.

The exported folder's `modules.json` names the class below. sentence-transformers loads classes of other
packages only with `trust_remote_code=True`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.packing import PackedBatch
from sciprism.errors import InputError
from sciprism.formats import Format, Role
from sciprism.papers.records import Paper
from sciprism.text.template import Item
from sciprism.text.tokenizer import read_json

CONFIG = "sciprism_module.json"


class SciprismModule(nn.Module):
    """The tokenizer, transformer, pooling and normalisation of one encoder as one module.

    format: the default format of `encode`. search_format: that of `encode_query` and `encode_document`. All may be
    called with another one. The role is the `task` of sentence-transformers: query from `encode_query`, paper from
    `encode_document` and `encode`, or a role by name. Without a prompt, texts get the role's own.
    """

    forward_kwargs: ClassVar[set[str]] = {"task", "format"}
    modalities: ClassVar[list[str]] = ["text"]
    save_in_root = True

    def __init__(self, encoder: Encoder, *, format: Format, search_format: Format) -> None:
        super().__init__()
        for served in (format, search_format):
            encoder.route(served)  # refuses a format that it lacks
        self.encoder = encoder
        self.model = encoder.model
        self.tokenizer = encoder.tokenizer
        self.format = format
        self.search_format = search_format

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **rest: Any) -> Self:
        """Load a saved module from a folder or a hub; the signature is the library's."""
        from sentence_transformers.util import load_dir_path

        passed_on = ("token", "cache_folder", "revision", "local_files_only")
        folder = load_dir_path(model_name_or_path, subfolder, **{k: rest[k] for k in passed_on if k in rest})
        if folder is None:
            raise InputError(f"{model_name_or_path} has no folder {subfolder!r}")
        config = read_json(Path(folder) / CONFIG)
        return cls(Encoder.load(folder), format=config["format"], search_format=config["search_format"])

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Write the encoder's folder and this module's format; the library writes `modules.json`."""
        self.encoder.save(output_path)
        write_config(Path(output_path), self.format, self.search_format)

    @property
    def max_seq_length(self) -> int:
        """Return the number of tokens to which texts are truncated."""
        return self.encoder.max_seq_length

    @max_seq_length.setter
    def max_seq_length(self, length: int) -> None:
        self.encoder.max_seq_length = length

    def get_embedding_dimension(self) -> int:
        """Return the width of the vectors."""
        return self.encoder.dim

    def preprocess(
        self,
        inputs: Sequence[str | Sequence[str]],
        prompt: str | None = None,
        task: str | None = None,
        **_: Any,
    ) -> dict[str, Tensor]:
        """Return padded token ids and their mask, (B, longest) each.

        inputs: texts, or pairs of title and abstract. prompt: None for the role's own.
        """
        role = _role(task)
        template = self.encoder.settings.template
        if prompt is not None:
            template = replace(template, prompts={role: prompt})
        texts = [template.text(_to_item(text), role) for text in inputs]
        ids = [torch.tensor(row) for row in self.encoder.tokenize(texts)]
        return {
            "input_ids": pad_sequence(ids, batch_first=True, padding_value=self.model.config.padding_id),
            "attention_mask": pad_sequence([torch.ones_like(row) for row in ids], batch_first=True),
        }

    def forward(
        self, features: dict[str, Tensor], task: str | None = None, format: Format | None = None
    ) -> dict[str, Tensor]:
        """Add `sentence_embedding`, (B, dim), to the features; padding is removed first."""
        real = features["attention_mask"].bool()
        lengths = tuple(real.sum(dim=1).tolist())
        default = self.search_format if task in ("query", "document") else self.format
        route = self.encoder.route(format or default, _role(task))
        batch = PackedBatch(features["input_ids"][real], lengths, (route,) * len(lengths))
        return {**features, "sentence_embedding": self.encoder.vectors(batch)}

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move the weights to another device, and pack them there again for inference."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        weight = next(self.model.parameters())
        if weight.dtype != torch.float32:
            raise InputError(f"this module computes in float32, not {weight.dtype}; do not set a precision")
        self.encoder.device = weight.device
        if not self.model.training:
            self.encoder.prepare()
        return self


def write_config(folder: Path, format: Format, search_format: Format) -> None:
    """Write the file that states the formats of a folder's module."""
    config = {"format": format, "search_format": search_format}
    (folder / CONFIG).write_text(json.dumps(config) + "\n", encoding="utf-8")


def _role(task: str | None) -> Role:
    return "paper" if task in (None, "document") else task  # type: ignore[return-value]


def _to_item(text: str | Sequence[str]) -> Item:
    if isinstance(text, str):
        return text
    title, abstract = text
    return Paper(id="", title=title, abstract=abstract)
