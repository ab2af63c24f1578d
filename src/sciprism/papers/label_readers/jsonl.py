"""Labels as `Label.to_json` writes them, and JSON of others with similar keys."""

from __future__ import annotations

import re

from sciprism.papers.json_records import JsonObject, JsonReader, get_first, list_texts
from sciprism.papers.label_readers.registry import label_readers
from sciprism.papers.records import Label

_KEYS = (re.compile(r'"(id|label)"\s*:'), re.compile(r'"name"\s*:'))
_MICOL = re.compile(r'"name"\s*:\s*\[|"combined_text"\s*:')


def _build_label(row: JsonObject) -> Label:
    return Label.from_json(
        {
            "id": get_first(row, "id", "label"),
            "name": row.get("name"),
            "synonyms": list_texts(get_first(row, "synonyms", "alt_names", "aliases")),
            "definition": get_first(row, "definition", "description", "scope_notes"),
            "broader": list_texts(get_first(row, "broader", "parents"), "id"),
            "codes": list_texts(get_first(row, "codes", "tree_numbers")),
        }
    )


label_readers.register("jsonl")(JsonReader(_KEYS, _build_label, excluded=_MICOL))
