"""`adapter-fusion`: each format attends to the adapters of all (SciRepEval, section 4; Pfeiffer 2021)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sciprism.encoders.linear import Linear
from sciprism.encoders.methods.adapters import Adapters, Bottleneck
from sciprism.encoders.methods.registry import methods
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.starts import started
from sciprism.encoders.transformer import Transformer


class Fusion(nn.Module):
    """A mixture of several adapters' outputs, weighed token by token.

    The token asks, each adapter's output answers: softmax over adapters of (x Wq)(a Wk)^T, times a Wv.
    `value` starts as the identity.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.query = started(Linear(hidden, hidden))
        self.key = started(Linear(hidden, hidden))
        self.value = Linear(hidden, hidden, bias=False)
        if not self.value.weight.is_meta:
            nn.init.eye_(self.value.weight)

    def prepare(self, dtype: torch.dtype) -> None:
        """Pack the three maps for inference."""
        for each in (self.query, self.key, self.value):
            each.pack(dtype)

    def forward(self, x: Tensor, outputs: Tensor) -> Tensor:
        """Map x (T, hidden) and the adapters' outputs (T, A, hidden) to (T, hidden)."""
        scores = (self.key(outputs) @ self.query(x)[:, :, None]).squeeze(-1)
        mixed: Tensor = torch.softmax(scores, dim=-1)[:, None] @ self.value(outputs)
        return mixed.squeeze(1)


class FusedAdapters(nn.Module):
    """The adapters of a layer, each computed for every text, and a fusion of them for each way."""

    def __init__(self, hidden: int, width: int, ways: Sequence[str]) -> None:
        super().__init__()
        self.experts = nn.ModuleDict({way: Bottleneck(hidden, width) for way in ways})
        self.fusions = nn.ModuleDict({way: Fusion(hidden) for way in ways})

    def forward(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """Map (T, hidden) to (T, hidden)."""
        outputs = torch.stack([adapter(x) for adapter in self.experts.values()], dim=1)
        return torch.cat([self.fusions[way](x[tokens], outputs[tokens]) for way, tokens, _ in batch.parts])


@methods.register("adapter-fusion")
class AdapterFusion(Adapters):
    """The second step after `adapters`: those are frozen too, and each format trains a fusion of them.

    It starts from a model of `adapters`, with the same options.
    """

    grows_from = "adapters"

    def fill(self, model: Transformer) -> None:
        """Put the adapters, and a fusion of them for each way, behind each feed-forward."""
        hidden, width = model.config.hidden, self.width(model)
        for block in model.blocks:
            block.adapter = FusedAdapters(hidden, width, self.ways)

    def own(self, name: str) -> bool:
        """Return whether the parameter is a fusion's; backbone and adapters are frozen."""
        return ".fusions." in name
