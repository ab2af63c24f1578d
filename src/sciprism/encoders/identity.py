"""What an encoder says of itself: its fingerprint and its description."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from sciprism.encoders.methods import ROLES
from sciprism.text.habits import vocabulary_and_habits

if TYPE_CHECKING:
    from sciprism.encoders.model import Model


def fingerprint(encoder: Model) -> str:
    """Return a hash of all that decides the vectors: weights, shape, vocabulary and settings."""
    shape = asdict(replace(encoder.model.config, dropout=0.0, attention_dropout=0.0))
    if not shape["lexical"]:
        del shape["lexical"]
    digest = hashlib.sha256(json.dumps([encoder.settings.to_json(), shape], sort_keys=True).encode())
    digest.update(json.dumps(vocabulary_and_habits(encoder.tokenizer)).encode())
    for key, tensor in sorted(encoder.model.state_dict().items()):
        digest.update(f"{key}{tuple(tensor.shape)}".encode())
        digest.update(tensor.float().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:16]


def description(encoder: Model) -> dict[str, Any]:
    """Return what is loaded and active, as JSON values."""
    config, settings = encoder.model.config, encoder.settings
    family = "RoBERTa" if config.first_position else "BERT"
    return {
        "name": encoder.name,
        "backbone": f"{family}, {config.layers} layers, {config.hidden} wide, {config.heads} heads",
        "parameters": sum(p.numel() for p in encoder.model.parameters()),
        "method": settings.method,
        "options": dict(settings.options),
        "formats": list(encoder.formats),
        "spaces": {f: {r: encoder.space(f, r) for r in ROLES} for f in encoder.formats},
        "routes": {f: {r: encoder.route(f, r) for r in ROLES} for f in encoder.formats},
        "pooling": settings.pooling,
        "normalize": settings.normalize,
        "template": settings.template.to_json(),
        "max_length": settings.max_length,
        "distance": encoder.distance,
        "dim": encoder.dim,
        **({"lexical directions": config.lexical} if config.lexical else {}),
        "precision": encoder.precision,
        "device": str(encoder.device),
        "fingerprint": encoder.fingerprint,
        "ignored_weights": [*encoder.ignored, *encoder.provenance.get("ignored", ())],
        "provenance": {k: v for k, v in encoder.provenance.items() if k != "ignored"},
    }
