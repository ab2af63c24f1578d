#!/usr/bin/env bash
# Guess: keys that differ in case (Smith2020, smith2020) are two references.
# Behaviour: keys are lower-cased: the later one replaces the earlier, and both citations print it.
# Matters: bibliographies of CSL JSON whose keys come from different people.
# Source: citeproc/source/__init__.py, class Reference.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "citeproc-py==0.11.1" "lxml==6.1.3"
venv/bin/python - <<'EOF'
import sys
from importlib.metadata import version

from citeproc.source.json import CiteProcJSON

print("citeproc-py", version("citeproc-py"))
papers = [{"id": key, "type": "article-journal", "title": f"Title of {key}"} for key in ("Smith2020", "smith2020")]
source = CiteProcJSON(papers)
print("guess: ['Smith2020', 'smith2020']")
print("seen:", list(source), source["smith2020"].title)
sys.exit(0 if list(source) == ["smith2020"] else "the behaviour changed")
EOF
