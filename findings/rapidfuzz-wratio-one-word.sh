#!/usr/bin/env bash
# Guess: WRatio, the default of `process.extract`, is low for titles that share one small word.
# Behaviour: titles of unlike length are compared by the best common word: "of" alone gives 85.5 of 100.
# Matters: matching references with titles: `fuzz.ratio` or `token_sort_ratio` and a cutoff.
# Source: rapidfuzz/fuzz_py.py: WRatio takes partial_token_ratio times 0.9 times 0.95.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "rapidfuzz==3.14.6"
venv/bin/python - <<'EOF'
import sys

import rapidfuzz
from rapidfuzz import fuzz, process

print("rapidfuzz", rapidfuzz.__version__)
query = "The origin of species"
titles = [
    "On a new determination of the elastic constants of the aluminium alloys used in bridges",
    "Origins: species and their places",
]
(best, score, _), ratio = process.extract(query, titles, limit=1)[0], fuzz.ratio(query, titles[0])
print("guess: below 50 for the first title, which is not the best")
print("seen: best", best, round(score, 1), "its plain ratio", round(ratio, 1))
sys.exit(0 if best == titles[0] and round(score, 1) == 85.5 and ratio < 50 else "the behaviour changed")
EOF
