"""Convert SciRepEval's PALs and control codes (`allenai/scirepeval_pals`, `allenai/scirepeval_ctrl`).

PALs are a BERT with one small attention per code and layer. The codes are numbered in sorted order. A projection has
its own name and an alias in every layer that shares it; a file may have all of these names or one. In a model of
control codes a text begins with a code, which the tokenizer recognizes; here the code is inserted after CLS, the same
position. The codes' rows are copied from the word embeddings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from sciprism.encoders.checkpoints.backbone import load_transformer, read_config, read_tensors
from sciprism.encoders.checkpoints.folder import ModelFolder, convert_once, describe_files, write_folder
from sciprism.encoders.checkpoints.released_models import CODES, LocateModel, ModelFiles, specter_settings
from sciprism.encoders.methods.registry import build_method
from sciprism.errors import InputError
from sciprism.files import sha256
from sciprism.formats import FORMATS, Format
from sciprism.text.tokenizer import read_json, read_tokenizer

NUMBERS: dict[Format, int] = {route: n for n, route in enumerate(sorted(CODES, key=CODES.__getitem__))}
HEADS = 6  # of the small attention; the files do not state it
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
ALIAS = re.compile(r"encoder\.layer\.\d+\.multi_layers\.(\d+)\.aug_(dense2?)\.(weight|bias)")
NUMBERED = re.compile(r"encoder\.(?:layer\.\d+\.multi_layers|mult_aug_dense2?)\.(\d+)\.")


def convert_pals(files: ModelFiles, locate: LocateModel) -> Path | None:  # noqa: ARG001 - a converter's signature
    """Return the folder of the converted model, of the method `pals`; None without PALs in config.json."""
    if "hidden_size_aug" not in read_json(files.path / "config.json", missing={}):
        return None
    return convert_once(files.title, describe_files(files.path), lambda draft: _write_pals(draft, files))


def _write_pals(draft: Path, files: ModelFiles) -> None:
    folder = files.path
    raw = read_json(folder / "config.json")
    for key in ("pals", "mult"):
        if raw.get(key) is not True:
            raise InputError(f"{folder}/config.json: {key} is {raw.get(key)!r}; only true is supported")
    for key in ("houlsby", "top", "lhuc"):
        if raw.get(key):
            raise InputError(f"{folder}/config.json: {key} is {raw[key]!r}, which is not supported")
    (draft / "config.json").write_text(json.dumps({"model_type": "bert"} | raw), encoding="utf-8")
    config = read_config(draft)  # the original may lack its model type; write_folder replaces this one
    path = next((folder / file for file in WEIGHTS if (folder / file).exists()), None)
    if path is None:
        raise InputError(f"{folder}: no weights; looked for {' and '.join(WEIGHTS)}")
    tokenizer, special = read_tokenizer(folder)
    options = {"size": raw["hidden_size_aug"], "heads": HEADS}
    settings = replace(specter_settings(config.max_length, special), method="pals", options=options)
    weights = _merge_aliases(path, read_tensors(path))
    method = build_method(settings.method, settings.options)
    model, ignored = load_transformer(path, config, weights, method, published_pal_names(config.layers))
    provenance = {"converted from": files.title, "sha256": sha256(path), "ignored": list(ignored)}
    write_folder(draft, model, tokenizer, settings, provenance)


def published_pal_names(layers: int) -> dict[str, str]:
    """Map our names of the PALs' weights to the published ones, without aliases."""
    names = {}
    for route, number in NUMBERS.items():
        modules = {
            f"shared.{route}.down": f"encoder.mult_aug_dense.{number}",
            f"shared.{route}.up": f"encoder.mult_aug_dense2.{number}",
        }
        for layer in range(layers):
            ours = f"blocks.{layer}.side.experts.{route}.attention"
            theirs = f"encoder.layer.{layer}.multi_layers.{number}.attn"
            modules.update({f"{ours}.{part}": f"{theirs}.{part}" for part in ("query", "key", "value")})
        for ours, theirs in modules.items():
            names.update({f"{ours}.{what}": f"{theirs}.{what}" for what in ("weight", "bias")})
    return names


def _merge_aliases(path: Path, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights without prefix and aliases of projections; aliases that differ are an InputError."""
    weights = {name.removeprefix("bert."): tensor for name, tensor in weights.items()}
    numbers = {int(match[1]) for name in weights if (match := NUMBERED.match(name))}
    if numbers != set(NUMBERS.values()):
        order = ", ".join(sorted(CODES.values()))
        raise InputError(f"{path}: has PALs for {len(numbers)} codes; known: {len(CODES)}, for {order}")
    merged: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        match = ALIAS.fullmatch(name)
        shared_name = f"encoder.mult_aug_{match[2]}.{match[1]}.{match[3]}" if match else name
        if shared_name in merged and not torch.equal(merged[shared_name], tensor):
            raise InputError(f"{path}: {name} differs from {shared_name}, which its layers should share")
        merged[shared_name] = tensor
    return merged


VOCABULARIES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")


def convert_control_codes(files: ModelFiles, locate: LocateModel) -> Path | None:  # noqa: ARG001 - a converter's signature
    """Return the folder of the converted model, of the method `control-codes`; None without all codes."""
    texts = [(files.path / file).read_bytes() for file in VOCABULARIES if (files.path / file).is_file()]
    if not all(any(f'"{code}"'.encode() in text for text in texts) for code in CODES.values()):
        return None
    return convert_once(files.title, describe_files(files.path), lambda draft: _write_control_codes(draft, files))


def _write_control_codes(draft: Path, files: ModelFiles) -> None:
    source = ModelFolder(files.path, {"pooling": "cls"})
    ids = {route: source.tokenizer.token_to_id(code) for route, code in CODES.items()}
    if lacking := ", ".join(CODES[route] for route, number in ids.items() if number is None):
        raise InputError(f"{files.path}: its tokenizer does not know {lacking}")
    settings = replace(
        specter_settings(source.settings.max_length, source.special), method="control-codes", pooling="code"
    )
    method = build_method("control-codes", {})
    method.fill(source.model)
    rows = source.model.embeddings.word.weight[[ids[route] for route in FORMATS]]
    source.model.load_state_dict({"embeddings.front.rows.weight": rows}, strict=False)
    provenance = {"converted from": files.title, "ignored": list(source.ignored)}
    write_folder(draft, source.model, source.tokenizer, settings, provenance)
