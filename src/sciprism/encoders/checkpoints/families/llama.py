"""Models with Llama's names: EuroBERT (Boizard et al. 2025), and Qwen3 with Qwen3-Embedding (2025)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sciprism.encoders.checkpoints.families.family import Family, Settings, families, name_activation, read_theta
from sciprism.encoders.transformer import BlockStyle, TransformerConfig
from sciprism.errors import InputError


def read(family: str, *, causal: bool) -> Callable[[Settings], dict[str, Any]]:
    """Return what reads the fields of an architecture. causal: a token attends to those before it alone."""

    def fields(settings: Settings) -> dict[str, Any]:
        if settings.get("use_sliding_window") or settings.get("attention_bias") or settings.get("mlp_bias"):
            raise InputError("windows and biases of linear maps are not supported in this family")
        heads = settings["num_attention_heads"]
        theta = read_theta(settings, default=settings.get("rope_theta", 10_000.0))
        style = BlockStyle(
            family=family,
            pre_norm=True,
            rms=True,
            bias=False,
            embedding_norm=False,
            gated=True,
            key_heads=settings.get("num_key_value_heads") or heads,
            head_width=settings.get("head_dim") or settings["hidden_size"] // heads,
            head_norm=causal,
            causal=causal,
            thetas=(theta,) * settings["num_hidden_layers"],
        )
        return {
            "types": 0,
            "style": style,
            "activation": settings.get("hidden_act", "silu"),
            "norm_eps": settings.get("rms_norm_eps", 1e-5),
            "dropout": 0.0,
            "attention_dropout": settings.get("attention_dropout", 0.0),
            "padding_id": settings.get("pad_token_id") or 0,
        }

    return fields


def write(config: TransformerConfig) -> dict[str, Any]:
    """Return the further keys of the configuration."""
    style = config.style
    return {
        "hidden_act": name_activation(config),
        "rms_norm_eps": config.norm_eps,
        "attention_dropout": config.attention_dropout,
        "pad_token_id": config.padding_id,
        "num_key_value_heads": style.key_heads,
        "head_dim": style.head_width,
        "attention_bias": False,
        "rope_theta": style.thetas[0],
        "rope_parameters": {"rope_type": "default", "rope_theta": style.thetas[0]},
    }


EUROBERT = Family(
    title="EuroBERT",
    architecture="EuroBertModel",
    words="embed_tokens.weight",
    inside=("embed_tokens.", "layers.", "norm."),
    tables={"embeddings.word": "embed_tokens", "blocks.{n}.last_norm": "norm"},
    layer={
        **{
            f"blocks.{{n}}.attention.{name}": f"layers.{{n}}.self_attn.{name[0]}_proj"
            for name in ("query", "key", "value")
        },
        "blocks.{n}.attention.output": "layers.{n}.self_attn.o_proj",
        "blocks.{n}.attention_norm": "layers.{n}.input_layernorm",
        "blocks.{n}.feed_forward.expand": "layers.{n}.mlp.gate_proj + layers.{n}.mlp.up_proj",
        "blocks.{n}.feed_forward.contract": "layers.{n}.mlp.down_proj",
        "blocks.{n}.feed_forward_norm": "layers.{n}.post_attention_layernorm",
    },
    read=read("eurobert", causal=False),
    write=write,
)
HEAD_NORMS = {
    f"blocks.{{n}}.attention.{name}_norm": f"layers.{{n}}.self_attn.{name[0]}_norm" for name in ("query", "key")
}
families.register("eurobert")(EUROBERT)
families.register("qwen3")(
    replace(
        EUROBERT,
        title="Qwen3",
        architecture="Qwen3Model",
        layer={**EUROBERT.layer, **HEAD_NORMS},
        read=read("qwen3", causal=True),
    )
)
