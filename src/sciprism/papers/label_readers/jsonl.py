"""Our own rows, as `Label.to_json` writes them, and rows of others that name things much as we do."""

from __future__ import annotations

import re

from sciprism.papers.json_records import JsonReader, Row, first, names
from sciprism.papers.label_readers.registry import label_readers
from sciprism.papers.records import Label

_ID = re.compile(r'"(id|label)"\s*:')
_NAME = re.compile(r'"name"\s*:')
_FOREIGN = re.compile(r'"name"\s*:\s*\[|"combined_text"\s*:')  # MICoL's


def _label(row: Row) -> Label:
    return Label.from_json(
        {
            "id": first(row, "id", "label"),
            "name": row.get("name"),
            "synonyms": names(first(row, "synonyms", "alt_names", "aliases")),
            "definition": first(row, "definition", "description", "scope_notes"),
            "broader": names(first(row, "broader", "parents"), "id"),
            "codes": names(first(row, "codes", "tree_numbers")),
        }
    )


label_readers.register("jsonl")(JsonReader((_ID, _NAME), _label, foreign=_FOREIGN))
