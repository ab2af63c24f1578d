"""Labels of the MICoL release (`MAG_label.json`): one object a line, the first name is the name."""

from __future__ import annotations

import re

from sciprism.papers.json_records import JsonReader, Row, names
from sciprism.papers.label_readers.registry import label_readers
from sciprism.papers.records import Label

_LABEL = re.compile(r'"label"\s*:')
_NAMES = re.compile(r'"name"\s*:\s*\[|"combined_text"\s*:')


def _label(row: Row) -> Label:
    name, *synonyms = [*names(row.get("name")), ""]
    return Label.from_json(
        {
            "id": row.get("label"),
            "name": name,
            "synonyms": list(filter(None, synonyms)),
            "definition": row.get("definition"),
        }
    )


label_readers.register("micol")(JsonReader((_LABEL, _NAMES), _label))
