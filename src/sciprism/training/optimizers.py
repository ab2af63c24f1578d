"""The optimizer and its learning rate: their tables in a recipe, the rate of a step, and AdamW with or without Muon."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import nn

from sciprism.encoders.methods.registry import Method, SettingsTable
from sciprism.errors import InputError

Beta = Annotated[float, Field(ge=0, lt=1)]


class OptimizerSettings(SettingsTable):
    """AdamW, or Muon for matrices of blocks (Jordan 2024) with updates scaled to AdamW's length."""

    name: Literal["adamw", "muon"] = Field("adamw", description="With `muon`, AdamW updates all but blocks' matrices.")
    lr: float = Field(gt=0, description="Learning rate after the warm-up.")
    method_lr: float | None = Field(
        None,
        gt=0,
        description="Learning rate of the parameters that the method adds.",
    )
    weight_decay: float = Field(0.01, ge=0, description="Not of biases and norms.")
    betas: tuple[Beta, Beta] = Field((0.9, 0.999), description="AdamW's decay of gradient moments.")
    eps: float = Field(1e-8, gt=0, description="AdamW's epsilon.")
    max_grad_norm: float = Field(1.0, ge=0, description="Longer gradients are clipped to it; 0: no clipping.")


class Schedule(SettingsTable):
    """The learning rate over the steps."""

    name: Literal["linear", "inverse-square-root", "constant"] = Field(
        "linear", description="How the learning rate falls after the warm-up."
    )
    warmup: float = Field(0.05, ge=0, description="Steps in which the rate rises; below 1 a fraction of all steps.")
    start_lr: float = Field(0.0, ge=0, description="Learning rate where the warm-up starts.")
    min_lr: float = Field(0.0, ge=0, description="Lowest learning rate after the warm-up.")
    end_step: int = Field(0, ge=0, description="Step at which a linear rate reaches 0; 0: the last.")


def learning_rate(schedule: Schedule, step: int, steps: int, peak: float) -> float:
    """Return the learning rate of a step, counted from 0, of `steps`.

    It rises from start_lr to the peak during warm-up; then linear falls to 0 at the last step or end_step,
    inverse-square-root falls with the root of the step, constant stays. After warm-up it is at least min_lr.
    """
    warm = math.ceil(schedule.warmup * steps) if schedule.warmup < 1 else int(schedule.warmup)
    if step < warm:
        return schedule.start_lr + (peak - schedule.start_lr) * (step + 1) / (warm + 1)
    if schedule.name == "linear":
        end = schedule.end_step or steps
        factor = (end - step) / max(1, end - warm)
    elif schedule.name == "inverse-square-root":
        factor = math.sqrt(max(1, warm) / (step - warm + max(1, warm)))
    else:
        factor = 1.0
    return max(schedule.min_lr, peak * factor)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set a learning rate, times the factor of each group."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group["share"]


_BLOCK = re.compile(r"(?:^|\.)blocks\.\d+\.")


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
    named: Iterable[tuple[str, nn.Parameter]], settings: OptimizerSettings, method: Method | None = None
) -> torch.optim.Optimizer:
    """Return the optimizer of the trained parameters.

    Biases and norms do not decay. Parameters that the method owns have its rate, if one is set. `share` of a group
    is its factor of the rate. With muon the matrices of blocks are Muon's; InputError where none is trained.
    """
    groups: dict[tuple[bool, float, float], list[nn.Parameter]] = defaultdict(list)
    for name, parameter in named:
        if parameter.requires_grad:
            muon = settings.name == "muon" and parameter.ndim == 2 and _BLOCK.search(name) is not None
            decay = settings.weight_decay if parameter.ndim > 1 else 0.0
            of_method = method is not None and method.owns_parameter(name)
            share = (settings.method_lr or settings.lr) / settings.lr if of_method else 1.0
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
