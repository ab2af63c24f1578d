"""`lora`: low-rank updates of linear maps, of each format its own (Hu et al. 2022; jina-embeddings-v3, section 3).

A map x W^T + b becomes x W^T + b + (alpha / rank) (x A^T) B^T. A has torch's initial weights of a linear map, as in the
library peft, and B is zero, so training begins at the backbone's vectors.
"""

from __future__ import annotations

from typing import Annotated, Literal, cast

import torch
from pydantic import AfterValidator, Field
from torch import Tensor, nn

from sciprism.encoders.layers import Linear, PackedBatch, drop
from sciprism.encoders.methods.registry import FormatOptions, LowRankUpdates, PerFormat, methods
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


@methods.register("lora")
class Lora(PerFormat):
    """Each format trains updates of some linear maps in every layer, zero at first; the backbone is frozen."""

    settings = LoraOptions
    own_parameters = (".update.",)
    freezes_backbone = True

    def fill(self, model: Transformer) -> None:
        """Give each target one update per format."""
        for linear in self._targets(model).values():
            linear.update = Routed({route: LowRank(linear, self.options) for route in self.routes})

    def merge(self, model: Transformer, route: str) -> None:
        """Add the updates of a route to the weights, and empty the slots."""
        updates = self.low_rank_updates(model, route)
        for name, linear in self._targets(model).items():
            down, up = updates.products[name]
            with torch.no_grad():
                linear.weight += updates.scale * up @ down
            linear.update = None

    def low_rank_updates(self, model: Transformer, route: str) -> LowRankUpdates:
        """Return A and B of each target, and the factor of their product."""
        experts = {name: f"{name}.update.experts.{route}" for name in self._targets(model)}
        updates = {name: cast("LowRank", model.get_submodule(place)) for name, place in experts.items()}
        products = {name: (each.down.weight.detach(), each.up.weight.detach()) for name, each in updates.items()}
        return LowRankUpdates(products, self.options.alpha / self.options.rank, self.options.dropout)

    def _targets(self, model: Transformer) -> dict[str, Linear]:
        """Return the maps with an update, by their names in the model."""
        names = [f"blocks.{n}.{PLACES[target]}" for n in range(len(model.blocks)) for target in self.options.targets]
        return {name: cast("Linear", model.get_submodule(name)) for name in names}
