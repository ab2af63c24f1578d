#!/usr/bin/env bash
# Guess: the prefix "vectors/part" lists vectors/part-0 and vectors/part-1, as in S3.
# Behaviour: a prefix ends at a slash: "vectors/part" lists nothing, "vectors" does not list vectors.json.
# Matters: shards of a collection listed from a bucket: list the folder, then filter by name.
# Source: documentation of obstore.list; Apache Arrow object_store, ObjectStore::list.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "obstore==0.12.1"
venv/bin/python - <<'EOF'
import sys

import obstore
from obstore.store import MemoryStore

print("obstore", obstore.__version__)
store = MemoryStore()
for path in ("vectors/part-0", "vectors/part-1", "vectors.json"):
    obstore.put(store, path, b"-")
part = [file["path"] for file in obstore.list(store, prefix="vectors/part").collect()]
folder = [file["path"] for file in obstore.list(store, prefix="vectors").collect()]
print("guess: two files, and three files")
print("seen: vectors/part:", part, "vectors:", folder)
sys.exit(0 if part == [] and len(folder) == 2 else "the behaviour changed")
EOF
