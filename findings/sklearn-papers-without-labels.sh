#!/usr/bin/env bash
# Guess: a paper without labels, for which no label is predicted, counts as right or not at all.
# Behaviour: F1 averaged over papers counts it 0: a perfect prediction has 0.5;
#   label ranking average precision counts a paper without labels 1, average precision 0.
# Matters: tagging compared by scikit-learn: state how many papers have no label; or `zero_division=1`.
# Source: sklearn/metrics/_classification.py (zero_division), sklearn/metrics/_ranking.py.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "scikit-learn==1.9.1" "scipy==1.17.1" "numpy==2.4.6"
venv/bin/python - <<'EOF'
import sys
import warnings

import numpy as np
import sklearn
from sklearn.metrics import average_precision_score, f1_score, label_ranking_average_precision_score

warnings.simplefilter("ignore")
print("scikit-learn", sklearn.__version__)
labels = np.array([[1, 0, 1], [0, 0, 0]])
perfect = f1_score(labels, labels, average="samples")
excused = f1_score(labels, labels, average="samples", zero_division=1)
ranking = label_ranking_average_precision_score(labels[1:], [[0.9, 0.5, 0.1]])
precision = average_precision_score(labels[1], [0.9, 0.5, 0.1])
print("guess: a perfect prediction has 1.0; two kinds of average precision agree")
print("seen: F1", perfect, "with zero_division=1", excused, "ranking", ranking, "average precision", precision)
sys.exit(0 if (perfect, excused, ranking, precision) == (0.5, 1.0, 1.0, 0.0) else "the behaviour changed")
EOF
