"""AdamW, or AdamW and Muon, over groups of parameters with their own learning rates."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from sciprism.encoders.methods.registry import Method
from sciprism.errors import InputError
from sciprism.training.optimization_settings import OptimizerSettings

_BLOCK = re.compile(r"(?:^|\.)blocks\.(\d+)\.")


class MuonAndAdamW(torch.optim.Optimizer):
    """Muon for some parameters and AdamW for the others, as one optimizer."""

    def __init__(self, muon: torch.optim.Muon, adamw: torch.optim.AdamW) -> None:
        self._parts: dict[str, torch.optim.Optimizer] = {"muon": muon, "adamw": adamw}
        super().__init__(self._groups(), {})  # keeps these group objects

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
        """Restore what `state_dict` returned."""
        for name, part in self._parts.items():
            part.load_state_dict(state_dict[name])
        self.param_groups = self._groups()


def build_optimizer(
    named: Iterable[tuple[str, nn.Parameter]], settings: OptimizerSettings, layers: int, method: Method | None = None
) -> torch.optim.Optimizer:
    """Return the optimizer of the trained parameters.

    Biases and norms do not decay. With a layer decay d the rate is lr * d^(layers + 2 - depth), where the
    embeddings have depth 0, block n depth n + 1 and all else has the full rate (TASER's rule). Parameters that
    the method owns have its rate, if one is set. `share` of a group is its factor of the rate. With muon the
    matrices of blocks are Muon's; InputError where none is trained.
    """
    groups: dict[tuple[bool, float, float], list[nn.Parameter]] = defaultdict(list)
    for name, parameter in named:
        if parameter.requires_grad:
            muon = settings.name == "muon" and parameter.ndim == 2 and bool(_BLOCK.search(name))
            decay = settings.weight_decay if parameter.ndim > 1 else 0.0
            share = _share(name, settings.layer_decay, layers)
            if settings.method_lr and method and method.owns_parameter(name):
                share = settings.method_lr / settings.lr
            groups[muon, share, decay].append(parameter)

    def param_groups(wanted: bool) -> list[dict[str, Any]]:
        return [
            {"params": parameters, "weight_decay": decay, "lr": settings.lr, "share": share}
            for (muon, share, decay), parameters in groups.items()
            if muon == wanted
        ]

    adamw = torch.optim.AdamW(param_groups(False), betas=settings.betas, eps=settings.eps, fused=True)
    if settings.name == "adamw":
        return adamw
    if not param_groups(True):
        raise InputError("optimizer muon: no matrix of a block is trained; use adamw")
    return MuonAndAdamW(torch.optim.Muon(param_groups(True), adjust_lr_fn="match_rms_adamw"), adamw)


def _share(name: str, decay: float, layers: int) -> float:
    found = _BLOCK.search(name)
    if found:
        depth = int(found[1]) + 1
    elif "embeddings." in name:
        depth = 0
    else:
        return 1.0
    return float(decay ** (layers + 2 - depth)) if decay < 1 else 1.0
