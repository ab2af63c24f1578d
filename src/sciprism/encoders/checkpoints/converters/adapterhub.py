"""Build models of `adapters` and `adapter-fusion` from a base and folders of AdapterHub, local or on a hub.

Settings are in JSON, weights next to them under the names of the library `adapters`. Supported are the bottleneck
after the feed-forward (`seq_bn`, formerly `pfeiffer`) of SciRepEval and SPECTER2, and its fusion; any other setting is
another computation, and an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from sciprism.encoders.checkpoints.backbone import load_tensors, read_tensors
from sciprism.encoders.checkpoints.folder import ModelFolder, write_folder
from sciprism.encoders.checkpoints.released_models import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    AdapterSet,
    describe_origins,
    specter_settings,
)
from sciprism.encoders.methods.registry import build_method
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.formats import Format
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
        **dict.fromkeys(("original_ln_before", "original_ln_after", "residual_before_ln"), True),
        **dict.fromkeys(("adapter_residual_before_ln", "ln_before", "ln_after"), False),
        "scaling": 1.0,
        **dict.fromkeys(("use_gating", "cross_adapter", "phm_layer"), False),
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
        **dict.fromkeys(("query", "key", "value"), True),
        **dict.fromkeys(("query_before_ln", "residual_before", "temperature"), False),
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


def write(draft: Path, source: AdapterSet) -> None:
    """Write the folder of a model of `adapters` or, where there are fusions, of `adapter-fusion`."""
    adapters = {route: read_module(path, ADAPTER) for route, (_, path) in source.adapters.items()}
    fusions = {route: read_module(path, FUSION) for route, (_, path) in source.fusions.items()}
    reductions = sorted({module.reduction for module in adapters.values()})
    if len(reductions) != 1:
        raise InputError(f"{source.where}: the reduction of its adapters differs: {reductions}")
    names = sorted(module.name for module in adapters.values())
    for module in fusions.values():
        if sorted(module.name.split(",")) != names:
            has = f"{source.where} has adapters and fusions of {','.join(names)}"
            raise InputError(f"{module.path}: fuses {module.name}; {has}")
    base = ModelFolder(source.base[1], {"pooling": "cls"})
    base.check_plain(source.where, source.base[0])
    settings = replace(
        specter_settings(base.settings.max_length, base.special),
        method="adapter-fusion" if fusions else "adapters",
        options={"reduction": reductions[0], "formats": source.formats},
    )
    build_method(settings.method, settings.options).fill(base.model)
    _load_modules(source.where, base.model, {"experts": adapters, "fusions": fusions})

    modules = (*adapters.values(), *fusions.values())
    provenance = {
        "converted from": source.title,
        "backbone": source.base[0],
        "adapters": describe_origins(source.adapters, {route: each.path for route, each in adapters.items()}),
        "ignored": [*base.ignored, *(name for module in modules for name in module.ignored)],
    }
    if fusions:
        provenance["fusions"] = describe_origins(source.fusions, {route: each.path for route, each in fusions.items()})
    write_folder(draft, base.model, base.tokenizer, settings, provenance)


def _load_modules(where: str, model: Transformer, modules: Mapping[str, Mapping[Format, AdapterHubModule]]) -> None:
    """Load the modules' weights into the model; a missing, unknown or misshapen one is an InputError."""
    wanted = {name for name in model.state_dict() if ".adapter." in name}
    for slot, route, module in ((slot, *pair) for slot, by_route in modules.items() for pair in by_route.items()):
        tensors = {f"blocks.{n}.adapter.{slot}.{route}.{part}": tensor for (n, part), tensor in module.weights.items()}
        if unknown := tensors.keys() - wanted:
            raise InputError(f"{module.path}: the model has no weight {min(unknown)}; is its base another one?")
        wanted -= tensors.keys()
        load_tensors(module.path, model, tensors, {name: name for name in tensors})
    if wanted:
        raise InputError(f"{where}: {len(wanted)} adapter weights are missing, the first is {min(wanted)}")


def read_module(folder: Path, kind: AdapterHubKind) -> AdapterHubModule:
    """Return the adapter or fusion of a folder; an unsupported setting is an InputError."""
    path = next((folder / file for file in kind.weights if (folder / file).exists()), None)
    if path is None or not (folder / kind.config).exists():
        raise InputError(f"{folder}: expected {kind.config}, and one of {', '.join(kind.weights)}")
    config = read_json(folder / kind.config)["config"]
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
        match = kind.pattern.fullmatch(key)
        if match:
            layer, name, part, what = match.groups()
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
