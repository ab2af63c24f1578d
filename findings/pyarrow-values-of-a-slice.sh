#!/usr/bin/env bash
# Guess: `.values` of a slice of a vector column holds the vectors of the slice.
# Behaviour: it holds those of the whole column, null rows included; `.flatten()` respects the slice,
#   but drops null rows, so that later rows move up.
# Matters: vectors of a Parquet file read in slices: wrong vectors for right ids, without an error.
# Source: documentation of pyarrow.FixedSizeListArray, values and flatten.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "pyarrow==26.0.1"
venv/bin/python - <<'EOF'
import sys

import pyarrow as pa

print("pyarrow", pa.__version__)
column = pa.array([[0, 1], [2, 3], None, [6, 7]], pa.list_(pa.float32(), 2))
values = column.slice(1, 1).values.to_pylist()
flat = column.slice(1).flatten().to_pylist()
print("guess: the slice of row 1 has the values [2, 3]; rows 1 to 3 have six values")
print("seen: values", values, "flatten", flat)
sys.exit(0 if len(values) == 8 and flat == [2.0, 3.0, 6.0, 7.0] else "the behaviour changed")
EOF
