#!/usr/bin/env bash
# Guess: a word that stands in a title finds the paper by full text.
# Behaviour: "WHO" is a stop word, and a word of more than 40 letters is not stored: neither finds anything.
# Matters: names of organizations and of compounds; remove_stop_words=False and max_token_length keep them.
# Source: documentation of lancedb, FTS index configuration (defaults).
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "lancedb==0.40.0" "pyarrow==26.0.1"
venv/bin/python - <<'EOF'
import sys

import lancedb
from lancedb.index import FTS

print("lancedb", lancedb.__version__)
compound = "dihydrocinnamoylethoxyphenylmethylbenzamide"  # invented, 43 letters
rows = [{"id": 1, "title": f"Synthesis of {compound}"}, {"id": 2, "title": "WHO report on lakes"}]
database = lancedb.connect("database")
seen = {}
for name, options in (("defaults", {}), ("all words", {"remove_stop_words": False, "max_token_length": 100})):
    table = database.create_table(name.replace(" ", "_"), rows)
    table.create_index("title", config=FTS(**options))
    found = {
        query[:9]: [row["id"] for row in table.search(query, query_type="fts").to_list()]
        for query in (compound, "WHO", "lakes")
    }
    seen[name] = found
print("guess: each word finds its paper")
print("seen:", seen)
same = list(seen["defaults"].values()) == [[], [], [2]] and list(seen["all words"].values()) == [[1], [2], [2]]
sys.exit(0 if same else "the behaviour changed")
EOF
