"""`prefix`: instructions read by an encoder of their own, the text's is frozen (SciMult, section 3.3)."""

from __future__ import annotations

from copy import deepcopy

from sciprism.encoders.instructions import Instructions
from sciprism.encoders.methods.instruction import Instruction
from sciprism.encoders.methods.registry import methods
from sciprism.encoders.transformer import Transformer


@methods.register("prefix")
class Prefix(Instruction):
    """As `instruction`, but the instructions' encoder is a copy of the model that alone is trained.

    The copy has no last block: no layer reads what that would give.
    """

    def fill(self, model: Transformer) -> None:
        """Give every layer the states of the instruction in a copy of the model."""
        encoder = deepcopy(model)
        encoder.blocks = encoder.blocks[:-1]
        model.context = Instructions(encoder)

    def own(self, name: str) -> bool:
        """Return whether the parameter is the instruction encoder's."""
        return name.startswith("context.")

    def trainable(self, name: str) -> bool:
        """Return whether the parameter is the instruction encoder's; the text encoder is frozen."""
        return self.own(name)
