#!/usr/bin/env bash
# Guess: costs with fractions are refused or used as they are.
# Behaviour: an array of costs is cut to whole numbers without a word: similarities below 1 all cost 0;
#   one cost at a time raises TypeError.
# Matters: similarities passed to OR-tools: multiply by 10**6 and round.
# Source: ortools/graph/python/linear_sum_assignment.cc: arrays are converted to int64.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "ortools==9.15.6755" "numpy==2.4.6"
venv/bin/python - <<'EOF'
import sys

import numpy as np
import ortools
from ortools.graph.python.linear_sum_assignment import SimpleLinearSumAssignment

print("ortools", ortools.__version__)
problem = SimpleLinearSumAssignment()
left, right = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
problem.add_arcs_with_cost(left, right, np.array([0.9, 0.2, 0.3, 0.8]))
problem.solve()
try:
    SimpleLinearSumAssignment().add_arc_with_cost(0, 0, 0.9)
    single = "accepted"
except TypeError:
    single = "TypeError"
costs = [problem.cost(arc) for arc in range(4)]
print("guess: the best sum is 0.5")
print("seen: best sum", problem.optimal_cost(), "costs", costs, "one cost at a time:", single)
sys.exit(0 if problem.optimal_cost() == 0 and single == "TypeError" else "the behaviour changed")
EOF
