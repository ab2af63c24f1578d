#!/usr/bin/env bash
# Guess: a title keeps its letters when BibTeX becomes CSL JSON.
# Behaviour: English titles are put into sentence case: names without braces lose their capitals, H$_2$O is h$_2$o.
# Matters: titles shown or compared by case; entities in titles (Bayesian, South America) for taggers of names.
# Source: pandoc manual, "Capitalization in titles"; src/Text/Pandoc/Citeproc/BibTeX.hs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "pypandoc_binary==1.17"
cat > papers.bib <<'EOF'
@article{a, title = {Bayesian Models of Lakes in South America}, year = 2020}
@article{b, title = {Bayesian Models of {Lakes} in {South America}}, year = 2020}
@article{c, title = {Ice of H$_2$O}, year = 2020}
@article{d, title = {Bayesian Models of Lakes in South America}, year = 2020, langid = {spanish}}
EOF
venv/bin/python - <<'EOF'
import json
import sys

import pypandoc

print("pandoc", pypandoc.get_pandoc_version())
rows = json.loads(pypandoc.convert_file("papers.bib", "csljson", format="bibtex"))
titles = {row["id"]: row["title"] for row in rows}
print("guess: Bayesian Models of Lakes in South America")
print("seen:", titles)
same = titles["a"] == "Bayesian models of lakes in south america" and titles["b"].endswith("Lakes in South America")
sys.exit(0 if same and "h$_2$o" in titles["c"] else "the behaviour changed")
EOF
