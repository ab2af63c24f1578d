"""Load a system by its name on the command line."""

from __future__ import annotations

from dataclasses import dataclass

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.ensemble import Ensemble, joins
from sciprism.evaluation.systems import System
from sciprism.evaluation.systems.aspire import AspireSystem
from sciprism.evaluation.systems.bm25 import BM25System
from sciprism.evaluation.systems.bridge import BridgeEncoder
from sciprism.evaluation.systems.dense import DenseSystem, display_name
from sciprism.evaluation.systems.random import RandomEncoder
from sciprism.files import cache_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOptions:
    """How models are loaded; None: as the model's folder states."""

    pooling: str | None = None
    max_length: int | None = None
    precision: str = "float32"
    seed: int = 0
    device: str | None = None


def load_system(name: str, options: SystemOptions) -> System:
    """Return the system of a name: bm25, random, a model, a model in another library, or an ensemble.

    `sentence-transformers:NAME` and `transformers:NAME` use that library, for architectures that sciprism
    lacks; `aspire:NAME` compares sentence vectors by the best match, `aspire-ot:NAME` by optimal transport;
    `mean:NAME+NAME` and `concat:NAME+NAME` are ensembles of two or more encoders.
    """
    if name == "bm25":
        return BM25System()
    kind, _, rest = name.partition(":")
    if rest and kind in ("aspire", "aspire-ot"):
        return AspireSystem(_load_own(rest, options), match="ot" if kind == "aspire-ot" else "ts")
    encoder = _load_ensemble(kind, rest, options) if rest and kind in joins else load_encoder(name, options)
    return DenseSystem(encoder, cache_folder() / "vectors")


def _load_ensemble(join: str, rest: str, options: SystemOptions) -> Ensemble:
    """Load the encoders whose names are joined by plus signs."""
    members = [load_encoder(name.strip(), options) for name in rest.split("+")]
    return Ensemble(members, join=join, name=f"{join}:{'+'.join(map(display_name, members))}")


def load_encoder(name: str, options: SystemOptions) -> RandomEncoder | BridgeEncoder | Encoder:
    """Load one encoder, of sciprism or of the library whose name is in front."""
    kind, _, rest = name.partition(":")
    if name == "random":
        return RandomEncoder(seed=options.seed)
    if rest and kind in ("sentence-transformers", "transformers"):
        return BridgeEncoder(rest, library=kind, pooling=options.pooling, max_length=options.max_length)
    return _load_own(name, options)


def _load_own(name: str, options: SystemOptions) -> Encoder:
    return Encoder.load(
        name,
        pooling=options.pooling,
        max_length=options.max_length,
        precision=options.precision,
        device=options.device,
    )
