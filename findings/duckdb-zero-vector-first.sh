#!/usr/bin/env bash
# Guess: a paper whose vector is zero (no text) is last in a search by cosine.
# Behaviour: its similarity is NaN, which DuckDB holds for greater than any number: it is the first hit.
# Matters: search over exported vectors with ORDER BY ... DESC: filter `isnan`.
# Source: DuckDB, core_functions/scalar/array (cosine); documentation of NaN and ordering.
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
hits = duckdb.sql("""
    SELECT paper, array_cosine_similarity(vector, [1, 0]::FLOAT[2]) AS score
    FROM (VALUES ('empty', [0, 0]::FLOAT[2]), ('same', [1, 0]::FLOAT[2]), ('other', [0, 1]::FLOAT[2])) t(paper, vector)
    ORDER BY score DESC
""").fetchall()
print("guess: same, other, empty")
print("seen:", hits)
sys.exit(0 if [hit[0] for hit in hits] == ["empty", "same", "other"] else "the behaviour changed")
EOF
