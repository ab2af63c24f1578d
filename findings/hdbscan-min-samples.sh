#!/usr/bin/env bash
# Guess: both HDBSCANs give the same clusters for the same parameters.
# Behaviour: `min_samples` of scikit-learn counts the point itself: 6 there is 5 in hdbscan.
# Matters: maps and topics of a collection (BERTopic uses hdbscan) repeated with scikit-learn.
# Source: documentation of sklearn.cluster.HDBSCAN, min_samples; hdbscan/hdbscan_.py.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "hdbscan==0.8.44" "scikit-learn==1.9.1" "scipy==1.17.1" "numpy==2.4.6"
venv/bin/python - <<'EOF'
import sys
import warnings
from importlib.metadata import version

import hdbscan
import numpy as np
from sklearn.cluster import HDBSCAN

warnings.simplefilter("ignore")
print("hdbscan", version("hdbscan"), "scikit-learn", version("scikit-learn"))
random = np.random.default_rng(0)
groups = [random.normal(centre, 0.6, (60, 2)) for centre in ((0, 0), (3, 0), (0, 3))]
points = np.concatenate([*groups, random.uniform(-3, 6, (60, 2))])
labels = hdbscan.HDBSCAN(min_cluster_size=5, min_samples=5).fit(points).labels_
others = [HDBSCAN(min_cluster_size=5, min_samples=n).fit(points).labels_ for n in (5, 6)]
counts = [int(other.max()) + 1 for other in (labels, *others)]
print("guess: min_samples=5 gives the same clusters in both")
print("seen: clusters of hdbscan: %d; of scikit-learn with 5: %d, with 6: %d" % tuple(counts))
same = counts[0] != counts[1] and (labels == others[1]).all()
sys.exit(0 if same else "the behaviour changed")
EOF
