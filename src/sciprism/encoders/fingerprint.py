"""The fingerprint of an encoder: a hash of all that decides its vectors."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace

from tokenizers import Tokenizer

from sciprism.encoders.settings import EncoderSettings
from sciprism.encoders.transformer import Transformer
from sciprism.text.tokenizer_fingerprint import describe_tokenizer


def compute_fingerprint(model: Transformer, tokenizer: Tokenizer, settings: EncoderSettings) -> str:
    """Return a hash of all that decides the vectors: weights, architecture, vocabulary and settings."""
    config = replace(model.config, dropout=0.0, attention_dropout=0.0)
    shape = {key: value for key, value in asdict(config).items() if key != "lexical" or value}
    digest = hashlib.sha256(json.dumps([settings.to_json(), shape], sort_keys=True).encode())
    digest.update(json.dumps(describe_tokenizer(tokenizer)).encode())
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(f"{key}{tuple(tensor.shape)}".encode())
        digest.update(tensor.float().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:16]
