#!/usr/bin/env bash
# Guess: weighted tau of two lists of ranks (1 is best) weighs the best ranks most.
# Behaviour: elements of larger value weigh most: exchanging ranks 1 and 2 costs least.
# Matters: leaderboards compared by rank: pass scores, or negative ranks.
# Source: documentation of scipy.stats.weightedtau, parameter `rank`.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "scipy==1.17.1" "numpy==2.4.6"
venv/bin/python - <<'EOF'
import sys

import scipy
from scipy.stats import weightedtau

print("scipy", scipy.__version__)
ranks = list(range(1, 11))
top = [2, 1, *ranks[2:]]
bottom = [*ranks[:8], 10, 9]
costs = [1 - weightedtau(ranks, other).statistic for other in (top, bottom)]
negative = [1 - weightedtau([-r for r in ranks], [-r for r in other]).statistic for other in (top, bottom)]
print("guess: an exchange at the top costs more than one at the end")
print("seen: ranks: top %.3f, end %.3f" % tuple(costs))
print("seen: negative ranks: top %.3f, end %.3f" % tuple(negative))
sys.exit(0 if costs[0] < costs[1] and negative[0] > negative[1] else "the behaviour changed")
EOF
