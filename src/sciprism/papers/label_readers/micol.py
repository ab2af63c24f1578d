"""Labels of the MICoL release (`MAG_label.json`): one object a line, its first name is the label's."""

from __future__ import annotations

import re

from sciprism.papers.json_records import JsonObject, JsonReader, list_texts
from sciprism.papers.label_readers.registry import label_readers
from sciprism.papers.records import Label

_KEYS = (re.compile(r'"label"\s*:'), re.compile(r'"name"\s*:\s*\[|"combined_text"\s*:'))


def _build_label(row: JsonObject) -> Label:
    name, *synonyms = [*list_texts(row.get("name")), ""]
    return Label.from_json(
        {
            "id": row.get("label"),
            "name": name,
            "synonyms": list(filter(None, synonyms)),
            "definition": row.get("definition"),
        }
    )


label_readers.register("micol")(JsonReader(_KEYS, _build_label))
