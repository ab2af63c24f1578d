#!/usr/bin/env bash
# Guess: the mean vector of ten million float32 rows is right to six digits.
# Behaviour: sums over rows are not pairwise: ten million times 0.1 have a mean of 0.1088.
# Matters: centring or averaging a large collection: `dtype=np.float64`, or sums of parts.
# Source: documentation of numpy.sum, section Notes: pairwise only along the fast axis.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "numpy==2.4.6"
venv/bin/python - <<'EOF'
import sys

import numpy as np

print("numpy", np.__version__)
vectors = np.full((10_000_000, 4), 0.1, dtype=np.float32)
rows, all_values = vectors.mean(axis=0), vectors.mean()
exact = vectors.mean(axis=0, dtype=np.float64)
print("guess: 0.1 for each column")
print("seen: mean(axis=0)", rows, "mean()", all_values, "mean(axis=0, dtype=float64)", exact)
same = abs(rows[0] - 0.1) > 0.005 and abs(all_values - 0.1) < 1e-4 and abs(exact[0] - 0.1) < 1e-6
sys.exit(0 if same else "the behaviour changed")
EOF
