#!/usr/bin/env bash
# Guess: "and others" of BibTeX says that authors are missing; it is no author.
# Behaviour: pybtex and citation-js give an author of the name "others".
# Matters: author counts and author matching on CSL JSON made by citation-js.
# Source: pybtex/database/input/bibtex.py; @citation-js/plugin-bibtex, lib/mapping.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "pybtex==0.26.1"
npm install --silent --no-audit --no-fund "@citation-js/core@0.8.2" "@citation-js/plugin-bibtex@0.8.2"
echo '@article{a1, title = {A title}, author = {Keller, Ada and others}, year = {2020}}' > paper.bib
node -e '
  const { Cite } = require("@citation-js/core");
  require("@citation-js/plugin-bibtex");
  const text = require("fs").readFileSync("paper.bib", "utf8");
  console.log(JSON.stringify(new Cite(text).data));
' > paper.json
venv/bin/python - <<'EOF'
import json
import sys
from importlib.metadata import version
from pathlib import Path

from pybtex.database import parse_string

print("pybtex", version("pybtex"))
text = Path("paper.bib").read_text()
persons = [str(person) for person in parse_string(text, "bibtex").entries["a1"].persons["author"]]
csl = [name.get("family") for name in json.loads(Path("paper.json").read_text())[0]["author"]]
print("guess: one author, Keller")
print("seen: pybtex", persons, "citation-js", csl)
sys.exit(0 if persons[-1] == "others" and csl[-1] == "others" else "the behaviour changed")
EOF
