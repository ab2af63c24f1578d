#!/usr/bin/env bash
# Guess: record.title and record.author of a library's MARC record are the title and the author's name.
# Behaviour: the cataloguer's punctuation and the dates of life stay: "Title : rest /", "Name, 1809-1882.".
# Matters: records of library catalogues next to those of publishers: neither titles nor names are equal.
# Source: pymarc/record.py; ISBD punctuation in MARC 21, fields 245, 100 and 264.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "pymarc==5.4.0"
venv/bin/python - <<'EOF'
import io
import sys
from importlib.metadata import version

from pymarc import Field, Indicators, MARCReader, Record, Subfield

print("pymarc", version("pymarc"))


def field(tag, first, second, **subfields):
    return Field(tag, Indicators(first, second), [Subfield(code, value) for code, value in subfields.items()])


record = Record()
record.add_field(field("100", "1", " ", a="Keller, Ada,", d="1809-1882."))
record.add_field(field("245", "1", "4", a="The tides of lakes :", b="an essay /", c="Ada Keller."))
record.add_field(field("264", " ", "1", a="Ulm :", b="Seeverlag,", c="[1859?]"))
[read] = MARCReader(io.BytesIO(record.as_marc()))
print("guess: 'The tides of lakes: an essay' 'Keller, Ada' '1859'")
print("seen:", repr(read.title), repr(read.author), repr(read.pubyear))
same = (read.title, read.author) == ("The tides of lakes : an essay /", "Keller, Ada, 1809-1882.")
sys.exit(0 if same else "the behaviour changed")
EOF
