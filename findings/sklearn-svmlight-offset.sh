#!/usr/bin/env bash
# Guess: two files of one feature numbering have the same columns when `n_features` is given.
# Behaviour: the first column is guessed for each file: one that lacks feature 0 is shifted by one column.
# Matters: train and test files of extreme classification (Annif, omikuji): `zero_based=True`.
# Source: sklearn/datasets/_svmlight_format_io.py, zero_based="auto".
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "scikit-learn==1.9.1" "scipy==1.17.1" "numpy==2.4.6"
venv/bin/python - <<'EOF'
import io
import sys

import sklearn
from sklearn.datasets import load_svmlight_file

print("scikit-learn", sklearn.__version__)
train, test = b"1 0:1 3:1\n", b"1 1:1 3:1\n"
columns = [load_svmlight_file(io.BytesIO(f), n_features=5)[0].indices.tolist() for f in (train, test)]
fixed = load_svmlight_file(io.BytesIO(test), n_features=5, zero_based=True)[0].indices.tolist()
print("guess: columns [0, 3] and [1, 3]")
print("seen:", *columns, "with zero_based=True:", fixed)
sys.exit(0 if columns == [[0, 3], [0, 2]] and fixed == [1, 3] else "the behaviour changed")
EOF
