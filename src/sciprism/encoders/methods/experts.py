"""What the expert methods share: in some blocks, a copy of a sub-layer per expert (SciMult, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

from sciprism.encoders.methods.registry import Method, served, stand_in
from sciprism.encoders.transformer import Routed, Transformer
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format, Role


class Experts(Method):
    """One expert per format in every Nth block, an exact copy of the dense module at start.

    All else is shared. every: N; block i, counted from 0, has experts where (i + 1) % N == 0. formats: which
    are served. `regression` takes the classification expert; query and paper of a format take the same one.
    """

    sublayers: tuple[str, ...] = ()

    def __init__(self, *, every: int = 2, formats: Sequence[Format] = FORMATS) -> None:
        if not isinstance(every, int) or isinstance(every, bool) or every < 1:
            raise InputError(f"every is {every!r}, not a whole number above 0")
        self.every = every
        self.formats = served(formats)

    def fill(self, model: Transformer) -> None:
        """Put copies of the sub-layers into every Nth block, one per expert."""
        if self.every > len(model.blocks):
            raise InputError(f"experts in every {self.every} blocks: the model has only {len(model.blocks)}")
        names = dict.fromkeys(stand_in(format) for format in self.formats)
        for block in model.blocks[self.every - 1 :: self.every]:
            for sublayer in self.sublayers:
                dense = getattr(block, sublayer)
                setattr(block, sublayer, Routed({name: deepcopy(dense) for name in names}))

    def route(self, format: Format, role: Role) -> str:
        """Return the expert's name."""
        return stand_in(format)

    def own(self, name: str) -> bool:
        """Return whether the parameter is an expert's."""
        return ".experts." in name
