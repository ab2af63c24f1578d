#!/usr/bin/env bash
# Guess: of a precomputed graph UMAP takes the first n_neighbors columns, however many there are.
# Behaviour: it does so from 4,096 rows on; below that all columns count, and the map is another one.
# Matters: maps of a library of some thousand papers, from an index that was asked for 50 neighbours.
# Source: umap/umap_.py, UMAP.fit, the branches on precomputed_knn and on small data
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "umap-learn==0.5.12"
venv/bin/python - <<'EOF'
import sys
import warnings
from importlib.metadata import version

import numpy as np
from sklearn.neighbors import NearestNeighbors
from umap import UMAP

warnings.filterwarnings("ignore")


def count_edges(rows: int, columns: int) -> int:
    vectors = np.random.default_rng(0).normal(size=(rows, 5)).astype(np.float32)
    distances, numbers = NearestNeighbors(n_neighbors=columns).fit(vectors).kneighbors(vectors)
    graph = UMAP(
        n_neighbors=15, n_epochs=1, init="random", random_state=0, precomputed_knn=(numbers, distances.astype(np.float32))
    ).fit(vectors).graph_
    return int(graph.nnz)


few = [count_edges(1200, columns) for columns in (15, 51)]
many = [count_edges(4200, columns) for columns in (15, 51)]
print("umap-learn", version("umap-learn"))
print("guess: 15 and 51 columns give the same edges for n_neighbors=15")
print("seen: edges of 1,200 rows", few, "of 4,200 rows", many)
sys.exit(0 if few[1] > 2 * few[0] and many[0] == many[1] else "the behaviour changed")
EOF
