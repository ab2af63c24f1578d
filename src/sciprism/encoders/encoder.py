"""The public API of every model: load it by name, encode texts, and say which vectors are comparable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sciprism.arrays import Floats
from sciprism.checksums import write_checksums
from sciprism.encoders import selfcheck
from sciprism.encoders.checkpoints.folder import ModelFolder, atomic_folder, write_folder
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.inference import encode_sequences
from sciprism.encoders.model import Model
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.precision import AUTO, MIN_COSINE, fastest_precision
from sciprism.errors import InputError
from sciprism.formats import ROLES, Format, Role
from sciprism.text.template import FIELDS, Item, Template

WINDOW = 16_384  # texts tokenized and sorted together


class Encoder(Model):
    """A loaded model. Vectors of two encoders are comparable only if fingerprint and space are equal.

    on_batch: called with the number of texts of each batch that is encoded, from several threads.
    """

    on_batch: Callable[[int], None] | None = None

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

        `allenai/specter2` and other names of an adapter family give all its formats, the name of one adapter,
        such as `allenai/specter2_regression`, its one format; a missing adapter is an error.
        pooling, max_length: replace the folder's, or state them where it does not.
        precision: float32 (exact), bfloat16 or float16; auto is the fastest that the device has instructions for
        and whose vectors agree (`precision.MIN_COSINE`). Raises InputError, which says what to do.
        """
        overrides = {"pooling": pooling, "max_length": max_length}
        stated = "float32" if precision == AUTO else precision
        encoder, folder = _load_encoder(cls, name, overrides, stated, device)
        encoder.options = {key: value for key, value in overrides.items() if value is not None}
        if precision == AUTO:
            _use_fastest_precision(encoder)
        if encoder.precision != "float32":
            encoder.options["precision"] = encoder.precision
        if pooling is None and max_length is None:
            selfcheck.verify(folder, encoder.encode_all, encoder.tokenize, encoder.precision)
        return encoder

    @classmethod
    def start(
        cls,
        backbone: str | Path | None = None,
        *,
        method: str | None = None,
        options: Mapping[str, Any] | None = None,
        pooling: str | None = None,
        max_length: int | None = None,
        distance: str | None = None,
        normalize: bool | None = None,
        template: Template | Mapping[str, Any] | None = None,
        seed: int = 0,
        precision: str = "float32",
        device: str | None = None,
    ) -> Encoder:
        """Build an encoder of a method from a backbone or a `single` model, or continue one of the method.

        None, and options that are not stated, keep the folder's values. template: a whole one, or the fields
        that differ from the folder's. The method's modules start as copies of the backbone's, or random,
        seeded by `seed`. InputError where the method cannot start from the folder's model, or the options do
        not fit it.
        """
        changes = {
            "method": method,
            "options": options,
            "pooling": pooling,
            "max_length": max_length,
            "distance": distance,
            "normalize": normalize,
            "template": template,
        }
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return _load_encoder(cls, backbone, changes, precision, device)[0]

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format = "proximity",
        role: Role = "paper",
        fields: Sequence[str] = FIELDS,
        instruction: str | None = None,
        facets: bool = False,
    ) -> Floats:
        """Return one float32 row per item, (n, dim), in the order given.

        format: what the vectors are for. role: what the items are. fields: the fields of a paper that are
        encoded, by default title and abstract. instruction: replaces the format's own for this call; the
        vectors are in a space of their own. facets: return the facets, (n, K, dim), whose sum is the vector,
        before any scaling or normalisation.
        """
        route = self.route(format, role, instruction=instruction)
        shape = (self.method.facets, self.dim) if facets else (self.dim,)
        return self._encode_items(self.facets if facets else self.vectors, shape, items, role, fields, route)

    def _encode_items(
        self,
        compute: Callable[[PackedBatch], Tensor],
        shape: tuple[int, ...],
        items: Sequence[Item],
        role: Role,
        fields: Sequence[str],
        route: str = "all",
    ) -> Floats:
        """Return the output of `compute` for each item, (n, *shape), in the order given."""
        if self.model.training:
            raise InputError(f"{self.name} is in training; call prepare() before it encodes")
        texts = self.texts(items, role, fields)
        rows = np.empty((len(texts), *shape), dtype=np.float32)
        for start in range(0, len(texts), WINDOW):
            ids = self.tokenize(texts[start : start + WINDOW])
            encode_sequences(compute, ids, rows[start:], route=route, device=self.device, on_batch=self.on_batch)
        if not np.isfinite(rows).all():
            raise InputError(f"{self.name} gives vectors that are not finite in {self.precision}; try float32")
        return rows

    def encode_all(
        self, items: Sequence[Item], *, role: Role = "paper", formats: Sequence[Format] | None = None
    ) -> dict[Format, Floats]:
        """Return one array per format; formats that share an encoding path share the array.

        formats: None for all. A `prism` model computes all in one pass, others need one pass per path.
        """
        route_of = {format: self.route(format, role) for format in (self.formats if formats is None else formats)}
        routes = list(dict.fromkeys(route_of.values()))
        if self.method.one_pass and routes:
            compute = partial(self.vectors_by_route, routes=routes)
            rows = self._encode_items(compute, (len(routes), self.dim), items, role, FIELDS)
            found = {route: np.ascontiguousarray(rows[:, i]) for i, route in enumerate(routes)}
        else:
            found = {
                route: self._encode_items(self.vectors, (self.dim,), items, role, FIELDS, route) for route in routes
            }
        return {format: found[route] for format, route in route_of.items()}

    def describe(self) -> dict[str, Any]:
        """Return what is loaded, as JSON values."""
        config, settings = self.model.config, self.settings
        family = "RoBERTa" if config.first_position else "BERT"
        return {
            "name": self.name,
            "backbone": f"{family}, {config.layers} layers, {config.hidden} wide, {config.heads} heads",
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "method": settings.method,
            "options": dict(settings.options),
            "formats": list(self.formats),
            "spaces": {f: {r: self.space(f, r) for r in ROLES} for f in self.formats},
            "routes": {f: {r: self.route(f, r) for r in ROLES} for f in self.formats},
            "pooling": settings.pooling,
            "normalize": settings.normalize,
            "template": settings.template.to_json(),
            "max_length": settings.max_length,
            "distance": self.distance,
            "dim": self.dim,
            **({"lexical directions": config.lexical} if config.lexical else {}),
            "precision": self.precision,
            "device": str(self.device),
            "fingerprint": self.fingerprint,
            "ignored_weights": [*self.ignored, *self.provenance.get("ignored", ())],
            "provenance": {k: v for k, v in self.provenance.items() if k != "ignored"},
        }

    def save(self, folder: str | Path, *, compact: bool = False, **provenance: Any) -> None:
        """Write a model folder; a model in training mode stays in it.

        A new folder is written atomically; in an existing one, files are replaced one by one. Loading compares
        all files with `checksums.json`. The folder of a `single` model opens in sentence-transformers and
        transformers too. compact: int8 weights, a quarter of the size, which only sciprism opens; vectors differ
        slightly.
        """
        training = self.model.training
        try:
            with atomic_folder(Path(folder)) as draft, self.at_max_length():
                self.prepare()
                write_folder(
                    draft,
                    model=self.model,
                    tokenizer=self.tokenizer,
                    settings=self.settings,
                    provenance=provenance,
                    compact=compact,
                )
                written = Encoder.load(draft, device=str(self.device))  # checked as it will be loaded
                selfcheck.write(draft, written.encode_all, written.tokenize)
                write_checksums(draft)
        finally:
            self.model.train(training)


