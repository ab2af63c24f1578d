"""Types of the arrays that packages exchange."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
"""Vectors and similarities."""

Doubles = NDArray[np.float64]
"""Scores and statistics."""

Rows = NDArray[np.int64]
"""Positions in a sequence: of papers, labels, queries or tasks' items."""

Integers = NDArray[np.int64]
"""Counts, ranks and class numbers."""
