"""SciRepEval's PALs (`allenai/scirepeval_pals`): a BERT with a small attention for each code in every layer.

The codes have numbers, their places in sorted order. A projection has one name of its own and one in every
layer that shares it; a file may have all of them or one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from sciprism.encoders.checkpoints.backbone import assemble, read_config
from sciprism.encoders.checkpoints.converted import facts_of, kept, read_tensors
from sciprism.encoders.checkpoints.family import CODES, family_settings
from sciprism.encoders.checkpoints.folder import write_folder
from sciprism.encoders.methods.registry import make
from sciprism.errors import InputError
from sciprism.files import sha256
from sciprism.formats import Format
from sciprism.text.tokenizer import read_json, read_tokenizer

NUMBERS: dict[Format, int] = {way: n for n, way in enumerate(sorted(CODES, key=CODES.__getitem__))}
HEADS = 6  # of the small attention, whatever the files say
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
ALIAS = re.compile(r"encoder\.layer\.\d+\.multi_layers\.(\d+)\.aug_(dense2?)\.(weight|bias)")
PLACED = re.compile(r"encoder\.(?:layer\.\d+\.multi_layers|mult_aug_dense2?)\.(\d+)\.")


def has_pals(folder: Path) -> bool:
    """Return whether the folder's config.json has the settings of such a model."""
    return "hidden_size_aug" in read_json(folder / "config.json", missing={})


def convert(folder: Path, title: str) -> Path:
    """Return the model folder of such a model, called title, of the method `pals`."""
    return kept(title, facts_of(folder), lambda draft: _write(draft, folder, title))


def _write(draft: Path, folder: Path, title: str) -> None:
    raw = read_json(folder / "config.json")
    for key in ("pals", "mult"):
        if raw.get(key) is not True:
            raise InputError(f"{folder}/config.json: {key} is {raw.get(key)!r}; only true is supported")
    for key in ("houlsby", "top", "lhuc"):
        if raw.get(key):
            raise InputError(f"{folder}/config.json: {key} is {raw[key]!r}, which is not supported")
    (draft / "config.json").write_text(json.dumps({"model_type": "bert"} | raw), encoding="utf-8")
    config = read_config(draft)  # theirs may lack its model type; write_folder replaces it
    path = next((folder / file for file in WEIGHTS if (folder / file).exists()), None)
    if path is None:
        raise InputError(f"{folder}: no weights; looked for {' and '.join(WEIGHTS)}")
    tokenizer, special = read_tokenizer(folder)
    settings = replace(
        family_settings(config.max_length, special),
        method="pals",
        options={"size": raw["hidden_size_aug"], "heads": HEADS},
    )
    weights = _shared_once(path, _without_prefix(read_tensors(path)))
    method = make(settings.method, settings.options)
    model, ignored = assemble(path, config, weights, method, names(config.layers))
    digest = sha256(path)
    provenance = {"converted from": title, "sha256": digest, "ignored": list(ignored)}
    write_folder(draft, model=model, tokenizer=tokenizer, settings=settings, provenance=provenance)


def names(layers: int) -> dict[str, str]:
    """Map our names of the PALs' weights to the published ones, each projection's to its own."""
    found = {}
    for way, number in NUMBERS.items():
        modules = {
            f"shared.{way}.down": f"encoder.mult_aug_dense.{number}",
            f"shared.{way}.up": f"encoder.mult_aug_dense2.{number}",
        }
        for layer in range(layers):
            ours = f"blocks.{layer}.side.experts.{way}.attention"
            theirs = f"encoder.layer.{layer}.multi_layers.{number}.attn"
            modules.update({f"{ours}.{part}": f"{theirs}.{part}" for part in ("query", "key", "value")})
        for ours, theirs in modules.items():
            found.update({f"{ours}.{what}": f"{theirs}.{what}" for what in ("weight", "bias")})
    return found


def _without_prefix(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix("bert."): tensor for name, tensor in weights.items()}


def _shared_once(path: Path, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights with each projection under its own name alone; layers that differ are refused."""
    numbers = {int(match[1]) for name in weights if (match := PLACED.match(name))}
    if numbers != set(NUMBERS.values()):
        order = ", ".join(sorted(CODES.values()))
        raise InputError(f"{path}: has PALs for {len(numbers)} codes; known: {len(CODES)}, for {order}")
    found: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        match = ALIAS.fullmatch(name)
        own = f"encoder.mult_aug_{match[2]}.{match[1]}.{match[3]}" if match else name
        if own in found and not torch.equal(found[own], tensor):
            raise InputError(f"{path}: {name} differs from {own}, with which its layers share it")
        found[own] = tensor
    return found
