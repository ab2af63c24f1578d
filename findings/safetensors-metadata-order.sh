#!/usr/bin/env bash
# Guess: the same tensors and metadata, saved twice, are the same bytes.
# Behaviour: the order of the metadata is random in each call: file hashes differ.
# Matters: caches and checks by hash of an exported model: hash tensors, or have one key of metadata.
# Source: safetensors, src/tensor.rs: the metadata are a HashMap.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "safetensors==0.8.0" "numpy==2.4.6"
venv/bin/python - <<'EOF'
import hashlib
import sys

import numpy as np
import safetensors
from safetensors.numpy import save

print("safetensors", safetensors.__version__)
tensors = {"weight": np.zeros((2, 2), np.float32), "bias": np.zeros(2, np.float32)}


def count_hashes(keys):
    """Return how many different files twenty calls make."""
    metadata = dict.fromkeys(keys, "value")
    return len({hashlib.sha256(save(tensors, metadata=metadata)).hexdigest() for _ in range(20)})


several, one = count_hashes("abcdefgh"), count_hashes("a")
print("guess: 1 file")
print("seen: different files with eight keys of metadata:", several, "with one key:", one)
sys.exit(0 if several > 1 and one == 1 else "the behaviour changed")
EOF
