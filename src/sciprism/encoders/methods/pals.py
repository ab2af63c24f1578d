"""`pals`: a small attention beside each layer, one per format (SciRepEval, section 4; Stickland 2019)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sciprism.encoders.linear import Linear
from sciprism.encoders.methods.per_format import PerFormat
from sciprism.encoders.methods.registry import methods
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.starts import started
from sciprism.encoders.transformer import Heads, Routed, Transformer
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format


class Projections(nn.Module):
    """The maps into the small attention and back, which all layers of a format share."""

    def __init__(self, hidden: int, size: int) -> None:
        super().__init__()
        self.down = started(Linear(hidden, size))
        self.up = started(Linear(size, hidden, "gelu"))

    def prepare(self, dtype: torch.dtype) -> None:
        """Pack both maps for inference."""
        self.down.pack(dtype)
        self.up.pack(dtype)


class ProjectedAttention(nn.Module):
    """Down, attention without an output map, up, GELU: (T, hidden) -> (T, hidden).

    projections: another module's; they are neither saved nor trained as a part of this one.
    """

    def __init__(self, projections: Projections, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = Heads(size, heads, dropout)
        for each in (self.attention.query, self.attention.key, self.attention.value):
            started(each)
        self._projections = (projections,)  # in a tuple torch does not see it

    def forward(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """Attend inside each text, in the small space."""
        (maps,) = self._projections
        return maps.up(self.attention(maps.down(x), batch))  # type: ignore[no-any-return]


@methods.register("pals")
class Pals(PerFormat):
    """Each format adds a projected attention layer to every layer; the whole network is trained.

    size: the width of the small attention. heads: of it.
    """

    def __init__(self, *, size: int = 204, heads: int = 6, formats: Sequence[Format] = FORMATS) -> None:
        super().__init__(formats=formats)
        for name, value in (("size", size), ("heads", heads)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InputError(f"{name} is {value!r}, not a whole number above 0")
        if size % heads:
            raise InputError(f"{heads} heads do not divide a size of {size}")
        self.size = size
        self.heads = heads

    def fill(self, model: Transformer) -> None:
        """Put an attention for each format beside each layer, and their projections beside all."""
        config = model.config
        shared: dict[str, Projections] = {way: Projections(config.hidden, self.size) for way in self.ways}
        model.shared = nn.ModuleDict(shared)
        for block in model.blocks:
            block.side = Routed(
                {
                    way: ProjectedAttention(maps, self.size, self.heads, config.attention_dropout)
                    for way, maps in shared.items()
                }
            )

    def own(self, name: str) -> bool:
        """Return whether the parameter is an attention's or a projection's of a format."""
        return ".side." in name or name.startswith("shared.")
