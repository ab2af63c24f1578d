#!/usr/bin/env bash
# Guess: an integer program with the status "optimal" has its highest sum.
# Behaviour: HiGHS stops at a gap of 0.0001 of the whole objective; a large constant part
#   (locked pairs, large weights) makes a sum "optimal" that is 5% below the best of the rest.
# Matters: own programs for assignments: `mip_rel_gap=0`, or no constant in the objective.
# Source: HiGHS, option mip_rel_gap; documentation of scipy.optimize.milp.
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
from scipy.optimize import LinearConstraint, milp

print("scipy", scipy.__version__)
random = np.random.default_rng(3)
values = random.integers(50, 150, 60).astype(float)
loads = random.integers(50, 150, (5, 60)).astype(float)


def solve(constant, **options):
    """Return status and the sum without the constant."""
    costs = np.append(-values, -constant)
    limits = LinearConstraint(np.c_[loads, np.zeros(5)], ub=loads.sum(axis=1) * 0.4)
    result = milp(costs, integrality=np.ones(61), bounds=(0, 1), constraints=limits, options=options)
    return result.status, -result.fun - constant


plain, constant, exact = solve(0.0), solve(1e7), solve(1e7, mip_rel_gap=0)
print("guess: status 0 (optimal) and the same sum with and without a constant")
print("seen: without", plain, "with", constant, "with mip_rel_gap=0", exact)
status = plain[0] == constant[0] == exact[0] == 0
sys.exit(0 if status and constant[1] < plain[1] - 1 and abs(exact[1] - plain[1]) < 0.5 else "the behaviour changed")
EOF
