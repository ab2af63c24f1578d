"""Export a model for sentence-transformers: as a plain BERT where that is equivalent, else as our module."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from sciprism.encoders.checkpoints.folder import atomic_folder
from sciprism.encoders.checkpoints.peft import write_updates
from sciprism.encoders.checkpoints.sentence_transformers import format_config, write_documents
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import PackedBatch
from sciprism.encoders.methods.registry import PLAIN
from sciprism.encoders.settings import PRECISIONS, describe_untrained, find_title, training_facts, untrained_stage
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.files import write_checksums
from sciprism.formats import ROLES, Format, Role
from sciprism.papers.records import Paper
from sciprism.text.tokenizer import read_json

ExportKind = Literal["plain", "module", "compact", "peft"]
MODULE = "sciprism.encoders.export.SciprismModule"
"""Class in `modules.json`, which sentence-transformers loads only with `trust_remote_code=True`."""
CONFIG = "sciprism_module.json"


def export(
    encoder: Encoder,
    folder: str | Path,
    *,
    format: Format | None = None,
    compact: bool = False,
    peft: bool = False,
) -> ExportKind:
    """Write a folder that gives the encoder's vectors in sentence-transformers; return its kind.

    "plain" opens in transformers too, without sciprism: for formats with one route through a plain BERT, such
    as those of `single`, or one format of the expert methods or of `lora`. "module" needs sciprism installed; it
    holds the whole model, and all its calls give `format`; without one, `encode` gives proximity, `encode_query` and
    `encode_document` search. "compact" has int8 weights and opens only in sciprism. "peft", of `lora`, is the backbone,
    `base/`, with the updates of each route in peft's layout, `adapters/ROUTE/`. `Encoder.load` opens all kinds.
    InputError for a format that the model lacks, for a folder that is not empty, and for a kind that it cannot be.
    """
    folder = Path(folder)
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; name a new folder")
    formats = encoder.formats if format is None else (format,)
    routes = list(dict.fromkeys(encoder.route(served, role) for served in formats for role in ROLES))
    shown = find_title(encoder)
    about = {"exported_from": shown, "fingerprint": encoder.fingerprint, "formats": list(formats)}
    if stage := untrained_stage({"provenance": encoder.provenance}):
        about |= training_facts(stage, 0)
    if peft:
        if compact:
            raise InputError("int8 weights and peft's layout are two kinds of folders; choose one")
        return _export_peft(encoder, folder, routes, shown, about)
    plain = to_plain_transformer(encoder, *routes) if len(routes) == 1 else None
    written = encoder if plain is None else _build_plain(encoder, plain, shown)
    with atomic_folder(folder) as draft:
        written.save(draft, compact=compact, **about)
        if compact:
            return "compact"
        chosen = None
        if plain is None:
            chosen = format or default_format(encoder), format or encoder.search_format
            # no default prompt: the module knows that of each role
            config = format_config(encoder.settings) | {"default_prompt_name": None}
            module = {"idx": 0, "name": "0", "path": "", "type": MODULE}
            write_documents(draft, {"modules.json": [module], "config_sentence_transformers.json": config})
            _write_config(draft, *chosen)
        card = _format_model_card(encoder, shown, formats if chosen is None else encoder.formats, chosen)
        (draft / "README.md").write_text(card, encoding="utf-8")
        write_checksums(draft)  # again: of the files that were added
    return "module" if plain is None else "plain"


def _export_peft(
    encoder: Encoder, folder: Path, routes: Sequence[str], name: str, about: Mapping[str, Any]
) -> ExportKind:
    """Write the backbone and the updates of the routes."""
    found = [(route, encoder.method.low_rank_updates(encoder.model, route)) for route in routes]
    updates = {route: each for route, each in found if each is not None}
    if not updates or encoder.model.lexical is not None:
        has = f"{encoder.settings.method}{' with lexical features' if encoder.model.lexical is not None else ''}"
        raise InputError(f"peft's layout is of the method lora over a plain backbone; {encoder.name} is of {has}")
    model = deepcopy(encoder.model)
    for linear in next(iter(updates.values())).products:
        model.get_submodule(linear).update = None  # type: ignore[assignment]
    with atomic_folder(folder) as draft:
        _build_plain(encoder, model, name).save(draft / "base", **about)
        for route, each in updates.items():
            write_updates(draft / "adapters" / route, model.config, each, base="base")
    return "peft"


def _build_plain(encoder: Encoder, model: Transformer, name: str) -> Encoder:
    settings = replace(encoder.settings, method=PLAIN, options={})
    return Encoder.from_parts(model, encoder.tokenizer, settings, name=name, device=str(encoder.device))


def default_format(encoder: Encoder) -> Format:
    """Return the format of plain `encode` in a folder that holds several, where none is chosen."""
    return "proximity" if "proximity" in encoder.formats else encoder.formats[0]


def to_plain_transformer(encoder: Encoder, route: str) -> Transformer | None:
    """Return a plain BERT with the vectors of one route; None where the method has other modules than BERT's."""
    model = encoder.model
    slots = [(block.adapter, block.side, block.facets) for block in model.blocks]
    if any(
        slot is not None
        for slot in (model.context, model.beside, model.lexical, model.embeddings.front, *chain(*slots))
    ):
        return None
    plain = deepcopy(model)
    encoder.method.merge(plain, route)
    return plain


