#!/usr/bin/env bash
# Guess: entries of biblatex's types (@online, @dataset, @software, @thesis, @report) are read.
# Behaviour: `loads` leaves them out; a line of the log is all that tells.
# Matters: collections counted with bibtexparser 1 against `sciprism inspect`.
# Source: bibtexparser/bparser.py, ignore_nonstandard_types.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "bibtexparser==1.4.4"
venv/bin/python - <<'EOF'
import logging
import sys

import bibtexparser

logging.disable(logging.WARNING)
print("bibtexparser", bibtexparser.__version__)
kinds = ["article", "online", "dataset", "software", "thesis", "report"]
text = "\n".join(f"@{kind}{{{kind}1, title = {{A title}}, year = {{2020}}}}" for kind in kinds)
default = [entry["ENTRYTYPE"] for entry in bibtexparser.loads(text).entries]
parser = bibtexparser.bparser.BibTexParser(ignore_nonstandard_types=False)
every = [entry["ENTRYTYPE"] for entry in bibtexparser.loads(text, parser).entries]
print("guess:", kinds)
print("seen:", default, "with ignore_nonstandard_types=False:", len(every))
sys.exit(0 if default == ["article"] and len(every) == 6 else "the behaviour changed")
EOF
