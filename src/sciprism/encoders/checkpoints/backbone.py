"""Read and write the public layout of BERT-shaped backbones: `config.json` and weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sciprism.encoders.checkpoints.weights import read_weights
from sciprism.encoders.methods.registry import Method
from sciprism.encoders.transformer import Transformer, TransformerConfig
from sciprism.errors import InputError
from sciprism.text.tokenizer import read_json

# model types of this shape; all but BERT keep the position table's rows up to the padding id free
FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert")
ACTIVATION_NAMES = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}

# our name -> the published name, inside the encoder; {n} is the layer
EMBEDDINGS = {
    "embeddings.word": "embeddings.word_embeddings",
    "embeddings.position": "embeddings.position_embeddings",
    "embeddings.segment": "embeddings.token_type_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
}
LAYER = {
    "blocks.{n}.attention.query": "encoder.layer.{n}.attention.self.query",
    "blocks.{n}.attention.key": "encoder.layer.{n}.attention.self.key",
    "blocks.{n}.attention.value": "encoder.layer.{n}.attention.self.value",
    "blocks.{n}.attention.output": "encoder.layer.{n}.attention.output.dense",
    "blocks.{n}.attention_norm": "encoder.layer.{n}.attention.output.LayerNorm",
    "blocks.{n}.feed_forward.expand": "encoder.layer.{n}.intermediate.dense",
    "blocks.{n}.feed_forward.contract": "encoder.layer.{n}.output.dense",
    "blocks.{n}.feed_forward_norm": "encoder.layer.{n}.output.LayerNorm",
}
ANCHOR = "embeddings.word_embeddings.weight"
LEXICAL = "sciprism_lexical"


def read_config(folder: Path) -> TransformerConfig:
    """Return the shape that `config.json` states; what this transformer cannot compute is refused."""
    raw = read_json(folder / "config.json")
    family = raw.get("model_type")
    if family not in FAMILIES:
        raise InputError(f"{folder}: model type {family!r} is not supported; known: {', '.join(FAMILIES)}")
    if raw.get("position_embedding_type", "absolute") != "absolute" or raw.get("is_decoder"):
        raise InputError(f"{folder}: relative positions and decoders are not supported")
    activation = str(raw.get("hidden_act", "gelu"))
    if activation not in ACTIVATION_NAMES:
        raise InputError(
            f"{folder}: activation {activation!r} is not supported; known: {', '.join(ACTIVATION_NAMES)}"
        )
    padding_id = raw.get("pad_token_id", 0 if family == "bert" else 1) or 0
    try:
        return TransformerConfig(
            vocabulary=raw["vocab_size"],
            hidden=raw["hidden_size"],
            layers=raw["num_hidden_layers"],
            heads=raw["num_attention_heads"],
            intermediate=raw["intermediate_size"],
            positions=raw["max_position_embeddings"],
            types=raw.get("type_vocab_size", 2),
            norm_eps=raw.get("layer_norm_eps", 1e-12),
            activation=ACTIVATION_NAMES[activation],
            dropout=raw.get("hidden_dropout_prob", 0.1),
            attention_dropout=raw.get("attention_probs_dropout_prob", 0.1),
            padding_id=padding_id,
            first_position=0 if family == "bert" else padding_id + 1,
            lexical=raw.get(LEXICAL, 0),
        )
    except KeyError as error:
        raise InputError(f"{folder}/config.json: {error.args[0]} is missing") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{folder}/config.json: {error}") from error


def read_backbone(folder: Path) -> tuple[Transformer, tuple[str, ...]]:
    """Return the transformer with the folder's weights, float32, and the names of ignored extra tensors.

    Task heads, the pooler and `position_ids` may be extra. A tensor that is missing, of another shape,
    or unknown inside the encoder is an error: half-loaded models give wrong vectors.
    """
    return assemble(folder, read_config(folder), read_weights(folder))


def assemble(
    where: Path,
    config: TransformerConfig,
    weights: Mapping[str, Tensor],
    method: Method | None = None,
    own: Mapping[str, str] | None = None,
) -> tuple[Transformer, tuple[str, ...]]:
    """Return the transformer with these weights, which have published names, and the ignored ones' names.

    method, own: a method whose modules' weights are among them, by our name -> the published one.
    """
    model = _without_weights(config, method)
    given = {_modern(name): tensor for name, tensor in weights.items()}
    prefix = _prefix(where, given)
    published = published_names(config) | dict(own or {})
    _take(where, model, given, {ours: prefix + theirs for ours, theirs in published.items()})
    _refuse(where, [name for name in given if _inside_encoder(name, prefix)])
    return model, tuple(sorted(given))


def read_filled(folder: Path, method: Method) -> Transformer:
    """Return the transformer with the method's modules and the folder's weights, under our own names.

    A tensor that is missing, of another shape, or unknown is an error.
    """
    model = _without_weights(read_config(folder), method)
    given = read_weights(folder)
    _take(folder, model, given, {name: name for name in model.state_dict()})
    _refuse(folder, list(given))
    return model


def _without_weights(config: TransformerConfig, method: Method | None = None) -> Transformer:
    with torch.device("meta"):  # shapes alone: the weights come from the file
        model = Transformer(config)
        if method is not None:
            method.fill(model)
    return model


def _take(folder: Path, model: Transformer, given: dict[str, Tensor], names: dict[str, str]) -> None:
    """Move tensors from `given` into the model, as float32. names: the model's name -> the one in `given`."""
    state = model.state_dict()
    missing = [name for name in names.values() if name not in given]
    if missing:
        raise InputError(f"{folder}: {len(missing)} weights are missing, the first is {missing[0]}")
    for ours, theirs in names.items():
        tensor = given.pop(theirs)
        if tensor.shape != state[ours].shape:
            shapes = f"{tuple(tensor.shape)}, config.json says {tuple(state[ours].shape)}"
            raise InputError(f"{folder}: {theirs} has the shape {shapes}")
        if not tensor.is_floating_point():
            raise InputError(f"{folder}: {theirs} holds {tensor.dtype}, not floating point")
        state[ours] = tensor.float()
    model.load_state_dict(state, assign=True)


