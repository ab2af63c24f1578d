"""Families of backbones: how each states its architecture in `config.json`, and what it calls its weights.

A published name may be joined: "A + B" has the rows of A and then of B, "A # 1/3" is the second third of A's rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from sciprism.encoders.transformer import TransformerConfig
from sciprism.errors import InputError
from sciprism.registry import Registry

Settings = Mapping[str, Any]
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
}
"""Published name of an activation -> ours."""
SHAPE = {
    "vocabulary": "vocab_size",
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "intermediate": "intermediate_size",
    "positions": "max_position_embeddings",
}
"""Field of TransformerConfig -> its key in the `config.json` of most families."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How a family of models is published.

    title: its name. architecture: the class that transformers opens. words: the published name of the word embeddings.
    inside: how the names of the encoder's weights begin. tables, layer: our name of a module -> the published one; {n}
    is the layer, and in `tables` the last one. read: the further fields of an architecture, of a `config.json`. write:
    the further keys of one. shape: field of TransformerConfig -> its key. modules: as `layer`, of the names inside
    transformers, where these are others.
    """

    title: str
    architecture: str
    words: str
    inside: tuple[str, ...]
    tables: Mapping[str, str]
    layer: Mapping[str, str]
    read: Callable[[Settings], dict[str, Any]]
    write: Callable[[TransformerConfig], dict[str, Any]]
    shape: Mapping[str, str] = field(default_factory=lambda: SHAPE)
    modules: Mapping[str, str] = field(default_factory=dict)

    def names(self, config: TransformerConfig, prefix: str = "") -> dict[str, str]:
        """Return the published name of every weight of a plain backbone, by our name. prefix: of published names."""
        layers = range(config.layers)
        modules = {ours.format(n=config.layers - 1): theirs for ours, theirs in self.tables.items()}
        modules |= {ours.format(n=n): theirs.format(n=n) for n in layers for ours, theirs in self.layer.items()}
        absent = {"embeddings.segment": not config.types, "blocks.0.attention_norm": not config.style.first_norm}
        names = {}
        for ours, theirs in modules.items():
            if absent.get(ours):
                continue
            is_norm, style = "norm" in ours.rpartition(".")[2], config.style
            has_bias = style.norm_bias and not style.rms if is_norm else style.bias and ours.startswith("blocks.")
            parts = [(prefix + part).partition(" # ") for part in theirs.split(" + ")]
            for kind in ("weight", "bias") if has_bias else ("weight",):
                names[f"{ours}.{kind}"] = " + ".join(f"{name}.{kind}{mark}{share}" for name, mark, share in parts)
        return names

    def count_weights(self, config: TransformerConfig) -> int:
        """Return the number of weights that the layers have at least, published or under our names."""
        published = {part.partition(" # ")[0] for theirs in self.layer.values() for part in theirs.split(" + ")}
        return config.layers * min(len(published), len(self.layer)) - (not config.style.first_norm)


families: Registry[Family] = Registry("model type")


def name_activation(config: TransformerConfig) -> str:
    """Return the published name of an architecture's activation."""
    return {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}[config.activation]


def find_family(config: TransformerConfig) -> str:
    """Return the name of the family in which an architecture is written."""
    return config.style.family or (
        "mpnet" if config.relative_buckets else "roberta" if config.first_position else "bert"
    )


def read_theta(settings: Settings, kind: str = "", default: float = 10_000.0) -> float:
    """Return the base of the rotary positions, of all layers or of one kind. InputError where they are scaled."""
    stated: dict[str, Any] = settings.get("rope_parameters") or {}
    rotary: dict[str, Any] = stated.get(kind, stated) if kind else stated
    scaling: dict[str, Any] = settings.get("rope_scaling") or {}
    form = rotary.get("rope_type") or scaling.get("rope_type") or scaling.get("type") or "default"
    if form != "default":
        raise InputError(f"rotary positions of the kind {form!r} are not supported; evaluate runs such a model")
    return float(rotary.get("rope_theta", default))


def join_weights(tensors: dict[str, Tensor], names: Mapping[str, str]) -> None:
    """Put weights under the joined names that a model asks for, in place of those of the files."""
    taken: set[str] = set()
    for name in names.values():
        parts = [part.partition(" # ") for part in name.split(" + ")]
        if (len(parts) > 1 or parts[0][1]) and all(module in tensors for module, *_ in parts):
            tensors[name] = torch.cat([_take_rows(tensors[module], share) for module, _, share in parts])
            taken.update(module for module, *_ in parts)
    for module in taken:
        del tensors[module]


def _take_rows(weight: Tensor, share: str) -> Tensor:
    if not share:
        return weight
    number, count = map(int, share.split("/"))
    return weight.chunk(count)[number].clone()


def publish_weights(state: Mapping[str, Tensor], names: Mapping[str, str]) -> dict[str, Tensor]:
    """Return weights under their published names."""
    whole: dict[str, list[Tensor]] = {}
    for ours, weight in state.items():
        parts = names.get(ours, ours).split(" + ")
        for name, rows in zip(parts, weight.chunk(len(parts)), strict=True):
            whole.setdefault(name.partition(" # ")[0], []).append(rows)
    return {name: (torch.cat(parts) if len(parts) > 1 else parts[0]).contiguous() for name, parts in whole.items()}
