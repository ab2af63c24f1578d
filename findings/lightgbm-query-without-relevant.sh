#!/usr/bin/env bash
# Guess: a query without a relevant paper scores 0, or is left out of the mean.
# Behaviour: `ndcg` and `map` of LightGBM count it 1: a set of such queries alone has the best score.
# Matters: rerankers trained on citations: their validation scores are above those of trec_eval.
# Source: LightGBM, src/metric/rank_metric.hpp and map_metric.hpp.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "lightgbm==4.7.0" "scipy==1.17.1" "numpy==2.4.6"
venv/bin/python - <<'EOF'
import sys

import lightgbm
import numpy as np

print("lightgbm", lightgbm.__version__)
features = np.random.default_rng(0).random((60, 3))
relevance = np.append(np.zeros(30, int), (features[30:, 0] > 0.5).astype(int))
train = lightgbm.Dataset(features, relevance, group=[10] * 6)
empty = lightgbm.Dataset(features[:30], relevance[:30], group=[10] * 3, reference=train)
scores = {}
lightgbm.train(
    {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": [5], "verbose": -1, "num_threads": 1},
    train, 2, valid_sets=[empty], callbacks=[lightgbm.record_evaluation(scores)],
)
seen = {name: float(values[-1]) for name, values in scores["valid_0"].items()}
print("guess: 0, or no number, for three queries without a relevant paper")
print("seen:", seen)
sys.exit(0 if seen == {"ndcg@5": 1.0, "map@5": 1.0} else "the behaviour changed")
EOF
