"""`prefix`: instructions with an encoder of their own; the text encoder is frozen (SciMult, section 3.3)."""

from __future__ import annotations

from copy import deepcopy

from sciprism.encoders.methods.instruction import InstructionContext, InstructionMethod
from sciprism.encoders.methods.registry import methods
from sciprism.encoders.transformer import Transformer


@methods.register("prefix")
class Prefix(InstructionMethod):
    """Like `instruction`, but a copy of the model encodes the instructions, and only the copy is trained.

    The copy lacks the last block, whose output no layer would use.
    """

    own_parameters = (".context.",)
    freezes_backbone = True

    def fill(self, model: Transformer) -> None:
        """Fill the context slot with the instructions' states in a copy of the model."""
        encoder = deepcopy(model)
        encoder.blocks = encoder.blocks[:-1]
        model.context = InstructionContext(encoder)
