"""How the learning rate moves over the steps of a stage."""

from __future__ import annotations

import math

from sciprism.training.recipe import Schedule


def rate(schedule: Schedule, step: int, steps: int, peak: float) -> float:
    """Return the learning rate of a step, counted from 0, of `steps`.

    It goes from the start to the peak over the warm-up, then: linear falls to 0 at the end (its own, if set),
    inverse-square-root falls with the root of the step, constant stays. It never falls below the floor once
    warmed up.
    """
    warm = math.ceil(schedule.warmup * steps) if schedule.warmup < 1 else int(schedule.warmup)
    if step < warm:
        return schedule.start + (peak - schedule.start) * (step + 1) / (warm + 1)
    if schedule.name == "linear":
        end = schedule.end or steps
        share = (end - step) / max(1, end - warm)
    elif schedule.name == "inverse-square-root":
        share = math.sqrt(max(1, warm) / (step - warm + max(1, warm)))
    else:
        share = 1.0
    return max(schedule.floor, peak * share)
