"""`adapters`: a bottleneck behind each feed-forward, one per format (SciRepEval, section 4)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sciprism.encoders.linear import Linear
from sciprism.encoders.methods.per_format import PerFormat
from sciprism.encoders.methods.registry import methods
from sciprism.encoders.starts import started
from sciprism.encoders.transformer import Routed, Transformer
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format


class Bottleneck(nn.Module):
    """Down, ReLU, up: what an adapter adds to a feed-forward's output, (T, hidden) -> (T, hidden)."""

    def __init__(self, hidden: int, width: int) -> None:
        super().__init__()
        self.down = started(Linear(hidden, width, "relu"))
        self.up = started(Linear(width, hidden))

    def prepare(self, dtype: torch.dtype) -> None:
        """Pack both maps for inference."""
        self.down.pack(dtype)
        self.up.pack(dtype)

    def forward(self, x: Tensor, batch: object = None) -> Tensor:
        """Map every token by itself."""
        return self.up(self.down(x))  # type: ignore[no-any-return]


@methods.register("adapters")
class Adapters(PerFormat):
    """Each format trains a bottleneck in every layer; the backbone is frozen.

    reduction: how much narrower than the model a bottleneck is. At the start it changes next to nothing.
    """

    def __init__(self, *, reduction: int = 16, formats: Sequence[Format] = FORMATS) -> None:
        super().__init__(formats=formats)
        if not isinstance(reduction, int) or isinstance(reduction, bool) or reduction < 1:
            raise InputError(f"reduction is {reduction!r}, not a whole number above 0")
        self.reduction = reduction

    def fill(self, model: Transformer) -> None:
        """Put a bottleneck for each format behind each feed-forward."""
        hidden, width = model.config.hidden, self.width(model)
        for block in model.blocks:
            block.adapter = Routed({way: Bottleneck(hidden, width) for way in self.ways})

    def width(self, model: Transformer) -> int:
        """Return how wide a bottleneck is."""
        width = model.config.hidden // self.reduction
        if not width:
            raise InputError(f"a reduction of {self.reduction}: the model is only {model.config.hidden} wide")
        return width

    def own(self, name: str) -> bool:
        """Return whether the parameter is a bottleneck's."""
        return ".adapter." in name

    def trainable(self, name: str) -> bool:
        """Return whether the parameter is a bottleneck's; the backbone is frozen."""
        return self.own(name)
