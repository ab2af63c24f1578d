"""The one check that all metrics share: what is compared stands side by side."""

from __future__ import annotations

from collections.abc import Sized

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sciprism.arrays import Doubles
from sciprism.errors import InputError

Whole = NDArray[np.int64]


def check_aligned(first: Sized, second: Sized, what: str) -> None:
    """Raise InputError where the two differ in length; `what` names the two."""
    if len(first) != len(second):
        raise InputError(f"{what}: {len(first)} and {len(second)} of them; give one pair for each item")


def finite(values: ArrayLike, what: str) -> Doubles:
    """Return the numbers as doubles (n,); InputError where one is not finite."""
    numbers = np.asarray(values, dtype=np.float64).ravel()
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise InputError(
            f"{what}: number {bad[0] + 1} is {numbers[bad[0]]}; remove such items before scoring"
        )
    return numbers


def ratio(above: Doubles, below: Doubles) -> Doubles:
    """Divide elementwise; 0 where the divisor is 0."""
    return np.divide(
        above, below, out=np.zeros(np.broadcast_shapes(above.shape, below.shape)), where=below != 0
    )
