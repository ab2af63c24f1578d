"""NomicBERT (Nussbaum et al. 2024): BERT with rotary positions and a gated feed-forward."""

from __future__ import annotations

from typing import Any

from sciprism.encoders.checkpoints.families.family import Family, Settings, families, name_activation, read_theta
from sciprism.encoders.checkpoints.families.llama import EUROBERT
from sciprism.encoders.transformer import BlockStyle, TransformerConfig


def read(settings: Settings) -> dict[str, Any]:
    """Return the fields of NomicBERT's architecture: norms after each sub-layer, as BERT's, and segments."""
    theta = read_theta(settings, default=1_000.0)
    layers = settings["num_hidden_layers"]
    return {
        "types": settings.get("type_vocab_size", 2),
        "style": BlockStyle(family="nomic_bert", bias=False, gated=True, thetas=(theta,) * layers),
        "activation": settings.get("hidden_act", "silu"),
        "norm_eps": settings.get("layer_norm_eps", 1e-12),
        "dropout": settings.get("hidden_dropout_prob", 0.0),
        "attention_dropout": settings.get("attention_probs_dropout_prob", 0.0),
        "padding_id": settings.get("pad_token_id") or 0,
    }


def write(config: TransformerConfig) -> dict[str, Any]:
    """Return the further keys of NomicBERT's configuration."""
    return {
        "hidden_act": name_activation(config),
        "layer_norm_eps": config.norm_eps,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "pad_token_id": config.padding_id,
        "type_vocab_size": config.types,
        "rope_parameters": {"rope_type": "default", "rope_theta": config.style.thetas[0]},
    }


families.register("nomic_bert")(
    Family(
        title="NomicBERT",
        architecture="NomicBertModel",
        words="embeddings.word_embeddings.weight",
        inside=("embeddings.", "emb_ln.", "encoder."),
        tables={
            "embeddings.word": "embeddings.word_embeddings",
            "embeddings.segment": "embeddings.token_type_embeddings",
            "embeddings.norm": "emb_ln",
        },
        layer={
            "blocks.{n}.attention.query": "encoder.layers.{n}.attn.Wqkv # 0/3",
            "blocks.{n}.attention.key": "encoder.layers.{n}.attn.Wqkv # 1/3",
            "blocks.{n}.attention.value": "encoder.layers.{n}.attn.Wqkv # 2/3",
            "blocks.{n}.attention.output": "encoder.layers.{n}.attn.out_proj",
            "blocks.{n}.attention_norm": "encoder.layers.{n}.norm1",
            "blocks.{n}.feed_forward.expand": "encoder.layers.{n}.mlp.fc12 + encoder.layers.{n}.mlp.fc11",
            "blocks.{n}.feed_forward.contract": "encoder.layers.{n}.mlp.fc2",
            "blocks.{n}.feed_forward_norm": "encoder.layers.{n}.norm2",
        },
        read=read,
        write=write,
        modules=EUROBERT.layer,
    )
)
