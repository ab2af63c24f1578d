"""Read and write the public layouts of the families of backbones: `config.json` and weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from sciprism.encoders.checkpoints.families.family import ACTIVATIONS, families, find_family, join_weights
from sciprism.encoders.checkpoints.torch_files import read_torch_file
from sciprism.encoders.methods.registry import Method
from sciprism.encoders.transformer import Transformer, TransformerConfig
from sciprism.errors import InputError
from sciprism.files import describe_wrong_path, write_tensors
from sciprism.text.tokenizer import check_regular, read_json

COMPACT = "model.int8.safetensors"
"""Weights of a quarter of the size: int8 matrices, one scale per row. Other libraries ignore a file of this name."""
SCALE = ".scale"
MAX_INT8 = 127
OTHER_WEIGHTS = {".safetensors": "safetensors", ".ckpt": "a checkpoint", ".h5": "Keras", ".msgpack": "Flax"}
OTHER_WEIGHTS |= {".ot": "Rust", ".onnx": "ONNX", ".gguf": "llama.cpp", ".index": "TensorFlow"}
OTHER_WEIGHTS |= {".tflite": "TensorFlow Lite", **dict.fromkeys((".bin", ".pt", ".pth"), "PyTorch")}
"""Suffix of files with weights -> whose."""
MAX_LISTED = 8
WORDS = "embeddings.word.weight"
LEXICAL = "sciprism_lexical"


def read_config(folder: Path) -> TransformerConfig:
    """Return the architecture in `config.json`; one that is not supported is an InputError."""
    settings = read_json(folder / "config.json")
    kind = settings.get("model_type")
    if kind not in families:
        raise InputError(
            f"{folder}: model type {kind!r} is not supported; known: {', '.join(families)}. "
            f"`sciprism evaluate` runs others through their own library"
        )
    family = families[kind]
    if missing := [key for key in family.shape.values() if key not in settings]:
        raise InputError(f"{folder}/config.json: {missing[0]} is missing")
    fields = {name: settings[key] for name, key in family.shape.items()}
    try:
        fields |= family.read(settings)
        activation = str(fields["activation"])
        if activation not in ACTIVATIONS:
            raise InputError(f"activation {activation!r} is not supported; known: {', '.join(ACTIVATIONS)}")
        fields |= {"activation": ACTIVATIONS[activation], "lexical": settings.get(LEXICAL, 0)}
        return TransformerConfig(**fields)
    except (TypeError, ValueError) as error:
        raise InputError(f"{folder}/config.json: {error}") from error


def read_backbone(folder: Path) -> tuple[Transformer, tuple[str, ...]]:
    """Return the transformer with the folder's weights, float32, and the names of ignored tensors.

    Task heads, the pooler and `position_ids` are ignored. A tensor of the encoder that is missing, unknown or
    of another shape is an error: partly loaded models give wrong vectors.
    """
    return load_transformer(folder, read_config(folder), read_weights(folder))


def load_transformer(
    where: Path,
    config: TransformerConfig,
    weights: Mapping[str, Tensor],
    method: Method | None = None,
    method_names: Mapping[str, str] | None = None,
) -> tuple[Transformer, tuple[str, ...]]:
    """Return the transformer with weights of published names, and the names of ignored tensors.

    method: one whose modules are among the weights. method_names: our names of those -> the published ones.
    """
    tensors = {  # the first BERT releases had gamma and beta
        n.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): tensor
        for n, tensor in weights.items()
    }
    family = families[find_family(config)]
    prefixes = [name.removesuffix(family.words) for name in tensors if name.endswith(family.words)]
    if len(prefixes) != 1:
        raise InputError(
            f"{where}: expected one {family.words} in the weights, found {len(prefixes)}; is this a text encoder?"
        )
    _check_layers(where, config, weights)
    model = build_on_meta(config, method)
    prefix = prefixes[0]
    further = {ours: prefix + theirs for ours, theirs in (method_names or {}).items()}
    published = family.names(config, prefix) | further
    join_weights(tensors, published)
    load_tensors(where, model, tensors, published)
    inside = tuple(prefix + begin for begin in family.inside)
    _refuse_unknown(where, [n for n in tensors if n.startswith(inside) and not n.endswith("position_ids")])
    return model, tuple(sorted(tensors))


def read_filled(folder: Path, method: Method) -> Transformer:
    """Return the transformer with the method's modules and the folder's weights, which have our names.

    A tensor that is missing, of another shape, or unknown is an error.
    """
    config, tensors = read_config(folder), read_weights(folder)
    _check_layers(folder, config, tensors)
    model = build_on_meta(config, method)
    load_tensors(folder, model, tensors, {name: name for name in model.state_dict()})
    _refuse_unknown(folder, list(tensors))
    return model


def build_on_meta(config: TransformerConfig, method: Method | None = None) -> Transformer:
    """Return a transformer without memory for its weights, which come from a file."""
    with torch.device("meta"):
        model = Transformer(config)
        if method is not None:
            method.fill(model)
    return model


def load_tensors(where: Path, model: Transformer, tensors: dict[str, Tensor], names: Mapping[str, str]) -> None:
    """Move `tensors` into the model, as float32; names: the model's name -> the one in `tensors`.

    A tensor that is missing, of another shape, not floating point or not finite is an InputError, and so are token
    vectors of zeros alone.
    """
    state = model.state_dict()
    if missing := [name for name in names.values() if name not in tensors]:
        raise InputError(f"{where}: {len(missing)} weights are missing, the first is {missing[0]}")
    for ours, theirs in names.items():
        tensor = tensors.pop(theirs)
        if tensor.shape != state[ours].shape:
            shapes = f"{tuple(tensor.shape)}, config.json says {tuple(state[ours].shape)}"
            raise InputError(f"{where}: {theirs} has the shape {shapes}")
        if not tensor.is_floating_point():
            raise InputError(f"{where}: {theirs} holds {tensor.dtype}, not floating point")
        state[ours] = tensor.float()
        if not math.isfinite(state[ours].sum().item()):
            raise InputError(f"{where}: {theirs} holds numbers that are not finite; damaged")
        if ours == WORDS and not state[ours].any():
            raise InputError(f"{where}: {theirs} holds zeros alone: the model was never trained, or is damaged")
    model.load_state_dict(state, assign=True)


def _check_layers(where: Path, config: TransformerConfig, weights: Mapping[str, Tensor]) -> None:
    """Raise InputError where the weights are too few for the layers, before so many are built."""
    if families[find_family(config)].count_weights(config) > len(weights):
        raise InputError(f"{where}: config.json states {config.layers} layers, the weights are {len(weights)} tensors")


def _refuse_unknown(folder: Path, unknown: list[str]) -> None:
    if unknown:
        raise InputError(f"{folder}: {len(unknown)} weights of the encoder are unknown here, the first is {unknown[0]}")


def published_names(config: TransformerConfig) -> dict[str, str]:
    """Return the published name of every tensor of a plain backbone, by our name; some are joined (`families`)."""
    return families[find_family(config)].names(config)


def backbone_config(config: TransformerConfig) -> dict[str, Any]:
    """Return the `config.json` of this architecture."""
    name = find_family(config)
    return {
        "architectures": [families[name].architecture],
        "model_type": name,
        **{key: getattr(config, field) for field, key in families[name].shape.items()},
        **families[name].write(config),
    } | ({LEXICAL: config.lexical} if config.lexical else {})


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Return all tensors of the folder by name, from safetensors or, where there are none, from `.bin`.

    Both may be sharded with an index file. Our own compact weights are returned as float32.
    """
    compact = folder / COMPACT
    if compact.exists():
        return dequantize(read_tensors(compact), compact)
    for stem in ("model.safetensors", "pytorch_model.bin"):
        if (folder / stem).exists():
            return read_tensors(folder / stem)
        index = folder / f"{stem}.index.json"
        if index.exists():
            shard_of = read_json(index).get("weight_map")
            if not isinstance(shard_of, dict) or not shard_of:
                raise InputError(f"{index}: names no weight files")
            names = sorted({str(name) for name in shard_of.values()})
            for name in names:
                if Path(name).name != name or not (folder / name).exists():
                    raise InputError(f"{folder}: the weight index names {name!r}, which is not in the folder")
            return {key: tensor for name in names for key, tensor in read_tensors(folder / name).items()}
    raise InputError(f"{folder}: no weights; looked for model.safetensors and pytorch_model.bin{_list_others(folder)}")


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file of safetensors or of torch; a file that names code is refused."""
    if path.suffix != ".safetensors":
        saved = read_torch_file(path)
        if not isinstance(saved, dict):
            raise InputError(f"{path}: holds a {type(saved).__name__}, not named tensors")
        tensors = {str(name): tensor.detach() for name, tensor in saved.items() if isinstance(tensor, Tensor)}
        return {name: tensor.to_dense().contiguous().clone() for name, tensor in tensors.items()}  # need no mapped file
    check_regular(path)
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        wrong = describe_wrong_path(path, binary=True) or f"damaged or not safetensors: {error}"
        raise InputError(f"{path}: {wrong}") from error


def _list_others(folder: Path) -> str:
    """Return the files with weights under other names, in subfolders too, and how a model gets the right ones."""
    others = [path for path in sorted(folder.glob("**/*")) if path.suffix in OTHER_WEIGHTS and path.is_file()]
    if not others:
        return "; there are no other weight files in it: was the download complete?"
    names = [f"{path.relative_to(folder).as_posix()} ({OTHER_WEIGHTS[path.suffix]})" for path in others]
    more = f" and {len(names) - MAX_LISTED:,} more" if len(names) > MAX_LISTED else ""
    return (
        f"; it holds other weights: {', '.join(names[:MAX_LISTED])}{more}; rename a file of the same layout, "
        "or save the model as safetensors with the library that wrote it"
    )


def write_compact(state: dict[str, Tensor], folder: Path) -> None:
    """Write matrices as int8, the absolute maximum of a row as 127, and vectors unchanged."""
    tensors: dict[str, Tensor] = {}
    for name, weight in state.items():
        if weight.dim() < 2:
            tensors[name] = weight.contiguous()
            continue
        scale = weight.float().abs().amax(dim=-1, keepdim=True).clamp_min(torch.finfo(torch.float32).tiny) / MAX_INT8
        tensors[name] = (weight.float() / scale).round().to(torch.int8).contiguous()
        tensors[name + SCALE] = scale.squeeze(-1).contiguous()
    write_tensors(folder / COMPACT, tensors, {"format": "pt"})


def dequantize(tensors: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Return float32 weights; path: the file's, for error messages."""
    weights = {}
    for name, weight in tensors.items():
        if weight.dtype == torch.int8:
            scale = tensors.get(name + SCALE)
            if scale is None or scale.shape != weight.shape[:-1]:
                raise InputError(f"{path}: {name} has no scale for each of its rows; damaged")
            weights[name] = weight.float() * scale[..., None]
        elif not (name.endswith(SCALE) and name.removesuffix(SCALE) in tensors):
            weights[name] = weight
    return weights
