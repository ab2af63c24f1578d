"""`lora`: low-rank updates of linear maps, of each format its own (Hu et al. 2022; jina-embeddings-v3, section 3).

A map x W^T + b becomes x W^T + b + (alpha / rank) (x A^T) B^T. A has torch's initial weights of a linear map, as in the
library peft, and B is zero, so training begins at the backbone's vectors.
"""

from __future__ import annotations

from typing import Annotated, Literal, cast

import torch
from pydantic import AfterValidator, Field
from torch import Tensor, nn

from sciprism.encoders.layers import Linear, drop
from sciprism.encoders.methods.registry import FormatOptions, PerFormat, methods
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.transformer import Routed, Transformer

Target = Literal["query", "key", "value", "output", "expand", "contract"]
PLACES: dict[Target, str] = {
    "query": "attention.query",
    "key": "attention.key",
    "value": "attention.value",
    "output": "attention.output",
    "expand": "feed_forward.expand",
    "contract": "feed_forward.contract",
}
"""Target -> the linear map in a block."""


class LoraOptions(FormatOptions):
    """Options of lora.

    rank: rows of A. alpha: alpha / rank is the factor of an update. targets: the maps that have one; by default query
    and value, as in the paper and as peft's default for most encoders. dropout: of the input of A.
    """

    rank: int = Field(8, ge=1)
    alpha: float = Field(16.0, gt=0)
    targets: Annotated[
        tuple[Target, ...], Field(min_length=1), AfterValidator(lambda given: tuple(t for t in PLACES if t in given))
    ] = ("query", "value")
    dropout: float = Field(0.0, ge=0, lt=1)


class LowRank(nn.Module):
    """One update, (T, in) -> (T, out)."""

    def __init__(self, base: nn.Linear, options: LoraOptions) -> None:
        super().__init__()
        self.down = Linear(base.in_features, options.rank, bias=False)
        self.up = Linear(options.rank, base.out_features, bias=False)
        nn.init.zeros_(self.up.weight)
        self.scale, self.dropout = options.alpha / options.rank, options.dropout

    def forward(self, x: Tensor, batch: PackedBatch | None = None) -> Tensor:
        """Map each token independently."""
        x = drop(x, self.dropout) if self.training else x
        return self.up(self.scale * self.down(x))  # type: ignore[no-any-return]

    def product(self) -> Tensor:
        """Return the change of the map's weights, (out, in)."""
        return self.scale * self.up.weight @ self.down.weight


@methods.register("lora")
class Lora(PerFormat):
    """Each format trains updates of some linear maps in every layer, zero at first; the backbone is frozen."""

    settings = LoraOptions
    own_parameters = (".update.",)
    freezes_backbone = True

    def fill(self, model: Transformer) -> None:
        """Give each target one update per format."""
        for linear in self._targets(model):
            linear.update = Routed({route: LowRank(linear, self.options) for route in self.routes})

    def merge(self, model: Transformer, route: str) -> None:
        """Add the updates of a route to the weights, and empty the slots."""
        for linear in self._targets(model):
            update = cast("LowRank", linear.get_submodule(f"update.experts.{route}"))
            with torch.no_grad():
                linear.weight += update.product()
            linear.update = None

    def _targets(self, model: Transformer) -> list[Linear]:
        maps = [block.get_submodule(PLACES[name]) for block in model.blocks for name in self.options.targets]
        return cast("list[Linear]", maps)
