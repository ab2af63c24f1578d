#!/usr/bin/env bash
# Guess: MinHashLSH(threshold=0.8) finds nearly all pairs of papers with a Jaccard similarity of 0.8.
# Behaviour: the bands are chosen for all similarities at once; of pairs at the threshold 31 to 55 % are found.
# Matters: duplicates of titles or abstracts: a lower threshold, and an exact comparison of what is found.
# Source: datasketch/lsh.py, _optimal_param.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "datasketch==2.0.0" "numpy==2.4.6" "scipy==1.17.1"
venv/bin/python - <<'EOF'
import sys
from importlib.metadata import version

from datasketch import MinHash, MinHashLSH

print("datasketch", version("datasketch"))


def digest(words):
    made = MinHash(num_perm=128, seed=1)
    made.update_batch([word.encode() for word in words])
    return made


index = MinHashLSH(threshold=0.8, num_perm=128)
pairs = []
for paper in range(500):  # 8 of 10 words of a pair are common: a similarity of 0.8
    common = [f"{paper} common {i}" for i in range(80)]
    pairs.append([digest(common + [f"{paper} {side} {i}" for i in range(10)]) for side in "ab"])
    index.insert(paper, pairs[-1][0])
found = sum(paper in index.query(other) for paper, (_, other) in enumerate(pairs))
expected = 1 - (1 - 0.8**index.r) ** index.b
print("guess: at least 450 of 500 pairs of similarity 0.8 are found")
print(f"seen: {found} of 500; {index.b} bands of {index.r} rows find {expected:.0%}")
sys.exit(0 if found < 300 else "the behaviour changed")
EOF
