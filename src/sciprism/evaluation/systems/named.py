"""From the name on a command line to a system."""

from __future__ import annotations

from dataclasses import dataclass

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.ensemble import Ensemble, joins
from sciprism.evaluation.systems import System
from sciprism.evaluation.systems.aspire import AspireSystem
from sciprism.evaluation.systems.bm25 import BM25System
from sciprism.evaluation.systems.bridge import BridgeEncoder
from sciprism.evaluation.systems.dense import DenseSystem, shown
from sciprism.evaluation.systems.random import RandomEncoder
from sciprism.files import cache_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOptions:
    """How models are loaded; None leaves the choice to the model's own folder."""

    pooling: str | None = None
    max_length: int | None = None
    precision: str = "float32"
    seed: int = 0
    device: str | None = None


def load_system(name: str, options: SystemOptions) -> System:
    """Load what a name says: bm25, random, a model, a model through another library, or several as one.

    `sentence-transformers:NAME` and `transformers:NAME` use that library, for architectures that this one
    does not have; `aspire:NAME` compares sentence vectors by the best match, `aspire-ot:NAME` by transport;
    `mean:NAME+NAME` and `concat:NAME+NAME` are ensembles of two encoders or more.
    """
    if name == "bm25":
        return BM25System()
    kind, _, rest = name.partition(":")
    if rest and kind in ("aspire", "aspire-ot"):
        return AspireSystem(_own(rest, options), match="ot" if kind == "aspire-ot" else "ts")
    encoder = _ensemble(kind, rest, options) if rest and kind in joins else load_encoder(name, options)
    return DenseSystem(encoder, cache_folder() / "vectors")


def _ensemble(join: str, rest: str, options: SystemOptions) -> Ensemble:
    """Load the encoders whose names stand between signs of plus."""
    members = [load_encoder(name.strip(), options) for name in rest.split("+")]
    return Ensemble(members, join=join, name=f"{join}:{'+'.join(map(shown, members))}")


def load_encoder(name: str, options: SystemOptions) -> RandomEncoder | BridgeEncoder | Encoder:
    """Load one encoder: ours, or another library's by its name in front."""
    kind, _, rest = name.partition(":")
    if name == "random":
        return RandomEncoder(seed=options.seed)
    if rest and kind in ("sentence-transformers", "transformers"):
        return BridgeEncoder(rest, library=kind, pooling=options.pooling, max_length=options.max_length)
    return _own(name, options)


def _own(name: str, options: SystemOptions) -> Encoder:
    return Encoder.load(
        name,
        pooling=options.pooling,
        max_length=options.max_length,
        precision=options.precision,
        device=options.device,
    )