MODEL_CARD = """---
library_name: sentence-transformers
tags: [scientific-papers, sciprism]
---

# {name}

Encodes scientific papers for {formats}; {how}.

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("."{trust})  # the path or the name of this folder
papers = model.encode_document(["A title" + {separator!r} + "Its abstract."])
queries = model.encode_query(["what it is about"])
```

A paper's text is its title, then {separator!r}, then its abstract; where one of them is missing, the other
alone. Texts are truncated to {length} tokens. Vectors have {dim} dimensions; compare them by {distance}.
"""

FORMAT_NOTE = """
`encode` gives {format}, `encode_query` and `encode_document` give {search}; all take another, `encode(texts,
format="{other}")`. Pairs of title and abstract,
`encode([("A title", "Its abstract.")])`, are joined. With `sciprism`, `Encoder.load` opens this folder.
"""


def _format_model_card(
    encoder: Encoder, name: str, formats: Sequence[Format], chosen: tuple[Format, Format] | None
) -> str:
    """Return the model card; chosen: the formats of `encode` and of searches where the folder needs sciprism."""
    settings = encoder.settings
    needs = f"method {settings.method}: it needs sciprism and sentence-transformers 6 installed"
    card = MODEL_CARD.format(
        name=name,
        formats=", ".join(formats),
        how="a plain BERT" if chosen is None else needs,
        trust="" if chosen is None else ", trust_remote_code=True",
        separator=settings.template.separator,
        length=settings.max_length,
        dim=encoder.dim,
        distance=encoder.distance,
    )
    if stage := untrained_stage({"provenance": encoder.provenance}):
        card += f"\nOf this model, {describe_untrained(stage)}.\n"
    if chosen is None:
        return card
    format, search = chosen
    other = next((another for another in formats if another != format), format)
    return card + FORMAT_NOTE.format(format=format, search=search, other=other)


# ---- our module ----


class SciprismModule(nn.Module):
    """An encoder of any method as a module of sentence-transformers: from tokens to normalized vectors.

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
        _write_config(Path(output_path), self.format, self.search_format)

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
        self, inputs: Sequence[str | Sequence[str]], prompt: str | None = None, task: str | None = None, **_: Any
    ) -> dict[str, Tensor]:
        """Return padded token ids and their mask, (B, longest) each.

        inputs: texts, or pairs of title and abstract. prompt: None for the role's own.
        """
        role = _role(task)
        template = self.encoder.settings.template
        if prompt is not None:
            template = replace(template, prompts={role: prompt})
        items = [text if isinstance(text, str) else Paper(id="", title=text[0], abstract=text[1]) for text in inputs]
        ids = [torch.tensor(row) for row in self.encoder.tokenize([template.text(item, role) for item in items])]
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

    def train(self, mode: bool = True) -> Self:
        """Set the training mode; where training ends, get ready for inference."""
        ends = self.model.training and not mode
        super().train(mode)
        if ends:
            self.encoder.prepare()
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move the weights to another device; in half precision products alone are computed.

        Weights stay float32, so that they can be trained and saved. InputError for another precision.
        """
        moved = fn(next(self.model.parameters()).new_zeros(1, dtype=PRECISIONS[self.encoder.precision]))
        precisions = {dtype: name for name, dtype in PRECISIONS.items()}
        if moved.dtype not in precisions:
            raise InputError(f"this module computes in {', '.join(PRECISIONS)}, not {moved.dtype}")
        super()._apply(lambda tensor: tensor.to(moved.device), recurse)  # type: ignore[no-untyped-call]
        self.encoder.precision = precisions[moved.dtype]
        self.encoder.device = next(self.model.parameters()).device
        if not self.model.training:
            self.encoder.prepare()
        return self


def _write_config(folder: Path, format: Format, search_format: Format) -> None:
    config = {"format": format, "search_format": search_format}
    (folder / CONFIG).write_text(json.dumps(config) + "\n", encoding="utf-8")


def _role(task: str | None) -> Role:
    return "paper" if task in (None, "document") else task  # type: ignore[return-value]
