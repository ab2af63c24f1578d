"""Random vectors: the lower baseline of result tables."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format, Role
from sciprism.text.template import FIELDS, Item, Template

_TEMPLATE = Template(separator=" ")


class RandomEncoder:
    """Encode each text as a random direction, the same for the same text and seed; an `EncoderProtocol`.

    Directions are uniform on the sphere (normalised Gaussian). Equal texts have equal vectors, as with any
    encoder, so duplicates are found here too.
    """

    formats = FORMATS
    distance = "cosine"

    def __init__(self, *, seed: int = 0, dim: int = 384) -> None:
        if dim < 1:
            raise InputError(f"dim is {dim}; give a width of 1 or more")
        self.seed = seed
        self.dim = dim
        self.name = f"random-{seed}" if seed else "random"

    @property
    def fingerprint(self) -> str:
        """Return a hash of seed and width."""
        return hashlib.sha256(f"random {self.seed} {self.dim}".encode()).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return what determines its vectors."""
        return {
            "name": self.name,
            "method": "random",
            "seed": self.seed,
            "dim": self.dim,
            "distance": self.distance,
            "fingerprint": self.fingerprint,
        }

    def space(self, format: Format = "proximity", role: Role = "paper") -> str:  # noqa: ARG002
        """Return the one space: all its vectors compare."""
        return "random"

    def path(self, format: Format = "proximity", role: Role = "paper") -> str:  # noqa: ARG002
        """Return the one path: a text's vector is the same in every format and role."""
        return "random"

    def texts(self, items: Sequence[Item], role: Role = "paper", fields: Sequence[str] = FIELDS) -> list[str]:
        """Return the texts whose hashes seed the vectors: a paper's fields joined by a space."""
        return [_TEMPLATE.text(item, role, fields) for item in items]

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format = "proximity",  # noqa: ARG002
        role: Role = "paper",
        fields: Sequence[str] = FIELDS,
    ) -> NDArray[np.float32]:
        """Return one vector of length 1 per item, (n, dim), in the order given."""
        rows = np.empty((len(items), self.dim), np.float32)
        for row, text in zip(rows, self.texts(items, role, fields), strict=True):
            content = f"{self.seed} {text}".encode("utf-8", "surrogatepass")
            number = int.from_bytes(hashlib.blake2b(content, digest_size=16).digest(), "little")
            # RandomState: NumPy guarantees that its samples stay the same in later releases.
            vector = np.random.RandomState(np.random.PCG64(number)).standard_normal(self.dim)
            row[:] = vector / np.linalg.norm(vector)
        return rows
