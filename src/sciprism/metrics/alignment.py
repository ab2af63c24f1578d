"""Checks and helpers that all metrics share: aligned inputs, finite numbers, safe division."""

from __future__ import annotations

from collections.abc import Sized

import numpy as np
from numpy.typing import ArrayLike

from sciprism.arrays import Doubles
from sciprism.errors import InputError


def check_aligned(first: Sized, second: Sized, what: str) -> None:
    """Raise InputError if the two differ in length; `what` names them."""
    if len(first) != len(second):
        raise InputError(f"{what}: {len(first)} and {len(second)} of them; give one pair for each item")


def check_finite(values: ArrayLike, what: str) -> Doubles:
    """Return the numbers as doubles (n,); InputError if one is not finite."""
    numbers = np.asarray(values, dtype=np.float64).ravel()
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise InputError(f"{what}: number {bad[0] + 1} is {numbers[bad[0]]}; remove such items before scoring")
    return numbers


def safe_divide(numerator: Doubles, denominator: Doubles) -> Doubles:
    """Divide elementwise; 0 where the denominator is 0."""
    zeros = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    return np.divide(numerator, denominator, out=zeros, where=denominator != 0)
