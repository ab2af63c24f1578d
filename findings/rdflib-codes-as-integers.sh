#!/usr/bin/env bash
# Guess: a notation "0610" of type xsd:integer is read and written as "0610".
# Behaviour: rdflib rewrites typed literals: it is 610, in queries and in the file written.
# Matters: vocabularies with numeric codes (subject areas, classes): codes lose their zeros.
# Source: rdflib/term.py, NORMALIZE_LITERALS.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "rdflib==7.6.0"
venv/bin/python - <<'EOF'
import sys

import rdflib
from rdflib.namespace import SKOS

print("rdflib", rdflib.__version__)
TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<urn:example:area> skos:notation "0610"^^xsd:integer ; skos:altLabel "0610" .
"""
codes = [str(code) for code in rdflib.Graph().parse(data=TURTLE, format="turtle").objects(None, SKOS.notation)]
rdflib.NORMALIZE_LITERALS = False
plain = [str(code) for code in rdflib.Graph().parse(data=TURTLE, format="turtle").objects(None, SKOS.notation)]
print("guess: ['0610']")
print("seen:", codes, "with NORMALIZE_LITERALS = False:", plain)
sys.exit(0 if codes == ["610"] and plain == ["0610"] else "the behaviour changed")
EOF