def _refuse(folder: Path, unknown: list[str]) -> None:
    if unknown:
        raise InputError(
            f"{folder}: {len(unknown)} weights of the encoder are unknown here, the first is {unknown[0]}"
        )


def published_names(config: TransformerConfig) -> dict[str, str]:
    """Map our parameter names to the published ones, for every tensor of a plain backbone."""
    modules = dict(EMBEDDINGS)
    for n in range(config.layers):
        modules.update({ours.format(n=n): theirs.format(n=n) for ours, theirs in LAYER.items()})
    names = {}
    for ours, theirs in modules.items():
        names[f"{ours}.weight"] = f"{theirs}.weight"
        if not ours.startswith("embeddings.") or ours.endswith(".norm"):
            names[f"{ours}.bias"] = f"{theirs}.bias"
    return names


def backbone_state(model: Transformer) -> dict[str, Tensor]:
    """Return the transformer's weights under their published names, for a folder others can read."""
    state = model.state_dict()
    return {theirs: state[ours].contiguous() for ours, theirs in published_names(model.config).items()}


def backbone_config(config: TransformerConfig) -> dict[str, Any]:
    """Return `config.json` for a transformer of this shape."""
    family = "roberta" if config.first_position else "bert"
    activation = {ours: theirs for theirs, ours in reversed(ACTIVATION_NAMES.items())}[config.activation]
    return {
        "architectures": ["RobertaModel" if family == "roberta" else "BertModel"],
        "model_type": family,
        "vocab_size": config.vocabulary,
        "hidden_size": config.hidden,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.intermediate,
        "max_position_embeddings": config.positions,
        "type_vocab_size": config.types,
        "layer_norm_eps": config.norm_eps,
        "hidden_act": activation,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "pad_token_id": config.padding_id,
        "position_embedding_type": "absolute",
    } | ({LEXICAL: config.lexical} if config.lexical else {})


def _modern(name: str) -> str:
    """Rename what the first BERT releases called gamma and beta."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def _prefix(folder: Path, given: dict[str, Tensor]) -> str:
    found = [name.removesuffix(ANCHOR) for name in given if name.endswith(ANCHOR)]
    if len(found) != 1:
        raise InputError(
            f"{folder}: expected one {ANCHOR} in the weights, found {len(found)}; is this a text encoder?"
        )
    return found[0]


def _inside_encoder(name: str, prefix: str) -> bool:
    inner = name.removeprefix(prefix)
    return (
        name.startswith(prefix)
        and inner.startswith(("embeddings.", "encoder."))
        and not inner.endswith("position_ids")
    )
