"""The registry of searches by vectors, the modes of `search` and `similar`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.registry import Registry
from sciprism.store import StoredCollection

VectorSearch = Callable[[StoredCollection, str, Floats, int, NDArray[np.bool_] | None], tuple[Floats, Rows]]
"""Collection, space, query vectors (m, d), k and mask -> scores and rows (m, k), as `exact.topk`."""

vector_searches: Registry[VectorSearch] = Registry("search mode")
