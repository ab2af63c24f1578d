"""Student's t distribution, without scipy, which the base install does not need."""

from __future__ import annotations

import math
from functools import lru_cache

STEPS = 1000
"""Most terms of the continued fraction; it converges in about sqrt(freedom)."""
NORMAL = 1e7
"""Degrees of freedom above which the distribution is the normal one to seven digits."""


@lru_cache(maxsize=4096)
def two_sided_p(t: float, freedom: float) -> float:
    """Return the probability of a value at least as far from 0 as t."""
    if freedom > NORMAL:
        return math.erfc(abs(t) / math.sqrt(2))
    return _incomplete_beta(freedom / (freedom + t * t), t * t / (freedom + t * t), freedom / 2, 0.5)


@lru_cache(maxsize=4096)
def quantile(freedom: float, level: float) -> float:
    """Return the t that is exceeded in either direction with probability 1 - level."""
    low, high = 0.0, 1.0
    while two_sided_p(high, freedom) > 1 - level:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided_p(middle, freedom) > 1 - level else (low, middle)
    return (low + high) / 2


def _incomplete_beta(x: float, y: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function at x = 1 - y (Numerical Recipes, section 6.4)."""
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(y, x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / (1 + term * d), 1 + term / c
            fraction *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return math.exp(front) * fraction / a