def _use_fastest_precision(encoder: Encoder) -> None:
    """Let an encoder compute in its device's fastest precision, if its vectors agree with those of float32."""
    fastest = fastest_precision(encoder.device)
    if fastest == encoder.precision:
        return
    exact = encoder.encode_all(list(selfcheck.TEXTS))
    encoder.precision = fastest
    encoder.prepare()
    try:
        quick = encoder.encode_all(list(selfcheck.TEXTS))
        agree = all(smallest_cosine(quick[format], exact[format]) >= MIN_COSINE for format in exact)
    except InputError:  # numbers that are not finite
        agree = False
    if not agree:
        encoder.precision = "float32"
        encoder.prepare()


def smallest_cosine(one: Floats, other: Floats) -> float:
    """Return the smallest cosine of corresponding rows of (n, d) and (n, d); NaN where a row is zero."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    with np.errstate(invalid="ignore"):
        return float(((one * other).sum(axis=1) / lengths).min())


def _load_encoder(
    cls: type[Encoder],
    name: str | Path | None,
    changes: Mapping[str, Any],
    precision: str,
    device: str | None,
) -> tuple[Encoder, Path]:
    full_name, folder = resolve(str(name) if name is not None else None)
    parts = ModelFolder(folder, changes, full_name)
    encoder = cls(parts.model, parts.tokenizer, parts.settings, name=full_name, precision=precision, device=device)
    encoder.ignored = parts.ignored
    encoder.provenance = parts.provenance
    encoder.folder = folder
    return encoder, folder
