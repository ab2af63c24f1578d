"""`adapter-fusion`: each format attends to the adapters of all (SciRepEval, section 4; Pfeiffer 2021)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sciprism.encoders.layers import Linear, initialize_weights
from sciprism.encoders.methods.adapters import Adapters, Bottleneck
from sciprism.encoders.methods.registry import methods
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.transformer import Transformer


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
