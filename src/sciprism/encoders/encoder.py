"""The face of every model: texts in, vectors out, and where the vectors may be compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F

from sciprism.encoders import selfcheck
from sciprism.encoders.checkpoints.folder import Parts, write_folder
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.inference import Vectors, encode_sequences
from sciprism.encoders.methods import FORMATS, ROLES, Format, Role, methods
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.pooling import poolings
from sciprism.encoders.settings import Settings
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.text.habits import vocabulary_and_habits
from sciprism.text.template import FIELDS, PAPER_FIELDS, Item

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
WINDOW = 16_384  # texts tokenized and sorted together


class Encoder:
    """A loaded model. Vectors of two encoders compare only if fingerprint and space are equal."""

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        settings: Settings,
        *,
        name: str = "unnamed",
        precision: str = "float32",
        device: str | None = None,
    ) -> None:
        if precision not in PRECISIONS:
            raise InputError(f"unknown precision {precision!r}; known: {', '.join(PRECISIONS)}")
        self.name = name
        self.settings = settings
        self.precision = precision
        self.device = _usable_device(device)
        self.tokenizer = tokenizer
        self.method = methods[settings.method]()
        self.model = model.to(self.device).prepare(PRECISIONS[precision])
        self.ignored: tuple[str, ...] = ()
        self.options: dict[str, Any] = {}
        tokenizer.enable_truncation(settings.max_length)

    @classmethod
    def load(
        cls,
        name: str | Path | None = None,
        *,
        pooling: str | None = None,
        max_length: int | None = None,
        precision: str = "float32",
        device: str | None = None,
    ) -> Encoder:
        """Load a model by name: a folder, a packaged model, a hub id; None is the packaged default.

        pooling, max_length: state them where the folder does not, or instead of what it says.
        precision: float32 (exact), bfloat16 or float16. Raises InputError with what to do about it.
        """
        full_name, folder = resolve(str(name) if name is not None else None)
        parts = Parts(folder, pooling=pooling, max_length=max_length)
        encoder = cls(
            parts.model, parts.tokenizer, parts.settings, name=full_name, precision=precision, device=device
        )
        encoder.ignored = parts.ignored
        options = {"pooling": pooling, "max_length": max_length}
        encoder.options = {key: value for key, value in options.items() if value is not None}
        if precision != "float32":
            encoder.options["precision"] = precision
        if pooling is None and max_length is None:
            selfcheck.verify(encoder, folder)
        return encoder

    @property
    def formats(self) -> tuple[Format, ...]:
        """Return the formats this encoder serves."""
        return self.method.formats

    @property
    def dim(self) -> int:
        """Return the width of its vectors."""
        return self.model.config.hidden

    @property
    def distance(self) -> str:
        """Return how its vectors are meant to be compared: cosine, dot or euclidean."""
        return self.settings.distance

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash of all that decides the vectors: weights, shape, vocabulary and settings."""
        shape = asdict(replace(self.model.config, dropout=0.0, attention_dropout=0.0))
        digest = hashlib.sha256(json.dumps([self.settings.to_json(), shape], sort_keys=True).encode())
        digest.update(json.dumps(vocabulary_and_habits(self.tokenizer)).encode())
        for key, tensor in sorted(self.model.state_dict().items()):
            digest.update(f"{key}{tuple(tensor.shape)}".encode())
            digest.update(tensor.float().cpu().contiguous().numpy().data)
        return digest.hexdigest()[:16]

    def space(self, format: Format = "proximity", role: Role = "paper") -> str:
        """Name the space of such vectors; only vectors of one space (and fingerprint) compare."""
        self._check(format, role)
        return self.method.space(format, role)

    def path(self, format: Format = "proximity", role: Role = "paper") -> str:
        """Name the way from text to vector; formats and roles of one path get the same vectors."""
        self._check(format, role)
        prompt = self.settings.template.prompts.get(role, "")
        return self.method.route(format, role) + (f"|{prompt}" if prompt else "")

    def texts(self, items: Sequence[Item], role: Role = "paper", fields: Sequence[str] = FIELDS) -> list[str]:
        """Return the very texts that are tokenized for these items."""
        if isinstance(items, str) or not isinstance(items, Sequence):
            raise InputError(f"expected a list of papers, labels or texts, got one {type(items).__name__}")
        if isinstance(fields, str) or not set(fields) <= set(PAPER_FIELDS):
            raise InputError(f"unknown fields {fields!r}; a paper has {', '.join(PAPER_FIELDS)}")
        return [self.settings.template.text(item, role, fields) for item in items]

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format = "proximity",
        role: Role = "paper",
        fields: Sequence[str] = FIELDS,
    ) -> Vectors:
        """Return one float32 row per item, (n, dim), in the order given.

        format: what the vectors are for. role: what the items are. fields: which parts of a paper are
        read, title and abstract unless a task says otherwise.
        """
        self._check(format, role)
        texts = self.texts(items, role, fields)
        rows = np.empty((len(texts), self.dim), dtype=np.float32)
        route = self.method.route(format, role)
        for start in range(0, len(texts), WINDOW):
            ids = self._tokenize(texts[start : start + WINDOW])
            encode_sequences(self._vectors, ids, rows[start:], route=route, device=self.device)
        if not np.isfinite(rows).all():
            raise InputError(
                f"{self.name} gives vectors that are not finite in {self.precision}; try float32"
            )
        return rows

    def encode_all(self, items: Sequence[Item], *, role: Role = "paper") -> dict[Format, Vectors]:
        """Return one array per format; formats that share a path share the array."""
        by_path: dict[str, Vectors] = {}
        found: dict[Format, Vectors] = {}
        for format in self.formats:
            path = self.path(format, role)
            if path not in by_path:
                by_path[path] = self.encode(items, format=format, role=role)
            found[format] = by_path[path]
        return found

    def describe(self) -> dict[str, Any]:
        """Return what is loaded and active, as JSON values."""
        config = self.model.config
        parameters = sum(p.numel() for p in self.model.parameters())
        family = "RoBERTa" if config.first_position else "BERT"
        return {
            "name": self.name,
            "backbone": f"{family}, {config.layers} layers, {config.hidden} wide, {config.heads} heads",
            "parameters": parameters,
            "method": self.settings.method,
            "formats": list(self.formats),
            "spaces": {f: {r: self.space(f, r) for r in ROLES} for f in self.formats},
            "pooling": self.settings.pooling,
            "normalize": self.settings.normalize,
            "template": self.settings.template.to_json(),
            "max_length": self.settings.max_length,
            "distance": self.distance,
            "dim": self.dim,
            "precision": self.precision,
            "device": str(self.device),
            "fingerprint": self.fingerprint,
            "ignored_weights": list(self.ignored),
        }

    def save(self, folder: str | Path, **provenance: Any) -> None:
        """Write a model folder that this package, sentence-transformers and transformers can load."""
        folder = Path(folder)
        write_folder(
            folder, model=self.model, tokenizer=self.tokenizer, settings=self.settings, provenance=provenance
        )
        selfcheck.write(self, folder)

    def _check(self, format: str, role: str) -> None:
        if format not in self.formats:
            raise InputError(
                f"{self.name} has no format {format!r}; it has {', '.join(self.formats)}; all: {FORMATS}"
            )
        if role not in ROLES:
            raise InputError(f"unknown role {role!r}; known: {', '.join(ROLES)}")

    def _tokenize(self, texts: list[str]) -> list[list[int]]:
        try:
            return [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts)]
        except TypeError as error:  # what `tokenizers` raises for a lone surrogate
            text = next(text for text in texts if any("\ud800" <= c <= "\udfff" for c in text))
            raise InputError(f"half a character (a lone surrogate) in {text!r:.80}") from error

    def _vectors(self, batch: PackedBatch) -> Tensor:
        vectors = poolings[self.settings.pooling](self.model(batch), batch)
        return F.normalize(vectors, dim=-1) if self.settings.normalize else vectors


def _usable_device(name: str | None) -> torch.device:
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"the device {name} cannot be used: {str(error).splitlines()[0]}") from error
    return device
