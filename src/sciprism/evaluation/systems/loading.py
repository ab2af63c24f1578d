"""Load systems by their names on the command line, the random baseline among them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.encoders.cached_encoder import TextProgress
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.ensemble import Ensemble, joins
from sciprism.encoders.protocols import EncoderProtocol
from sciprism.errors import InputError, StaticModelError
from sciprism.evaluation.systems import (
    DenseSystem,
    StatedRanks,
    System,
    TemplateEncoder,
    VectorSystem,
    display_name,
)
from sciprism.evaluation.systems.aspire import AspireSystem
from sciprism.evaluation.systems.bm25 import BM25System
from sciprism.evaluation.systems.bridge import BridgeEncoder
from sciprism.evaluation.systems.static import StaticEncoder
from sciprism.formats import Format, Role
from sciprism.text.template import FIELDS, Item, Template


class RandomEncoder(TemplateEncoder):
    """Encode each text as a random direction, the same for the same text and seed; an `EncoderProtocol`.

    Directions are uniform on the sphere (normalized Gaussian). Equal texts have equal vectors, as with any
    encoder, so duplicates are found here too.
    """

    template = Template(separator=" ")
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
        settings = {"method": "random", "seed": self.seed, "dim": self.dim, "distance": self.distance}
        return {"name": self.name, **settings, "fingerprint": self.fingerprint}

    def space(self, format: Format = "proximity", role: Role = "paper") -> str:
        """Return the one space: all its vectors compare."""
        return "random"

    def path(self, format: Format = "proximity", role: Role = "paper") -> str:
        """Return the one path: a text's vector is the same in every format and role."""
        return "random"

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format = "proximity",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOptions:
    """How models are loaded; None: as the model's folder states."""

    pooling: str | None = None
    max_length: int | None = None
    precision: str = "float32"
    seed: int = 0
    device: str | None = None


SystemName = str | Path | System | EncoderProtocol  # a name as `load_system` reads it, a system, or an encoder


def load_systems(
    systems: SystemName | Sequence[SystemName],
    options: SystemOptions,
    cache: Path,
    progress: TextProgress | None = None,
) -> list[tuple[System, dict[str, Any]]]:
    """Return one or several systems, each model once, with what results record of them.

    An encoder becomes a system. cache: folder of vectors. progress: called with the texts that are encoded.
    """
    named = [systems] if isinstance(systems, str) or not isinstance(systems, Sequence) else systems
    loaded = (load_system(str(name), options, cache) if isinstance(name, str | Path) else name for name in named)
    opened = (model if isinstance(model, System) else DenseSystem(model, cache) for model in loaded)
    once = {system.fingerprint: system for system in opened}
    for system in once.values():
        if isinstance(system, DenseSystem):
            system.watch(progress)
    described = []
    for fingerprint, system in once.items():
        facts = {"name": system.name, "fingerprint": fingerprint}
        if isinstance(system, VectorSystem):
            facts["distance"] = system.distance
        described.append((system, dict(system.describe()) | facts))
    return described


def load_system(name: str, options: SystemOptions, cache: Path | None = None) -> System:
    """Return the system of a name: bm25, random, kanakia, a model, a model in another library, or an ensemble.

    `sentence-transformers:NAME` and `transformers:NAME` use that library, for architectures that sciprism
    lacks; `aspire:NAME` compares sentence vectors by the best match, `aspire-ot:NAME` by optimal transport;
    `mean:NAME+NAME` and `concat:NAME+NAME` are ensembles of two or more encoders. cache: folder of vectors.
    """
    if name in (BM25System.name, StatedRanks.name):
        return BM25System() if name == BM25System.name else StatedRanks()
    kind, _, rest = name.partition(":")
    if rest and kind in ("aspire", "aspire-ot"):
        return AspireSystem(_load_own(rest, options), match="ot" if kind == "aspire-ot" else "ts")
    encoder: EncoderProtocol
    if rest and kind in joins:
        members = [load_encoder(member.strip(), options) for member in rest.split("+")]
        encoder = Ensemble(members, join=kind, name=f"{kind}:{'+'.join(map(display_name, members))}")
    else:
        encoder = load_encoder(name, options)
    return DenseSystem(encoder, cache)


def load_encoder(name: str, options: SystemOptions) -> RandomEncoder | BridgeEncoder | StaticEncoder | Encoder:
    """Load one encoder, of sciprism or of the library whose name is in front."""
    kind, _, rest = name.partition(":")
    if name == "random":
        return RandomEncoder(seed=options.seed)
    if rest and kind in ("sentence-transformers", "transformers"):
        return BridgeEncoder(rest, library=kind, pooling=options.pooling, max_length=options.max_length)
    try:
        return _load_own(name, options)
    except StaticModelError:
        if options.pooling or options.max_length:
            raise InputError(f"{name} is a static model: it has no other pooling or length than its folder's") from None
        return StaticEncoder(name)


def _load_own(name: str, options: SystemOptions) -> Encoder:
    return Encoder.load(
        name, pooling=options.pooling, max_length=options.max_length, precision=options.precision, device=options.device
    )
