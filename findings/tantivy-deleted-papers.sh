#!/usr/bin/env bash
# Guess: BM25 after papers were deleted equals BM25 of an index without them.
# Behaviour: deleted papers count in the word frequencies until their segment is merged: scores differ.
# Matters: a lexical index that is updated: scores depend on its history.
# Source: tantivy, src/query/bm25.rs: frequencies come from the segments' term dictionaries.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "tantivy==0.27.0"
venv/bin/python - <<'EOF'
import sys

import tantivy

print(tantivy.__version__)
builder = tantivy.SchemaBuilder()
builder.add_text_field("text", stored=True)
builder.add_text_field("id", tokenizer_name="raw")
schema = builder.build()
PAPERS = {"a": "gene cell", "b": "gene tissue", "c": "gene membrane", "d": "cell membrane", "e": "lung tissue"}


def score(added, deleted=()):
    """Return the score of the best paper for "gene"."""
    index = tantivy.Index(schema)
    writer = index.writer(num_threads=1)
    for paper in added:
        writer.add_document(tantivy.Document(text=PAPERS[paper], id=paper))
    writer.commit()
    for paper in deleted:
        writer.delete_documents("id", paper)
    writer.commit()
    index.reload()
    found = index.searcher().search(index.parse_query("gene", ["text"]), 10)
    return len(found.hits), round(found.hits[0][0], 4)


fresh, updated = score("ade"), score("abcde", deleted="bc")
print("guess: the same hit and score")
print("seen: (hits, score) of a new index", fresh, "after deletion", updated)
sys.exit(0 if fresh[0] == updated[0] == 1 and fresh[1] != updated[1] else "the behaviour changed")
EOF
