#!/usr/bin/env bash
# Guess: RR and RR@10 rank papers alike, so RR@10 is never above RR.
# Behaviour: RR is trec_eval's, where of equal scores the larger id is first; RR@k is MS MARCO's: the smaller one is.
# Matters: tables with both (MRR@10 of MS MARCO, RR and nDCG of TREC); rounded or integer scores have many ties.
# Source: ir_measures/providers/msmarco_provider.py and pytrec_eval_provider.py, SUPPORTED_MEASURES.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "ir-measures==0.4.3" "pytrec-eval-terrier==0.5.11" "numpy==2.4.6"
venv/bin/python - <<'EOF'
import sys
from importlib.metadata import version

import ir_measures
from ir_measures import RR

print("ir_measures", version("ir-measures"))
relevant = [ir_measures.Qrel("q", "paper1", 1)]
run = [ir_measures.ScoredDoc("q", paper, 1.0) for paper in ("paper1", "paper2", "paper3")]
scores = ir_measures.calc_aggregate([RR, RR @ 10], relevant, run)
print("guess: three papers of equal score, so RR@10 = RR")
print(f"seen: RR {scores[RR]:.3f}, RR@10 {scores[RR @ 10]:.3f}")
sys.exit(0 if (round(scores[RR], 3), scores[RR @ 10]) == (0.333, 1.0) else "the behaviour changed")
EOF
