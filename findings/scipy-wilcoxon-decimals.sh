#!/usr/bin/env bash
# Guess: Wilcoxon's test of paired scores is the same for 0.53 and for 53%.
# Behaviour: differences that are equal in decimals differ in their last bit, so ties break: p is 0.042 or 0.064.
# Matters: scores of `sciprism compare` tested elsewhere: round the differences first, or test whole numbers.
# Source: scipy.stats.wilcoxon, section Notes; scipy/stats/_wilcoxon.py ranks the differences as they are.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "scipy==1.17.1" "numpy==2.4.6"
venv/bin/python - <<'EOF'
import sys

import scipy
from scipy.stats import wilcoxon

print("scipy", scipy.__version__)
first = [66, 44, 72, 50, 66, 56, 43, 78, 61, 46, 79, 74, 40, 46, 44, 53, 56, 67, 69, 64]
second = [67, 48, 71, 49, 65, 60, 47, 82, 63, 49, 78, 71, 42, 49, 41, 57, 57, 68, 72, 62]
percent = wilcoxon(second, first)
fraction = wilcoxon([b / 100 for b in second], [a / 100 for a in first])
rounded = wilcoxon([round(b / 100 - a / 100, 6) for a, b in zip(first, second)])
print("guess: three times the same statistic and p")
print("seen: percent", percent.statistic, percent.pvalue)
print("seen: fractions", fraction.statistic, fraction.pvalue)
print("seen: rounded differences", rounded.statistic, rounded.pvalue)
changed = percent.statistic == fraction.statistic or percent.pvalue != rounded.pvalue
sys.exit("the behaviour changed" if changed else 0)
EOF
