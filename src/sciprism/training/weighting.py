"""How the losses of a step's sources are weighed; what this remembers of the run is saved with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from sciprism.registry import Registry
from sciprism.training.tables import Table, checked


class Plain(Table):
    """Nothing to set."""

    name: Literal["none"] = "none"


class Weighting(nn.Module):
    """Every source counts once: the sum of the losses (SciRepEval).

    first: each source's first loss that was not 0; until then it is taken to learn like one that just began.
    settings: the kind's table. sources: how many there are. by_gradients: whether it asks for their lengths.
    """

    kind: ClassVar[type[Table]] = Plain
    by_gradients = False
    weights: Tensor
    first: Tensor

    def __init__(self, settings: Any, sources: int) -> None:
        super().__init__()
        self.settings = settings
        self.register_buffer("weights", torch.ones(sources))
        self.register_buffer("first", torch.full((sources,), torch.nan))

    def forward(self, places: Tensor, losses: Tensor, norms: Tensor) -> Tensor:
        """Return the weights (k,) of a step's sources.

        places: (k,) which sources they are. losses: (k,). norms: (k,) lengths of the gradients of each loss
        by its own vectors, the layer that all sources share.
        """
        begun = losses.masked_fill(losses <= 0, torch.nan)
        first = self.first[places].where(self.first[places] > 0, begun)
        self.first[places] = first
        return self._weigh(places, (losses / first).nan_to_num(nan=1.0), norms)

    def _weigh(self, places: Tensor, rates: Tensor, norms: Tensor) -> Tensor:  # noqa: ARG002
        return self.weights[places]


weightings: Registry[type[Weighting]] = Registry("weighting")
weightings.register("none")(Weighting)


class Balance(Table):
    """alpha: how strongly."""

    name: Literal["loss-balanced"]
    alpha: float = Field(0.5, ge=0)


@weightings.register("loss-balanced")
class LossBalanced(Weighting):
    """A source counts as its loss, of what that was at first, to the power alpha (Liu et al. 2019)."""

    kind = Balance

    def _weigh(self, places: Tensor, rates: Tensor, norms: Tensor) -> Tensor:  # noqa: ARG002
        weights: Tensor = rates.clamp_min(0) ** self.settings.alpha
        return weights


class Norms(Table):
    """alpha: how much longer the gradient of a slow source may be. lr: of the weights."""

    name: Literal["grad-norm"]
    alpha: float = Field(1.5, ge=0)
    lr: float = Field(0.025, gt=0)


@weightings.register("grad-norm")
class GradNorm(Weighting):
    """Weights that bring the sources' gradients to like lengths (Chen et al. 2018, equations 1 and 2).

    A source that learns slower than the others may have a longer one. The weights add up to their number.
    """

    kind = Norms
    by_gradients = True

    def _weigh(self, places: Tensor, rates: Tensor, norms: Tensor) -> Tensor:
        weights = self.weights[places]
        lengths = weights * norms
        wanted = lengths.mean() * (rates / rates.mean().clamp_min(1e-12)) ** self.settings.alpha
        slope = torch.sign(lengths - wanted) * norms / norms.mean().clamp_min(1e-12)
        self.weights[places] = (weights - self.settings.lr * slope).clamp_min(1e-3)
        self.weights *= len(self.weights) / self.weights.sum()
        return weights


def weighting_of(table: Mapping[str, Any]) -> Table:
    """Check a weighting's table against its kind; InputError names what is wrong and the known keys."""
    return checked(weightings[str(table.get("name"))].kind, table, "weighting")
