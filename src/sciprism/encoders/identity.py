"""The fingerprint of an encoder: a hash of all that decides its vectors."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace

from tokenizers import Tokenizer

from sciprism.encoders.settings import Settings
from sciprism.encoders.transformer import Transformer
from sciprism.text.habits import vocabulary_and_habits


def fingerprint(model: Transformer, tokenizer: Tokenizer, settings: Settings) -> str:
    """Return a hash of all that decides the vectors: weights, shape, vocabulary and settings."""
    shape = asdict(replace(model.config, dropout=0.0, attention_dropout=0.0))
    if not shape["lexical"]:
        del shape["lexical"]
    digest = hashlib.sha256(json.dumps([settings.to_json(), shape], sort_keys=True).encode())
    digest.update(json.dumps(vocabulary_and_habits(tokenizer)).encode())
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(f"{key}{tuple(tensor.shape)}".encode())
        digest.update(tensor.float().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:16]
