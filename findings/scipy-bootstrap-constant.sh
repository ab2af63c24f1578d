#!/usr/bin/env bash
# Guess: the bootstrap interval of a score that is 1 for each query is [1, 1].
# Behaviour: the default method, BCa, gives [nan, nan]; `percentile` gives [1, 1].
# Matters: tasks that a system solves without error, intervals of a table made with scipy.
# Source: scipy/stats/_resampling.py: the acceleration of BCa divides by the spread of the jackknife.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "scipy==1.17.1" "numpy==2.4.6"
venv/bin/python - <<'EOF'
import math
import sys
import warnings

import numpy as np
import scipy
from scipy.stats import bootstrap

warnings.simplefilter("ignore")
print("scipy", scipy.__version__)
scores = np.ones(50)
default = bootstrap((scores,), np.mean, n_resamples=999).confidence_interval
percentile = bootstrap((scores,), np.mean, n_resamples=999, method="percentile").confidence_interval
print("guess: [1, 1] by each method")
print("seen: default", [float(x) for x in default], "percentile", [float(x) for x in percentile])
sys.exit(0 if math.isnan(default.low) and percentile.low == 1.0 else "the behaviour changed")
EOF
