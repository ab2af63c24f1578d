"""`adapters`: one per format (SciRepEval, section 4); `adapter-fusion`: each format attends to all (Pfeiffer 2021)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from pydantic import Field
from torch import Tensor, nn

from sciprism.encoders.layers import Linear, PackedBatch, initialize_weights
from sciprism.encoders.methods.registry import FormatOptions, PerFormat, methods
from sciprism.encoders.transformer import Routed, Transformer
from sciprism.errors import InputError


class Bottleneck(nn.Module):
    """Down, ReLU, up: the change that an adapter adds to a feed-forward's output; the shape stays."""

    def __init__(self, hidden: int, width: int) -> None:
        super().__init__()
        self.down = initialize_weights(Linear(hidden, width, "relu"))
        self.up = initialize_weights(Linear(width, hidden))

    def forward(self, x: Tensor, batch: object = None) -> Tensor:
        """Map each token independently."""
        return self.up(self.down(x))  # type: ignore[no-any-return]


class AdapterOptions(FormatOptions):
    """Options of adapters. reduction: model width / bottleneck width."""

    reduction: int = Field(16, ge=1)


@methods.register("adapters")
class Adapters(PerFormat):
    """Each format trains a bottleneck in every layer, which at first changes almost nothing; the backbone is frozen."""

    settings = AdapterOptions
    own_parameters = (".adapter.",)
    freezes_backbone = True

    def fill(self, model: Transformer) -> None:
        """Put one bottleneck per format after each feed-forward."""
        hidden, width = model.config.hidden, self.width(model)
        for block in model.blocks:
            block.adapter = Routed({route: Bottleneck(hidden, width) for route in self.routes})

    def width(self, model: Transformer) -> int:
        """Return the width of a bottleneck."""
        width: int = model.config.hidden // self.options.reduction
        if not width:
            raise InputError(f"a reduction of {self.options.reduction}: the model is only {model.config.hidden} wide")
        return width


class Fusion(nn.Module):
    """A weighted sum of several adapters' outputs, for each token.

    The weights are the softmax over adapters of (x Wq)(a Wk)^T; they multiply a Wv, for the token's state x
    and an adapter's output a. `value` is the identity at first.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.query = initialize_weights(Linear(hidden, hidden))
        self.key = initialize_weights(Linear(hidden, hidden))
        self.value = Linear(hidden, hidden, bias=False)
        if not self.value.weight.is_meta:
            nn.init.eye_(self.value.weight)

    def forward(self, x: Tensor, outputs: Tensor) -> Tensor:
        """Map x (T, hidden) and the adapters' outputs (T, A, hidden) to (T, hidden)."""
        scores = (self.key(outputs) @ self.query(x)[:, :, None]).squeeze(-1)
        mixed: Tensor = torch.softmax(scores, dim=-1)[:, None] @ self.value(outputs)
        return mixed.squeeze(1)


class FusedAdapters(nn.Module):
    """The adapters of a layer, each computed for every text, and one fusion per route."""

    def __init__(self, hidden: int, width: int, routes: Sequence[str]) -> None:
        super().__init__()
        self.experts = nn.ModuleDict({route: Bottleneck(hidden, width) for route in routes})
        self.fusions = nn.ModuleDict({route: Fusion(hidden) for route in routes})

    def forward(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """Map (T, hidden) to (T, hidden)."""
        outputs = torch.stack([adapter(x) for adapter in self.experts.values()], dim=1)
        return torch.cat([self.fusions[route](x[tokens], outputs[tokens]) for route, tokens, _ in batch.by_route])


@methods.register("adapter-fusion")
class AdapterFusion(Adapters):
    """The second step after `adapters`: the adapters are frozen, and each format trains a fusion of them.

    It starts from a model of `adapters` with the same options.
    """

    starts_from = "adapters"
    own_parameters = (".fusions.",)

    def fill(self, model: Transformer) -> None:
        """Put the adapters, and one fusion per route, after each feed-forward."""
        hidden, width = model.config.hidden, self.width(model)
        for block in model.blocks:
            block.adapter = FusedAdapters(hidden, width, self.routes)
