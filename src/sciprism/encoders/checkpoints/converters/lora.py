"""Build models of `lora` from a base and folders of peft, local or on a hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from sciprism.encoders.checkpoints.backbone import load_tensors
from sciprism.encoders.checkpoints.folder import ModelFolder, write_folder
from sciprism.encoders.checkpoints.peft import WEIGHTS, read_updates, widen
from sciprism.encoders.checkpoints.released_models import AdapterSet, describe_origins
from sciprism.encoders.checkpoints.sentence_transformers import read_settings
from sciprism.encoders.methods.lora import PLACES
from sciprism.encoders.methods.registry import LowRankUpdates, build_method
from sciprism.errors import InputError
from sciprism.formats import Format


def write(draft: Path, source: AdapterSet) -> None:
    """Write the folder of a model of `lora`."""
    base = _read_base(source)
    found = {route: read_updates(path, base.model.config) for route, (_, path) in source.adapters.items()}
    options, tensors = _collect({route: updates for route, (updates, _) in found.items()})
    settings = replace(base.settings, method="lora", options={"formats": source.formats, **options})
    build_method(settings.method, settings.options).fill(base.model)
    absent = {name: weight.zero_() for name, weight in base.model.state_dict().items() if ".update." in name}
    load_tensors(Path(source.where), base.model, absent | tensors, {name: name for name in absent | tensors})
    weights = {route: path / WEIGHTS for route, (_, path) in source.adapters.items()}
    provenance = {
        "converted from": source.title,
        "backbone": source.base[0],
        "adapters": describe_origins(source.adapters, weights),
        "ignored": [*base.ignored, *(name for _, ignored in found.values() for name in ignored)],
    }
    write_folder(draft, base.model, base.tokenizer, settings, provenance)


def _read_base(source: AdapterSet) -> ModelFolder:
    """Return the base, with the settings that sentence-transformers wrote beside an adapter, or with its own."""
    name, folder = source.base
    written = [path for _, path in source.adapters.values() if (path / "modules.json").exists()]
    try:
        base = ModelFolder(folder, {"pooling": "mean"} if written else {}, name)
    except InputError as error:
        advice = f"a base states its pooling: sciprism export {name} -o base --pooling mean, next to the adapters"
        raise InputError(f"{source.where}: {error}; {advice}") from error
    base.check_plain(source.where, name)
    if written:
        base.settings = read_settings(written[0], base.model.config.max_length)
    return base


def _collect(found: Mapping[Format, LowRankUpdates]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return options that serve the updates of all routes, and their weights under our names."""
    first = next(iter(found.values()))
    rank = max(len(down) for updates in found.values() for down, _ in updates.products.values())
    tensors, places = {}, set()
    for route, updates in found.items():
        for name, (down, up) in updates.products.items():
            places.add(name.split(".", 2)[2])
            down, up = widen((down, up * (updates.scale / first.scale)), rank)
            tensors[f"{name}.update.experts.{route}.down.weight"] = down
            tensors[f"{name}.update.experts.{route}.up.weight"] = up
    targets = tuple(target for target, place in PLACES.items() if place in places)
    return {"rank": rank, "alpha": first.scale * rank, "targets": targets, "dropout": first.dropout}, tensors
