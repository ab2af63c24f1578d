"""Ensembles: the vectors of several encoders, averaged (SciRepEval's ensemble) or concatenated."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from sciprism.arrays import Floats
from sciprism.encoders.protocols import FormatEncoderProtocol
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format, Role
from sciprism.registry import Registry
from sciprism.text.template import FIELDS, Item

joins: Registry[Callable[[Sequence[Floats]], Floats]] = Registry("ensemble")
joins["mean"] = lambda rows: reduce(np.add, rows) / np.float32(len(rows))
joins["concat"] = partial(np.concatenate, axis=1)


class Ensemble:
    """Several encoders with the API of one; it serves the formats that all of them have.

    join: "mean", of vectors of one width, or "concat". Vectors are not normalized: larger ones weigh more.
    Raises InputError for fewer than two encoders, duplicates, no format in common, and different distances
    or, with the mean, widths.
    """

    def __init__(self, members: Sequence[FormatEncoderProtocol], *, join: str = "mean", name: str = "") -> None:
        self.join_vectors = joins[join]
        self.join = join
        self.members = tuple(members)
        self.name = name or f"{join}:{'+'.join(member.name for member in members)}"
        self.formats = tuple(f for f in FORMATS if all(f in member.formats for member in members))
        self.options: dict[str, Any] = {}
        if len(self.members) < 2:
            raise InputError(f"{self.name}: an ensemble needs at least two encoders")
        if len({member.fingerprint for member in self.members}) < len(self.members):
            raise InputError(f"{self.name}: two of the encoders are the same")
        if not self.formats:
            raise InputError(f"{self.name}: the members share no format: {self._each('formats')}")
        if len({member.distance for member in self.members}) > 1:
            raise InputError(f"{self.name}: the members have different distances: {self._each('distance')}")
        if self.join == "mean" and len({member.dim for member in self.members}) > 1:
            raise InputError(f"{self.name}: a mean needs one width: {self._each('dim')}; use concat")
        self.distance = members[0].distance
        self.dim = sum(member.dim for member in members) if join == "concat" else members[0].dim
        self.precision = _join_names(str(getattr(member, "precision", "float32")) for member in members)

    @property
    def fingerprint(self) -> str:
        """Return a hash of the members' fingerprints, in their order, and of the join."""
        prints = " ".join(member.fingerprint for member in self.members)
        return hashlib.sha256(f"{self.join} {prints}".encode()).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return the join and the description of each member, as JSON values."""
        return {
            "name": self.name,
            "join": self.join,
            "members": [member.describe() for member in self.members],
            "formats": list(self.formats),
            "distance": self.distance,
            "dim": self.dim,
            "fingerprint": self.fingerprint,
        }

    def space(self, format: Format = "proximity", role: Role = "paper") -> str:
        """Name the space of the vectors; they are comparable where those of every member are."""
        return _join_names(member.space(format, role) for member in self.members)

    def path(self, format: Format = "proximity", role: Role = "paper") -> str:
        """Name the encoding path from text to vector."""
        return _join_names(member.path(format, role) for member in self.members)

    def texts(self, items: Sequence[Item], role: Role = "paper", fields: Sequence[str] = FIELDS) -> list[str]:
        """Return the text that is encoded of each item, or the members' texts where they differ."""
        member_texts = [member.texts(items, role, fields) for member in self.members]
        # the separator occurs in no text
        return [_join_names(texts, "\x1e") for texts in zip(*member_texts, strict=True)]

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format = "proximity",
        role: Role = "paper",
        fields: Sequence[str] = FIELDS,
    ) -> Floats:
        """Return one float32 row per item, (n, dim), in the order given."""
        if format not in self.formats:
            raise InputError(f"{self.name}: a member lacks the format {format!r}; all have {', '.join(self.formats)}")
        return self.join_vectors(
            [member.encode(items, format=format, role=role, fields=fields) for member in self.members]
        )

    def _each(self, fact: str) -> str:
        values = [(member.name, getattr(member, fact)) for member in self.members]
        return "; ".join(f"{n} {', '.join(v) if isinstance(v, tuple) else v}" for n, v in values)


def _join_names(names: Iterable[str], between: str = " + ") -> str:
    """Return the name that all share, else all of them, joined."""
    listed = tuple(names)
    return listed[0] if len(set(listed)) == 1 else between.join(listed)
