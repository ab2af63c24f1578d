"""Static models, of model2vec and sentence-transformers: a vector per token, whose mean is a text's vector."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sciprism.arrays import Floats
from sciprism.encoders.checkpoints.backbone import read_weights
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.checkpoints.sentence_transformers import read_static_settings
from sciprism.errors import InputError
from sciprism.evaluation.systems import TemplateEncoder
from sciprism.formats import Format, Role
from sciprism.text.template import FIELDS, Item, Template
from sciprism.text.tokenizer import describe_tokenizer, open_tokenizer, read_json

DEFAULT_LENGTH = 512  # tokens of a text in model2vec, where the folder states no number


class StaticEncoder(TemplateEncoder):
    """A static model with the vectors of the library that wrote it; an `EncoderProtocol`, for `evaluate`.

    name: a folder or a hub id. model2vec truncates texts to characters, the tokens' median length times the
    maximum length, then to tokens, and leaves out the unknown token. StaticEmbedding of sentence-transformers does
    neither. A text without tokens has the vector zero. InputError for a folder with other tensors.
    """

    _length: int | None = None
    _unknown: int | None = None
    _characters: int | None = None

    def __init__(self, name: str | Path) -> None:
        self.name, folder = resolve(str(name))
        inner, normalize, prompts, self.distance = read_static_settings(folder)
        config = read_json(inner / "config.json", missing={})
        self.template = Template(separator=" ", prompts=prompts)
        self.tokenizer = open_tokenizer(inner / "tokenizer.json")
        self.tokenizer.no_padding()
        weights = read_weights(inner)
        table = weights.get("embeddings", weights.get("embedding.weight"))
        if table is None or table.dim() != 2:
            raise InputError(f"{inner}: expected a matrix embeddings or embedding.weight, found {', '.join(weights)}")
        self._table: NDArray[Any] = (table.float() if table.dtype == torch.bfloat16 else table).numpy()
        self._rows, self._factors = (weights[key].numpy() if key in weights else None for key in ("mapping", "weights"))
        self._check_sizes(inner)
        self._is_model2vec, self._normalize = "embeddings" in weights, normalize
        if self._is_model2vec:
            self._normalize = bool(config.get("normalize"))
            self._length = config.get("max_length", DEFAULT_LENGTH)
            self._unknown = _unknown_token(self.tokenizer)
            self.tokenizer.no_truncation()
            if self._length is not None:
                self.tokenizer.enable_truncation(self._length)
                self._characters = self._length * int(np.median([*map(len, self.tokenizer.get_vocab())]))

    def _check_sizes(self, folder: Path) -> None:
        tokens = 1 + max(self.tokenizer.get_vocab().values(), default=-1)
        rows = [len(x) for x in (self._rows, self._factors) if x is not None] or [len(self._table)]
        if min(rows) < tokens or (self._rows is not None and self._rows.max() >= len(self._table)):
            raise InputError(f"{folder}: the tokenizer knows {tokens} tokens, the weights {min(rows)}")

    @property
    def dim(self) -> int:
        """Return the width of the vectors."""
        return int(self._table.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash of table, vocabulary and settings."""
        facts = [self._is_model2vec, self._normalize, self._length, self.template.to_json(), self.distance]
        digest = hashlib.sha256(json.dumps([*facts, describe_tokenizer(self.tokenizer)]).encode())
        for array in (self._table, self._rows, self._factors):
            digest.update(b"none" if array is None else np.ascontiguousarray(array).data)
        return digest.hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return what is loaded, as JSON values."""
        library = "model2vec" if self._is_model2vec else "StaticEmbedding"
        facts = {"name": self.name, "method": "static", "library": library, "normalize": self._normalize}
        facts |= {"max_length": self._length, "template": self.template.to_json(), "distance": self.distance}
        return facts | {"dim": self.dim, "fingerprint": self.fingerprint}

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format = "proximity",
        role: Role = "paper",
        fields: Sequence[str] = FIELDS,
    ) -> Floats:
        """Return one float32 row per item, (n, dim), in the order given."""
        texts = [text[: self._characters] for text in self.texts(items, role, fields)]
        dtype = np.dtype(np.float32) if self._table.dtype == np.int8 else self._table.dtype
        vectors = np.zeros((len(texts), self.dim), dtype)
        encodings = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        for vector, encoding in zip(vectors, encodings, strict=True):
            ids = [token for token in encoding.ids if token != self._unknown]
            if ids:
                tokens = self._table[ids if self._rows is None else self._rows[ids]]
                vector[:] = (tokens if self._factors is None else tokens * self._factors[ids, None]).mean(axis=0)
        rows = vectors.astype(np.float32)
        if self._normalize:  # rounded again, as model2vec does
            rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return rows.astype(dtype).astype(np.float32)


def _unknown_token(tokenizer: Tokenizer) -> int | None:
    """Return the id of the unknown token of a tokenizer's model, None where it has none."""
    model = json.loads(tokenizer.to_str())["model"]
    if model.get("unk_id") is not None:
        return int(model["unk_id"])
    return None if model.get("unk_token") is None else tokenizer.token_to_id(model["unk_token"])
