#!/usr/bin/env bash
# Guess: `&lt;` and `&amp;` are decoded in each title of a file.
# Behaviour: after the first line with a plain "<" entities stay as they are, to the end of the file.
# Matters: titles cleaned before import: the same title differs by what was before it.
# Source: ftfy/__init__.py, unescape_html="auto" in fix_file.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "ftfy==6.3.1"
venv/bin/python - <<'EOF'
import io
import sys

import ftfy

print("ftfy", ftfy.__version__)
titles = ["Growth &amp; decay", "Risk at p < 0.05", "Growth &amp; decay"]
fixed = [line.strip() for line in ftfy.fix_file(io.StringIO("\n".join(titles) + "\n"))]
print("guess: the first title and the third are equal")
print("seen:", fixed)
sys.exit(0 if fixed[0] == "Growth & decay" and fixed[2] == "Growth &amp; decay" else "the behaviour changed")
EOF
