"""What a fine-tuning run may choose from, and what all runs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product

from sciprism.errors import InputError

AXES = {"rate": "rates", "batch": "batches", "epochs": "epochs"}
"""How the command line names what the grid is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One point of the grid. rate: the peak of the learning rate. batch: examples of a step."""

    rate: float
    batch: int
    epochs: int

    def __str__(self) -> str:
        return f"rate {self.rate:g}, batch {self.batch}, epochs {self.epochs}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """A grid of settings, and what every run has in common (Gu et al. 2021, section 3).

    warmup: share of the steps in which the rate rises; then it falls to 0. dropout: of states and attention.
    decay: of weights, not of biases and norms. clip: the largest norm of a gradient, 0 for any. seeds: how
    many runs of the chosen setting a published number is the mean of.
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
            raise InputError(
                "fine-tuning: warmup and dropout are shares below 1, decay and clip not negative"
            )
        if self.seeds < 1:
            raise InputError(f"fine-tuning: {self.seeds} seeds; at least 1 is needed")

    @property
    def grid(self) -> tuple[Setting, ...]:
        """Return every setting to be tried."""
        return tuple(
            Setting(rate=rate, batch=batch, epochs=epochs)
            for rate, batch, epochs in product(self.rates, self.batches, self.epochs)
        )

    def with_grid(self, given: Mapping[str, Sequence[float]]) -> Tuning:
        """Return the same with other values on some axes: rate, batch, epochs. Raises InputError."""
        unknown = sorted(set(given) - set(AXES))
        if unknown:
            raise InputError(f"unknown part of a grid {unknown[0]!r}; known: {', '.join(AXES)}")
        changed: dict[str, tuple[float, ...]] = {}
        for name, values in given.items():
            if name != "rate" and any(value != int(value) for value in values):
                raise InputError(f"grid: {name} takes whole numbers, not {list(values)}")
            changed[AXES[name]] = tuple(values) if name == "rate" else tuple(int(value) for value in values)
        return replace(self, **changed)  # type: ignore[arg-type]

    @property
    def shared(self) -> dict[str, float]:
        """Return what every run has in common, as JSON values."""
        return {
            f.name: getattr(self, f.name) for f in fields(self) if f.name not in (*AXES.values(), "seeds")
        }
