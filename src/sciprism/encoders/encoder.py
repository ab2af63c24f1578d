"""The face of every model: texts in, vectors out, and where the vectors may be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sciprism.arrays import Floats
from sciprism.encoders import selfcheck
from sciprism.encoders.checkpoints.folder import Parts, whole, write_folder
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.face import encode_all
from sciprism.encoders.inference import encode_sequences
from sciprism.encoders.model import Model
from sciprism.encoders.packing import PackedBatch
from sciprism.errors import InputError
from sciprism.formats import ROLES, Format, Role
from sciprism.text.template import FIELDS, Item, Template

WINDOW = 16_384  # texts tokenized and sorted together


class Encoder(Model):
    """A loaded model. Vectors of two encoders compare only if fingerprint and space are equal."""

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

        Of a released family of adapters one name gives all formats (`allenai/specter2`), and the name of an
        adapter its one format (`allenai/specter2_regression`); an adapter that is not there is refused.
        pooling, max_length: state them where the folder does not, or instead of what it says.
        precision: float32 (exact), bfloat16 or float16. Raises InputError with what to do about it.
        """
        asked = {"pooling": pooling, "max_length": max_length}
        encoder, folder = _opened(cls, name, asked, precision, device)
        encoder.options = {key: value for key, value in asked.items() if value is not None}
        if precision != "float32":
            encoder.options["precision"] = precision
        if pooling is None and max_length is None:
            selfcheck.verify(encoder, folder)
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
        """Make an encoder of a method from a backbone or a `single` model, or continue one of the method.

        None keeps what the folder says, as do options that are not stated. template: a whole one, or what
        differs from the folder's. The method's modules start as copies of the backbone's, or random as `seed`
        decides. InputError where the folder's model is not what the method starts from, or has not what the
        options ask for.
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
            return _opened(cls, backbone, changes, precision, device)[0]

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

        format: what the vectors are for. role: what the items are. fields: which parts of a paper are
        read, title and abstract unless a task says otherwise. instruction: words of this call instead
        of the format's own; their vectors lie in a space of their own. facets: each by itself, (n, K, dim);
        the vector is their sum, which some models stretch or scale to length 1.
        """
        route = self.route(format, role, instruction=instruction)
        shape = (self.method.facets, self.dim) if facets else (self.dim,)
        return self._encoded(self.facets if facets else self.vectors, shape, items, role, fields, route)

    def _encoded(
        self,
        compute: Callable[[PackedBatch], Tensor],
        shape: tuple[int, ...],
        items: Sequence[Item],
        role: Role,
        fields: Sequence[str],
        route: str = "all",
    ) -> Floats:
        """Return what is computed of each item, (n, *shape), in the order given."""
        if self.model.training:
            raise InputError(f"{self.name} is being trained; prepare() it before it encodes")
        texts = self.texts(items, role, fields)
        rows = np.empty((len(texts), *shape), dtype=np.float32)
        for start in range(0, len(texts), WINDOW):
            ids = self.tokenize(texts[start : start + WINDOW])
            encode_sequences(compute, ids, rows[start:], route=route, device=self.device)
        if not np.isfinite(rows).all():
            raise InputError(
                f"{self.name} gives vectors that are not finite in {self.precision}; try float32"
            )
        return rows

    def encode_all(
        self, items: Sequence[Item], *, role: Role = "paper", formats: Sequence[Format] | None = None
    ) -> dict[Format, Floats]:
        """Return one array per format; formats that share a path share the array.

        formats: those that are wanted, None for all. A model of `prism` makes all of them in one pass, others
        take a pass for each path.
        """
        if self.model.beside is None:
            return encode_all(self, items, role, formats)
        return self._of_all(items, role, formats, text=False)[0]

    def encode_with_text(
        self, items: Sequence[Item], *, role: Role = "paper", formats: Sequence[Format] | None = None
    ) -> tuple[dict[Format, Floats], Floats]:
        """Return one array per format and the backbone's own vectors, all of one pass; prism's alone.

        The latter are those of the `single` model that it was made from where its text path was frozen.
        """
        if self.model.beside is None:
            raise InputError(f"{self.name} is no model of prism: its text has no vectors of its own")
        found, rows = self._of_all(items, role, formats, text=True)
        return found, rows[:, -1].copy()

    def _of_all(
        self, items: Sequence[Item], role: Role, formats: Sequence[Format] | None, *, text: bool
    ) -> tuple[dict[Format, Floats], Floats]:
        """Return one array per format, and the rows that these were cut from, (n, ways, dim)."""
        routes = {
            format: self.route(format, role) for format in (self.formats if formats is None else formats)
        }
        if not routes and not text:
            return {}, np.empty((len(items), 0, self.dim), dtype=np.float32)
        ways = list(dict.fromkeys(routes.values()))
        compute = partial(self.vectors_of_all, ways=ways, text=text)
        rows = self._encoded(compute, (len(ways) + text, self.dim), items, role, FIELDS)
        each = {way: np.ascontiguousarray(rows[:, place]) for place, way in enumerate(ways)}
        return {format: each[route] for format, route in routes.items()}, rows

    def describe(self) -> dict[str, Any]:
        """Return what is loaded and active, as JSON values."""
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
        """Write a model folder; a model that was being trained still is afterwards.

        A new folder appears whole or not at all; in one that exists, files are replaced one by one. That of a
        `single` model opens in sentence-transformers and transformers too. compact: int8 weights in a quarter
        of the size, which sciprism alone opens, with vectors that differ a little.
        """
        training = self.model.training
        try:
            with whole(Path(folder)) as draft:
                self.prepare()
                write_folder(
                    draft,
                    model=self.model,
                    tokenizer=self.tokenizer,
                    settings=self.settings,
                    provenance=provenance,
                    compact=compact,
                )
                exact = not compact and self.precision == "float32"
                selfcheck.write(self if exact else Encoder.load(draft, device=str(self.device)), draft)
        finally:
            self.model.train(training)


def _opened(
    cls: type[Encoder],
    name: str | Path | None,
    changes: Mapping[str, Any],
    precision: str,
    device: str | None,
) -> tuple[Encoder, Path]:
    full_name, folder = resolve(str(name) if name is not None else None)
    parts = Parts(folder, changes, full_name)
    encoder = cls(
        parts.model, parts.tokenizer, parts.settings, name=full_name, precision=precision, device=device
    )
    encoder.ignored = parts.ignored
    encoder.provenance = parts.provenance
    encoder.folder = folder
    return encoder, folder
