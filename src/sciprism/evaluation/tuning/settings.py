"""Settings of fine-tuning: the grid, and what all runs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product

from sciprism.errors import InputError

AXES = {"rate": "rates", "batch": "batches", "epochs": "epochs"}
"""Name of an axis of the grid on the command line -> field of `Tuning`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperparameters:
    """One point of the grid. rate: the peak learning rate. batch: examples per step."""

    rate: float
    batch: int
    epochs: int

    def __str__(self) -> str:
        return f"rate {self.rate:g}, batch {self.batch}, epochs {self.epochs}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """A grid of hyperparameters, and what all runs share (Gu et al. 2021, section 3).

    warmup: share of the steps with a rising learning rate, which then falls to 0. dropout: of states and
    attention. decay: weight decay, not of biases and norms. clip: maximum gradient norm, 0 for any. seeds:
    runs of the chosen setting, whose scores are averaged.
    """

    rates: tuple[float, ...] = (1e-5, 3e-5, 5e-5)
    batches: tuple[int, ...] = (16, 32)
    epochs: tuple[int, ...] = (10,)
    warmup: float = 0.1
    dropout: float = 0.1
    decay: float = 0.01
    clip: float = 1.0
    seeds: int = 1

    def __post_init__(self) -> None:
        for name in AXES.values():
            values = getattr(self, name)
            if not values or min(values) <= 0 or len(set(values)) < len(values):
                raise InputError(f"fine-tuning: {name} are {values}; give different numbers above 0")
        if not (0 <= self.warmup < 1 and 0 <= self.dropout < 1 and self.decay >= 0 and self.clip >= 0):
            raise InputError("fine-tuning: warmup and dropout are shares below 1, decay and clip not negative")
        if self.seeds < 1:
            raise InputError(f"fine-tuning: {self.seeds} seeds; at least 1 is needed")

    @property
    def grid(self) -> tuple[Hyperparameters, ...]:
        """Return all points of the grid."""
        return tuple(
            Hyperparameters(rate=rate, batch=batch, epochs=epochs)
            for rate, batch, epochs in product(self.rates, self.batches, self.epochs)
        )

    def with_grid(self, axes: Mapping[str, Sequence[float]]) -> Tuning:
        """Return a copy with other values on some axes: rate, batch, epochs. Raises InputError."""
        unknown = sorted(set(axes) - set(AXES))
        if unknown:
            raise InputError(f"unknown axis of the grid {unknown[0]!r}; known: {', '.join(AXES)}")
        changed: dict[str, tuple[float, ...]] = {}
        for name, values in axes.items():
            if name != "rate" and any(value != int(value) for value in values):
                raise InputError(f"grid: {name} takes whole numbers, not {list(values)}")
            changed[AXES[name]] = tuple(values) if name == "rate" else tuple(int(value) for value in values)
        return replace(self, **changed)  # type: ignore[arg-type]

    @property
    def shared(self) -> dict[str, float]:
        """Return the settings that all runs share, as JSON values."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in (*AXES.values(), "seeds")}
