#!/usr/bin/env bash
# Guess: adding the term "RNA" to a tokenizer changes texts that have the word RNA.
# Behaviour: with a lower-casing normalizer it also matches inside words: jou-rna-l, exte-rna-l.
# Matters: encoders with terms of a field added: `AddedToken(term, single_word=True)`.
# Source: documentation of tokenizers.AddedToken, single_word and normalized.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "tokenizers==0.23.3"
venv/bin/python - <<'EOF'
import sys

import tokenizers
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

print("tokenizers", tokenizers.__version__)
letters = "abcdefghijklmnopqrstuvwxyz"
words = ["[UNK]", *letters, *("##" + letter for letter in letters), "journal", "external", "gene"]


def tokenize(term, text="journal external gene"):
    """Return the tokens of a text after a term was added to a lower-casing tokenizer."""
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_tokens([term])
    return tokenizer.encode(text).tokens


plain, single = tokenize("RNA"), tokenize(AddedToken("RNA", single_word=True))
print("guess: journal external gene")
print("seen:", *plain)
print("seen with single_word=True:", *single)
same = plain.count("rna") == 2 and single == ["journal", "external", "gene"]
sys.exit(0 if same else "the behaviour changed")
EOF
