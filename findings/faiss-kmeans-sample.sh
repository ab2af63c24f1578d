#!/usr/bin/env bash
# Guess: Kmeans with one cluster finds the mean of all vectors.
# Behaviour: it trains on 256 vectors a cluster, chosen at random, whatever it is given.
# Matters: cells of an index or of a map made by faiss: `max_points_per_centroid` decides.
# Source: faiss/Clustering.h, max_points_per_centroid.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "faiss-cpu==1.15.1" "numpy==2.4.6"
venv/bin/python - <<'EOF'
import sys

import faiss
import numpy as np

print("faiss", faiss.__version__)
vectors = np.random.default_rng(0).normal(size=(20_000, 4)).astype(np.float32)
mean = vectors.mean(axis=0, dtype=np.float64)
sample = faiss.Kmeans(4, 1)
sample.train(vectors)
whole = faiss.Kmeans(4, 1, max_points_per_centroid=20_000)
whole.train(vectors)
distances = [float(np.abs(kmeans.centroids[0] - mean).max()) for kmeans in (sample, whole)]
print("guess: the centroid is the mean, within 0.001")
print("seen: largest difference %.4f; with max_points_per_centroid=20000 %.4f" % tuple(distances))
sys.exit(0 if distances[0] > 0.01 and distances[1] < 0.001 else "the behaviour changed")
EOF
