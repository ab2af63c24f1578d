#!/usr/bin/env bash
# Guess: `p \textless{} 0.05`, as reference managers write it, becomes "p < 0.05"; \texttt{BLAST} becomes BLAST.
# Behaviour: commands without a rule vanish: the sign is gone, and so is all text within \texttt.
# Matters: titles and abstracts of BibTeX exports decoded by the library alone: names of software are lost.
# Source: pylatexenc/latex2text/_defaultspecs.py.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "pylatexenc==2.11"
venv/bin/python - <<'EOF'
import sys

import pylatexenc
from pylatexenc.latex2text import LatexNodes2Text

print("pylatexenc", pylatexenc.__version__)
texts = [r"p {\textless} 0.05", r"n {\textgreater} 20", r"run with \texttt{BLAST}", r"run with \textbf{BLAST}"]
decoded = [LatexNodes2Text().latex_to_text(text).rstrip() for text in texts]
print("guess: p < 0.05, n > 20, run with BLAST, run with BLAST")
print("seen:", decoded)
same = not any(sign in "".join(decoded) for sign in "<>") and decoded[2:] == ["run with", "run with BLAST"]
sys.exit(0 if same else "the behaviour changed")
EOF
