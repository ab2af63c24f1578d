#!/usr/bin/env bash
# Guess: of two abstracts with the same match the shorter one scores higher.
# Behaviour: lengths above 40 words are stored in steps: 200 to 215 words are one length, so scores tie.
# Matters: BM25 runs of tantivy against ours: ties that another engine does not have.
# Source: tantivy, src/fieldnorm/code.rs (Lucene's table).
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
builder.add_text_field("text")
builder.add_integer_field("words", stored=True)
index = tantivy.Index(builder.build())
writer = index.writer(num_threads=1)
for words in (30, 31, 200, 215, 216):
    text = "gene " + " ".join(f"w{i}" for i in range(words - 1))
    writer.add_document(tantivy.Document(text=text, words=words))
writer.commit()
index.reload()
searcher = index.searcher()
hits = searcher.search(index.parse_query("gene", ["text"]), 10).hits
scores = {searcher.doc(address)["words"][0]: score for score, address in hits}
print("guess: five different scores")
print("seen:", {words: round(score, 5) for words, score in sorted(scores.items())})
same = scores[30] > scores[31] and scores[200] == scores[215] > scores[216]
sys.exit(0 if same else "the behaviour changed")
EOF
