"""Learning-rate schedules."""

from __future__ import annotations

import math

import torch

from sciprism.training.optimization_settings import Schedule


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
