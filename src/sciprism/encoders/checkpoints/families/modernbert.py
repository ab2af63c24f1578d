"""ModernBERT (Warner et al. 2024), and the models of its type: Ettin, gte-modernbert, modernbert-embed, BioClinical."""

from __future__ import annotations

from typing import Any

from sciprism.encoders.checkpoints.families.family import Family, Settings, families, name_activation, read_theta
from sciprism.encoders.transformer import BlockStyle, TransformerConfig

FULL, LOCAL = "full_attention", "sliding_attention"
THETAS = {FULL: 160_000.0, LOCAL: 10_000.0}


def read(settings: Settings) -> dict[str, Any]:
    """Return the fields of an architecture, of configurations before and since transformers 5."""
    layers, every = settings["num_hidden_layers"], settings.get("global_attn_every_n_layers", 3)
    kinds = settings.get("layer_types") or [LOCAL if layer % every else FULL for layer in range(layers)]
    stated = {FULL: settings.get("global_rope_theta"), LOCAL: settings.get("local_rope_theta")}
    thetas = {kind: read_theta(settings, kind, stated[kind] or THETAS[kind]) for kind in THETAS}
    window = settings.get("local_attention", 128) // 2
    style = BlockStyle(
        family="modernbert",
        pre_norm=True,
        norm_bias=settings.get("norm_bias", False),
        bias=settings.get("attention_bias", False),
        first_norm=False,
        gated=True,
        thetas=tuple(thetas[kind] for kind in kinds),
        windows=tuple(window if kind == LOCAL else 0 for kind in kinds),
    )
    return {
        "types": 0,
        "style": style,
        "activation": settings.get("hidden_activation", "gelu"),
        "norm_eps": settings.get("norm_eps", 1e-5),
        "dropout": settings.get("mlp_dropout", 0.0),
        "attention_dropout": settings.get("attention_dropout", 0.0),
        "padding_id": settings.get("pad_token_id") or 0,
    }


def write(config: TransformerConfig) -> dict[str, Any]:
    """Return the further keys of the configuration."""
    style = config.style
    kinds = [LOCAL if window else FULL for window in style.windows]
    thetas = THETAS | dict(zip(kinds, style.thetas, strict=True))
    return {
        "hidden_activation": name_activation(config),
        "norm_eps": config.norm_eps,
        "norm_bias": style.norm_bias,
        "attention_bias": style.bias,
        "mlp_bias": style.bias,
        "mlp_dropout": config.dropout,
        "embedding_dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "pad_token_id": config.padding_id,
        "local_attention": 2 * max(style.windows),
        "layer_types": kinds,
        "rope_parameters": {kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in thetas.items()},
        # the same for transformers before 5
        "global_attn_every_n_layers": next((n for n, kind in enumerate(kinds) if n and kind == FULL), len(kinds)),
        "global_rope_theta": thetas[FULL],
        "local_rope_theta": thetas[LOCAL],
    }


families.register("modernbert")(
    Family(
        title="ModernBERT",
        architecture="ModernBertModel",
        words="embeddings.tok_embeddings.weight",
        inside=("embeddings.", "layers.", "final_norm."),
        tables={
            "embeddings.word": "embeddings.tok_embeddings",
            "embeddings.norm": "embeddings.norm",
            "blocks.{n}.last_norm": "final_norm",
        },
        layer={
            "blocks.{n}.attention.query": "layers.{n}.attn.Wqkv # 0/3",
            "blocks.{n}.attention.key": "layers.{n}.attn.Wqkv # 1/3",
            "blocks.{n}.attention.value": "layers.{n}.attn.Wqkv # 2/3",
            "blocks.{n}.attention.output": "layers.{n}.attn.Wo",
            "blocks.{n}.attention_norm": "layers.{n}.attn_norm",
            "blocks.{n}.feed_forward.expand": "layers.{n}.mlp.Wi",
            "blocks.{n}.feed_forward.contract": "layers.{n}.mlp.Wo",
            "blocks.{n}.feed_forward_norm": "layers.{n}.mlp_norm",
        },
        read=read,
        write=write,
    )
)
