#!/usr/bin/env bash
# Guess: `jaccard` of two titles compares their words.
# Behaviour: it compares sets of characters: titles without a common word score above 0.7.
# Matters: duplicates found with DuckDB or with Splink's Jaccard comparisons on titles.
# Source: DuckDB, core_functions/scalar/string/jaccard.cpp.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "duckdb==2.0.1"
venv/bin/python - <<'EOF'
import sys

import duckdb

print("duckdb", duckdb.__version__)
titles = ["Deep learning for graphs", "Drug dispersion in lung fever"]
score = duckdb.execute("SELECT jaccard(?, ?)", titles).fetchone()[0]
words = [set(title.lower().split()) for title in titles]
print("guess:", len(words[0] & words[1]) / len(words[0] | words[1]))
print("seen:", score)
sys.exit(0 if score > 0.7 else "the behaviour changed")
EOF
