"""`attention-experts` and `feedforward-experts`: some blocks have one sub-layer per format (SciMult, section 3.2)."""

from __future__ import annotations

from copy import deepcopy

from pydantic import Field

from sciprism.encoders.methods.registry import FormatOptions, Method, expert_format, methods
from sciprism.encoders.transformer import Routed, Transformer
from sciprism.errors import InputError
from sciprism.formats import Format, Role


class ExpertOptions(FormatOptions):
    """Options of experts. every: N; block i, counted from 0, has experts where (i + 1) % N == 0."""

    every: int = Field(2, ge=1)


class Experts(Method):
    """One expert per format in every Nth block, an exact copy of the dense module at first.

    All other modules are shared. `regression` uses the classification expert; queries and papers of a format use
    the same one.
    """

    settings = ExpertOptions
    sublayers: tuple[str, ...] = ()
    own_parameters = (".experts.",)

    def fill(self, model: Transformer) -> None:
        """Put copies of the sub-layers into every Nth block, one per expert."""
        every = self.options.every
        if every > len(model.blocks):
            raise InputError(f"experts in every {every} blocks: the model has only {len(model.blocks)}")
        names = dict.fromkeys(expert_format(format) for format in self.formats)
        for block in model.blocks[every - 1 :: every]:
            for sublayer in self.sublayers:
                dense = getattr(block, sublayer)
                setattr(block, sublayer, Routed({name: deepcopy(dense) for name in names}))

    def merge(self, model: Transformer, route: str) -> None:
        """Put the sub-layers of one expert into their slots."""
        for block in model.blocks[self.options.every - 1 :: self.options.every]:
            for sublayer in self.sublayers:
                setattr(block, sublayer, getattr(block, sublayer).experts[route])

    def route(self, format: Format, role: Role) -> str:
        """Return the expert's name."""
        return expert_format(format)


@methods.register("attention-experts")
class AttentionExperts(Experts):
    """SciMult's MHAExpert: query, key, value and output maps per expert; the norm after them stays shared."""

    sublayers = ("attention",)


@methods.register("feedforward-experts")
class FeedForwardExperts(Experts):
    """SciMult's FFNExpert: both linear maps and the norm after them per expert; attention stays shared."""

    sublayers = ("feed_forward", "feed_forward_norm")
