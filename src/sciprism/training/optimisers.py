"""AdamW, or Muon beside it, over the parameters of a model, in groups that learn at their own rates."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from sciprism.errors import InputError
from sciprism.training.recipe import Optimiser

_BLOCK = re.compile(r"(?:^|\.)blocks\.(\d+)\.")


class MuonAndAdamW(torch.optim.Optimizer):
    """Muon for some parameters and AdamW for the others, with the face of one optimiser."""

    def __init__(self, muon: torch.optim.Muon, adamw: torch.optim.AdamW) -> None:
        self._parts: dict[str, torch.optim.Optimizer] = {"muon": muon, "adamw": adamw}
        super().__init__(self._groups(), {})  # which keeps these very groups

    def _groups(self) -> list[dict[str, Any]]:
        return [group for part in self._parts.values() for group in part.param_groups]

    def step(self, *_: Any) -> None:  # type: ignore[override]
        """Take a step with each."""
        for part in self._parts.values():
            part.step()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of each by its name."""
        return {name: part.state_dict() for name, part in self._parts.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        for name, part in self._parts.items():
            part.load_state_dict(state_dict[name])
        self.param_groups = self._groups()


def optimiser_of(
    named: Iterable[tuple[str, nn.Parameter]], settings: Optimiser, layers: int
) -> torch.optim.Optimizer:
    """Make the optimiser of the parameters that are trained.

    Biases and norms do not decay. With a layer decay d the rate is lr * d^(layers + 2 - depth), where the
    embeddings have depth 0, block n depth n + 1 and all else learns at the full rate (TASER's rule). Each
    group keeps its share of the rate in `share`. Muon has the matrices of blocks, where it is asked for;
    InputError where there are none.
    """
    groups: dict[tuple[bool, float, float], list[nn.Parameter]] = defaultdict(list)
    for name, parameter in named:
        if parameter.requires_grad:
            muon = settings.name == "muon" and parameter.ndim == 2 and bool(_BLOCK.search(name))
            decay = settings.weight_decay if parameter.ndim > 1 else 0.0
            groups[muon, _share(name, settings.layer_decay, layers), decay].append(parameter)

    def part(wanted: bool) -> list[dict[str, Any]]:
        return [
            {"params": parameters, "weight_decay": decay, "lr": settings.lr, "share": share}
            for (muon, share, decay), parameters in groups.items()
            if muon == wanted
        ]

    adamw = torch.optim.AdamW(part(False), betas=settings.betas, eps=settings.eps, fused=True)
    if settings.name == "adamw":
        return adamw
    if not part(True):
        raise InputError("optimiser muon: nothing that is trained is a matrix of a block; take adamw")
    return MuonAndAdamW(torch.optim.Muon(part(True), adjust_lr_fn="match_rms_adamw"), adamw)


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Give each group its share of a learning rate."""
    for group in optimiser.param_groups:
        group["lr"] = rate * group["share"]


def _share(name: str, decay: float, layers: int) -> float:
    found = _BLOCK.search(name)
    if found:
        depth = int(found[1]) + 1
    elif "embeddings." in name:
        depth = 0
    else:
        return 1.0
    return float(decay ** (layers + 2 - depth)) if decay < 1 else 1.0
