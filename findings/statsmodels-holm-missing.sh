#!/usr/bin/env bash
# Guess: a test without p-value (NaN) is left out of a correction for many tests.
# Behaviour: `holm` counts it in the family (0.01 of three becomes 0.04, not 0.03);
#   `fdr_bh` makes all corrected values NaN, yet its list of rejections names two.
# Matters: a task that lacks one system: drop NaN before the correction.
# Source: statsmodels/stats/multitest.py: the number of tests is the length of the list.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "statsmodels==0.15.0" "scipy==1.17.1" "numpy==2.4.6" "pandas==3.1.1"
venv/bin/python - <<'EOF'
import sys

import numpy as np
import statsmodels
from statsmodels.stats.multitest import multipletests

print("statsmodels", statsmodels.__version__)
values = [0.01, 0.02, np.nan, 0.04]
complete = multipletests([0.01, 0.02, 0.04], method="holm")[1]
holm = multipletests(values, method="holm")[1]
rejected, fdr = multipletests(values, method="fdr_bh")[:2]
print("guess: corrected 0.03 with and without the missing test")
print("seen: holm without", complete.round(4), "with", holm.round(4))
print("seen: fdr_bh", fdr, "rejected", rejected)
same = np.isclose(holm[0], 0.04) and np.isclose(complete[0], 0.03) and np.isnan(fdr).all() and rejected.any()
sys.exit(0 if same else "the behaviour changed")
EOF
