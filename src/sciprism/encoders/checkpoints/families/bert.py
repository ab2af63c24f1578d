"""BERT, RoBERTa with its relatives, ELECTRA, DistilBERT and MPNet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sciprism.encoders.attention import RELATIVE_BUCKETS
from sciprism.encoders.checkpoints.families.family import SHAPE, Family, Settings, families, name_activation
from sciprism.encoders.transformer import BlockStyle, TransformerConfig
from sciprism.errors import InputError

KEYS = {
    "types": "type_vocab_size",
    "norm_eps": "layer_norm_eps",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "padding_id": "pad_token_id",
    "relative_buckets": "relative_attention_num_buckets",
}
"""Field of TransformerConfig -> its key in `config.json`, in the order in which they are written."""


def read(settings: Settings) -> dict[str, Any]:
    """Return the fields of BERT's architecture."""
    if settings.get("position_embedding_type", "absolute") != "absolute" or settings.get("is_decoder"):
        raise InputError("relative positions and decoders are not supported; relative positions only of mpnet")
    kind = settings["model_type"]
    padding = settings.get("pad_token_id", 0 if kind == "bert" else 1) or 0
    first = 0 if kind == "bert" else padding + 1  # all but BERT leave the rows up to the padding id unused
    fields = {name: settings[key] for name, key in KEYS.items() if key in settings and name != "relative_buckets"}
    return fields | {"activation": settings.get("hidden_act", "gelu"), "padding_id": padding, "first_position": first}


def read_mpnet(settings: Settings) -> dict[str, Any]:
    """Return the fields of MPNet's architecture."""
    fields = read(settings)
    if fields["padding_id"] != 1:
        raise InputError(f"pad_token_id is {fields['padding_id']}; MPNet's positions begin after 1")
    return fields | {"types": 0, "relative_buckets": settings.get(KEYS["relative_buckets"], RELATIVE_BUCKETS)}


def read_electra(settings: Settings) -> dict[str, Any]:
    """Return the fields of ELECTRA's architecture."""
    if settings.get("embedding_size", settings["hidden_size"]) != settings["hidden_size"]:
        raise InputError("embeddings of another width than the layers are not supported")
    return read({**settings, "model_type": "bert"}) | {"style": BlockStyle(family="electra")}


def write_electra(config: TransformerConfig) -> dict[str, Any]:
    """Return the further keys of ELECTRA's configuration."""
    return write("relative_buckets")(config) | {"embedding_size": config.hidden}


def read_distilbert(settings: Settings) -> dict[str, Any]:
    """Return the fields of DistilBERT's architecture."""
    if settings.get("sinusoidal_pos_embds"):
        raise InputError("positions by sines are not supported")
    rates = {name: settings.get(name, 0.1) for name in ("dropout", "attention_dropout")}
    more = {"types": 0, "style": BlockStyle(family="distilbert"), "padding_id": settings.get("pad_token_id") or 0}
    return rates | more | {"activation": settings.get("activation", "gelu")}


def write_distilbert(config: TransformerConfig) -> dict[str, Any]:
    """Return the further keys of DistilBERT's configuration."""
    rates = {name: getattr(config, name) for name in ("dropout", "attention_dropout")}
    return rates | {"activation": name_activation(config), "pad_token_id": config.padding_id}


def write(absent: str) -> Callable[[TransformerConfig], dict[str, Any]]:
    """Return what writes the further keys. absent: the field that a family has not."""

    def keys(config: TransformerConfig) -> dict[str, Any]:
        activation = name_activation(config)
        written = {key: getattr(config, name) for name, key in KEYS.items() if name != absent}
        absolute = {"position_embedding_type": "absolute"} if absent == "relative_buckets" else {}
        return written | {"hidden_act": activation} | absolute

    return keys


BERT = Family(
    title="BERT",
    architecture="BertModel",
    words="embeddings.word_embeddings.weight",
    inside=("embeddings.", "encoder."),
    tables={
        "embeddings.word": "embeddings.word_embeddings",
        "embeddings.position": "embeddings.position_embeddings",
        "embeddings.segment": "embeddings.token_type_embeddings",
        "embeddings.norm": "embeddings.LayerNorm",
    },
    layer={
        "blocks.{n}.attention.query": "encoder.layer.{n}.attention.self.query",
        "blocks.{n}.attention.key": "encoder.layer.{n}.attention.self.key",
        "blocks.{n}.attention.value": "encoder.layer.{n}.attention.self.value",
        "blocks.{n}.attention.output": "encoder.layer.{n}.attention.output.dense",
        "blocks.{n}.attention_norm": "encoder.layer.{n}.attention.output.LayerNorm",
        "blocks.{n}.feed_forward.expand": "encoder.layer.{n}.intermediate.dense",
        "blocks.{n}.feed_forward.contract": "encoder.layer.{n}.output.dense",
        "blocks.{n}.feed_forward_norm": "encoder.layer.{n}.output.LayerNorm",
    },
    read=read,
    write=write("relative_buckets"),
)
MPNET_ATTENTION = {
    "blocks.{n}.attention.query": "encoder.layer.{n}.attention.attn.q",
    "blocks.{n}.attention.key": "encoder.layer.{n}.attention.attn.k",
    "blocks.{n}.attention.value": "encoder.layer.{n}.attention.attn.v",
    "blocks.{n}.attention.output": "encoder.layer.{n}.attention.attn.o",
    "blocks.{n}.attention_norm": "encoder.layer.{n}.attention.LayerNorm",
}
families.register("bert")(BERT)
for name in ("roberta", "xlm-roberta", "camembert"):
    families.register(name)(replace(BERT, title="RoBERTa", architecture="RobertaModel"))
families.register("electra")(
    replace(BERT, title="ELECTRA", architecture="ElectraModel", read=read_electra, write=write_electra)
)
families.register("distilbert")(
    replace(
        BERT,
        title="DistilBERT",
        architecture="DistilBertModel",
        inside=("embeddings.", "transformer."),
        layer={
            "blocks.{n}.attention.query": "transformer.layer.{n}.attention.q_lin",
            "blocks.{n}.attention.key": "transformer.layer.{n}.attention.k_lin",
            "blocks.{n}.attention.value": "transformer.layer.{n}.attention.v_lin",
            "blocks.{n}.attention.output": "transformer.layer.{n}.attention.out_lin",
            "blocks.{n}.attention_norm": "transformer.layer.{n}.sa_layer_norm",
            "blocks.{n}.feed_forward.expand": "transformer.layer.{n}.ffn.lin1",
            "blocks.{n}.feed_forward.contract": "transformer.layer.{n}.ffn.lin2",
            "blocks.{n}.feed_forward_norm": "transformer.layer.{n}.output_layer_norm",
        },
        read=read_distilbert,
        write=write_distilbert,
        shape=SHAPE | {"hidden": "dim", "layers": "n_layers", "heads": "n_heads", "intermediate": "hidden_dim"},
    )
)
families.register("mpnet")(
    replace(
        BERT,
        title="MPNet",
        architecture="MPNetModel",
        tables={**BERT.tables, "relative.bias": "encoder.relative_attention_bias"},
        layer={**BERT.layer, **MPNET_ATTENTION},
        read=read_mpnet,
        write=write("types"),
    )
)
