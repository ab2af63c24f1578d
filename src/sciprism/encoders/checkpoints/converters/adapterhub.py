"""Read folders of the library `adapters` (AdapterHub's layout), each with one adapter or one fusion.

Settings are in JSON, weights next to them under the library's names. Supported are the bottleneck after the
feed-forward (`seq_bn`, formerly `pfeiffer`) of SciRepEval and SPECTER2, and its fusion; any other setting is
another computation, and an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from sciprism.encoders.checkpoints.model_files import ADAPTER_CONFIG, ADAPTER_WEIGHTS
from sciprism.encoders.checkpoints.weights import read_tensors
from sciprism.errors import InputError
from sciprism.text.tokenizer import read_json


@dataclass(frozen=True, slots=True)
class AdapterHubKind:
    """The layout of a folder with an adapter, or with a fusion.

    settings: the supported values of what a folder states. parts: the library's name of a map -> ours;
    `pattern` matches the name of a weight: layer, adapter or fusion, map, weight or bias.
    """

    config: str
    weights: tuple[str, ...]
    settings: Mapping[str, Any]
    pattern: re.Pattern[str]
    parts: Mapping[str, str]


def _pattern(slot: str, maps: str) -> re.Pattern[str]:
    return re.compile(rf"(?:\w+\.)*encoder\.layer\.(\d+)\.output\.{slot}\.(.+)\.({maps})\.(weight|bias)")


ADAPTER = AdapterHubKind(
    config=ADAPTER_CONFIG,
    weights=ADAPTER_WEIGHTS,
    settings={
        "mh_adapter": False,
        "output_adapter": True,
        "is_parallel": False,
        "non_linearity": "relu",
        "original_ln_before": True,
        "original_ln_after": True,
        "residual_before_ln": True,
        "adapter_residual_before_ln": False,
        "ln_before": False,
        "ln_after": False,
        "scaling": 1.0,
        "use_gating": False,
        "cross_adapter": False,
        "phm_layer": False,
        "inv_adapter": None,
        "leave_out": [],
    },
    pattern=_pattern("adapters", r"adapter_down\.0|adapter_up"),
    parts={"adapter_down.0": "down", "adapter_up": "up"},
)
FUSION = AdapterHubKind(
    config="adapter_fusion_config.json",
    weights=("model_adapter_fusion.safetensors", "pytorch_model_adapter_fusion.bin"),
    settings={
        "query": True,
        "key": True,
        "value": True,
        "query_before_ln": False,
        "residual_before": False,
        "temperature": False,
    },
    pattern=_pattern("adapter_fusion_layer", "query|key|value"),
    parts={"query": "query", "key": "key", "value": "value"},
)
HEADS = ("model_head.safetensors", "pytorch_model_head.bin")


@dataclass(frozen=True, slots=True)
class AdapterHubModule:
    """An adapter or a fusion, as read from a folder.

    name: the adapter's, or the fused adapters' joined by commas. reduction: an adapter's, 0 for a fusion.
    weights: (block, our name inside the module, such as `down.weight`) -> tensor. ignored: files and weights
    of heads.
    """

    path: Path
    name: str
    reduction: int
    weights: Mapping[tuple[int, str], Tensor]
    ignored: tuple[str, ...]


def read_description(folder: Path, kind: AdapterHubKind) -> dict[str, Any]:
    """Return the JSON description of a folder of this kind: name, model_name, config and so on."""
    description: dict[str, Any] = read_json(folder / kind.config)
    if not isinstance(description.get("config"), dict) or not isinstance(description.get("name"), str):
        library = "peft" if "peft_type" in description else "another library"
        raise InputError(f"{folder / kind.config}: of {library}; only files of the library adapters are read")
    return description


def read_module(folder: Path, kind: AdapterHubKind) -> AdapterHubModule:
    """Return the adapter or fusion of a folder; an unsupported setting is an InputError."""
    path = next((folder / file for file in kind.weights if (folder / file).exists()), None)
    if path is None or not (folder / kind.config).exists():
        raise InputError(f"{folder}: expected {kind.config}, and one of {', '.join(kind.weights)}")
    config = read_description(folder, kind)["config"]
    for key, wanted in kind.settings.items():
        if key in config and config[key] != wanted:
            raise InputError(f"{folder / kind.config}: {key} is {config[key]!r}; only {wanted!r} is supported")
    name, weights, heads = _sort_weights(path, kind)
    return AdapterHubModule(
        path=path,
        name=name,
        reduction=_reduction(folder, config) if kind is ADAPTER else 0,
        weights=weights,
        ignored=(*heads, *(file for file in HEADS if (folder / file).exists())),
    )


def _sort_weights(path: Path, kind: AdapterHubKind) -> tuple[str, dict[tuple[int, str], Tensor], list[str]]:
    """Return the module's name, its weights, and the names of weights of heads."""
    weights, names, heads = {}, set(), []
    for key, tensor in read_tensors(path).items():
        found = kind.pattern.fullmatch(key)
        if found:
            layer, name, part, what = found.groups()
            names.add(name)
            weights[int(layer), f"{kind.parts[part]}.{what}"] = tensor
        elif key.startswith("heads."):
            heads.append(key)
        else:
            raise InputError(f"{path}: the weight {key} is unknown here")
    if len(names) != 1:
        raise InputError(f"{path}: expected the weights of one module, found {', '.join(names) or 'none'}")
    return names.pop(), weights, heads


def _reduction(folder: Path, config: Mapping[str, Any]) -> int:
    value = config.get("reduction_factor", 16)
    if isinstance(value, Mapping) and len(set(value.values())) == 1:
        value = next(iter(value.values()))
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 1 or value != int(value):
        raise InputError(
            f"{folder / ADAPTER.config}: reduction_factor is {value!r}, not one whole number for all layers"
        )
    return int(value)
