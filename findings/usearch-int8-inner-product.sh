#!/usr/bin/env bash
# Guess: an int8 index with inner product ranks by inner product, roughly.
# Behaviour: each vector is scaled to unit length when it becomes int8: the order is that of cosine.
# Matters: vectors whose length carries weight, exported to usearch: use float16.
# Source: usearch, include/usearch/index_plugins.hpp, the cast to int8.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "usearch==2.26.6" "numpy==2.4.6"
venv/bin/python - <<'EOF'
import sys

import numpy as np
import usearch
from usearch.index import Index

print("usearch", usearch.__version__)
vectors = np.array([[0.9, 0.45, 0.0], [0.3, 0.0, 0.0], [0.5, 0.1, 0.0]], np.float32)
query = np.array([1, 0, 0], np.float32)
orders = {}
for dtype in ("f32", "f16", "i8"):
    index = Index(ndim=3, metric="ip", dtype=dtype)
    index.add(np.arange(3), vectors)
    orders[dtype] = index.search(query, 3).keys.tolist()
cosine = np.argsort(-vectors @ query / np.linalg.norm(vectors, axis=1)).tolist()
print("guess: [0, 2, 1], by inner product, for each type")
print("seen:", orders, "order by cosine:", cosine)
same = orders["f32"] == orders["f16"] == [0, 2, 1] and orders["i8"] == cosine == [1, 2, 0]
sys.exit(0 if same else "the behaviour changed")
EOF
