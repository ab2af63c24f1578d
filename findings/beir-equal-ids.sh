#!/usr/bin/env bash
# Guess: queries and papers are numbered on their own: query "1" has nothing to do with paper "1".
# Behaviour: a paper whose id equals the query's is taken out of the run; if it is relevant, it is never found.
# Matters: collections that number both from 1 (CACM, NPL, Cranfield) lose papers; ignore_identical_ids=False helps.
# Source: beir/retrieval/evaluation.py, EvaluateRetrieval.evaluate.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "pytrec_eval-terrier==0.5.11" "tqdm==4.69.1" "numpy==2.4.6" "requests==2.34.2"
venv/bin/pip install --quiet --no-deps "beir==2.2.0"
venv/bin/python - <<'EOF'
import sys
from importlib.metadata import version

from beir.retrieval.evaluation import EvaluateRetrieval

print("beir", version("beir"))
relevant = {"1": {"1": 1}, "2": {"7": 1}}
run = {"1": {"1": 0.9, "3": 0.5}, "2": {"7": 0.9, "3": 0.5}}
scores = [
    EvaluateRetrieval.evaluate(relevant, {query: dict(papers) for query, papers in run.items()}, [1], **options)[0]
    for options in ({}, {"ignore_identical_ids": False})
]
print("guess: a run with the relevant paper first in each query has nDCG@1 = 1")
print("seen:", scores[0], "and with ignore_identical_ids=False", scores[1])
sys.exit(0 if (scores[0]["NDCG@1"], scores[1]["NDCG@1"]) == (0.5, 1.0) else "the behaviour changed")
EOF
