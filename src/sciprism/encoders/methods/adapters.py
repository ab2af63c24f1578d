"""`adapters`: one bottleneck per format after each feed-forward (SciRepEval, section 4)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from sciprism.encoders.layers import Linear, initialize_weights
from sciprism.encoders.methods.registry import PerFormat, check_whole_numbers, methods
from sciprism.encoders.transformer import Routed, Transformer
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format


class Bottleneck(nn.Module):
    """Down, ReLU, up: the change that an adapter adds to a feed-forward's output; the shape stays."""

    def __init__(self, hidden: int, width: int) -> None:
        super().__init__()
        self.down = initialize_weights(Linear(hidden, width, "relu"))
        self.up = initialize_weights(Linear(width, hidden))

    def forward(self, x: Tensor, batch: object = None) -> Tensor:
        """Map each token independently."""
        return self.up(self.down(x))  # type: ignore[no-any-return]


@methods.register("adapters")
class Adapters(PerFormat):
    """Each format trains a bottleneck in every layer; the backbone is frozen.

    reduction: model width / bottleneck width. A new bottleneck changes the output by almost nothing.
    """

    own_parameters = (".adapter.",)
    freezes_backbone = True

    def __init__(self, *, reduction: int = 16, formats: Sequence[Format] = FORMATS) -> None:
        super().__init__(formats=formats)
        check_whole_numbers(reduction=reduction)
        self.reduction = reduction

    def fill(self, model: Transformer) -> None:
        """Put one bottleneck per format after each feed-forward."""
        hidden, width = model.config.hidden, self.width(model)
        for block in model.blocks:
            block.adapter = Routed({route: Bottleneck(hidden, width) for route in self.routes})

    def width(self, model: Transformer) -> int:
        """Return the width of a bottleneck."""
        width = model.config.hidden // self.reduction
        if not width:
            raise InputError(f"a reduction of {self.reduction}: the model is only {model.config.hidden} wide")
        return width
