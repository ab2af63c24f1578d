"""Weights of the losses of a step's sources; their state is saved with the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from sciprism.encoders.tables import NamedTable
from sciprism.registry import Registry


class Weighting(nn.Module):
    """Equal weights: the sum of the losses (SciRepEval).

    first: the first loss of each source that is not 0. settings: the table of the weighting. sources: their
    number. by_gradients: whether gradient norms are needed.
    """

    settings_type: ClassVar[type[NamedTable]] = NamedTable
    by_gradients = False
    weights: Tensor
    first: Tensor

    def __init__(self, settings: Any, sources: int) -> None:
        super().__init__()
        self.settings = settings
        self.register_buffer("weights", torch.ones(sources))
        self.register_buffer("first", torch.full((sources,), torch.nan))

    def forward(self, sources: Tensor, losses: Tensor, norms: Tensor) -> Tensor:
        """Return the weights (k,) of a step's sources.

        sources: (k,) their numbers. losses: (k,). norms: (k,), of the gradient of each loss with respect to
        its own vectors, the layer that all sources share.
        """
        begun = losses.masked_fill(losses <= 0, torch.nan)
        first = self.first[sources].where(self.first[sources] > 0, begun)
        self.first[sources] = first
        return self._weigh(sources, (losses / first).nan_to_num(nan=1.0), norms)

    def _weigh(self, sources: Tensor, ratios: Tensor, norms: Tensor) -> Tensor:  # noqa: ARG002
        """Return the weights. ratios: (k,) of each loss to the first one of its source."""
        return self.weights[sources]


weightings: Registry[type[Weighting]] = Registry("weighting")
weightings.register("none")(Weighting)


class LossBalancedSettings(NamedTable):
    """Settings of loss-balanced weights."""

    alpha: float = Field(0.5, ge=0, description="Exponent of the ratio of a source's loss to its first one.")


@weightings.register("loss-balanced")
class LossBalanced(Weighting):
    """The ratio of a source's loss to its first one, to the power alpha (Liu et al. 2019)."""

    settings_type = LossBalancedSettings

    def _weigh(self, sources: Tensor, ratios: Tensor, norms: Tensor) -> Tensor:  # noqa: ARG002
        return torch.pow(ratios.clamp_min(0), self.settings.alpha)


class GradNormSettings(NamedTable):
    """Settings of GradNorm."""

    alpha: float = Field(1.5, ge=0, description="How much longer the gradient of a slow source is. 0: equal lengths.")
    lr: float = Field(0.025, gt=0, description="Learning rate of the weights.")


@weightings.register("grad-norm")
class GradNorm(Weighting):
    """Weights that equalise the norms of the sources' gradients (Chen et al. 2018, equations 1 and 2).

    A source whose loss falls more slowly than the others' gets a longer gradient. The weights' mean is 1.
    """

    settings_type = GradNormSettings
    by_gradients = True

    def _weigh(self, sources: Tensor, ratios: Tensor, norms: Tensor) -> Tensor:
        weights = self.weights[sources]
        lengths = weights * norms
        target = lengths.mean() * (ratios / ratios.mean().clamp_min(1e-12)) ** self.settings.alpha
        slope = torch.sign(lengths - target) * norms / norms.mean().clamp_min(1e-12)
        self.weights[sources] = (weights - self.settings.lr * slope).clamp_min(1e-3)
        self.weights *= len(self.weights) / self.weights.sum()
        return weights


def check_weighting(table: Mapping[str, Any]) -> NamedTable:
    """Return the settings in a weighting's table; InputError names what is wrong and the known keys."""
    return weightings[str(table.get("name"))].settings_type.from_table(table, "weighting")
