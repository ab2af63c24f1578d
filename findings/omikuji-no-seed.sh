#!/usr/bin/env bash
# Guess: training twice in one thread gives the same model, or a seed makes it so.
# Behaviour: labels are clustered from a random start without a seed: scores of each model differ.
# Matters: tags of Annif's omikuji compared with ours: repeat the training for an interval.
# Source: omikuji, HyperParam of the Python package (no seed among its fields).
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "omikuji==0.5.2" "cffi==2.1.1"
venv/bin/python - <<'EOF'
import random
import sys
from importlib.metadata import version
from pathlib import Path

import omikuji

print("omikuji", version("omikuji"))
random.seed(0)
lines = ["300 50 40"]
for _ in range(300):
    label = random.randrange(40)
    features = sorted({label, *random.sample(range(50), 6)})
    lines.append(f"{label},{(label + 7) % 40} " + " ".join(f"{i}:{1 + random.random():.3f}" for i in features))
Path("train.txt").write_text("\n".join(lines) + "\n")
parameters = omikuji.Model.default_hyper_param()
parameters.n_trees = 1
models = [omikuji.Model.train_on_data("train.txt", parameters, n_threads=1) for _ in range(5)]
answers = {tuple(model.predict([(3, 1.0), (5, 2.0)], top_k=3)) for model in models}
print("guess: five trainings, one answer, and a seed among the parameters")
print("seen: different answers:", len(answers), "seed:", any("seed" in name for name in dir(parameters)))
sys.exit(0 if len(answers) > 1 and not any("seed" in name for name in dir(parameters)) else "the behaviour changed")
EOF
