#!/usr/bin/env bash
# Guess: a stored cost of 0 is the cheapest edge of a sparse assignment.
# Behaviour: edges of cost 0 are no edges, stored or not: a dearer assignment, or an error, is the result.
# Matters: distances or costs of exact matches (0): add a constant to each stored cost.
# Source: scipy.sparse.csgraph.min_weight_full_bipartite_matching, section Notes.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "scipy==1.17.1" "numpy==2.4.6"
venv/bin/python - <<'EOF'
import sys

import numpy as np
import scipy
from scipy.sparse import coo_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

print("scipy", scipy.__version__)
rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
costs = np.array([0.0, 5.0, 5.0, 9.0])


def match(shift):
    """Return the sum of costs of the best assignment of shifted costs."""
    graph = coo_array((costs + shift, (rows, columns)), shape=(2, 2)).tocsr()
    assert graph.nnz == 4
    left, right = min_weight_full_bipartite_matching(graph)
    return float(costs[left * 2 + right].sum())


plain, shifted = match(0.0), match(1.0)
print("guess: costs 0 + 9 = 9")
print("seen:", plain, "with 1 added to each cost:", shifted)
sys.exit(0 if (plain, shifted) == (10.0, 9.0) else "the behaviour changed")
EOF
