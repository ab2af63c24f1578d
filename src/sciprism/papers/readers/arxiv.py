"""arXiv metadata, one record a line, as the snapshot of all of arXiv has it.

Categories are the fields; the first version gives the year.
"""

from __future__ import annotations

import re
from typing import Any

from sciprism.papers.json_records import JsonReader, Row, first, inside, names, year_in
from sciprism.papers.latex import decode_latex
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_KEYS = re.compile(r'"(authors_parsed|journal-ref|report-no|update_date)"\s*:')
_AFFILIATION = re.compile(r"\((?:[^()]|\([^()]*\))*\)")
_BETWEEN_AUTHORS = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")


def _paper(row: Row) -> Paper:
    number = row.get("id")
    dois = str(first(row, "doi") or "").split()
    categories = row.get("categories")
    return Paper.from_json(
        {
            "id": number,
            "title": row.get("title"),
            "abstract": row.get("abstract"),
            "authors": _authors(row),
            "venue": first(row, "journal-ref") or "arXiv",
            "year": _first_version(row) or year_in(row.get("update_date")),
            "fields": names(categories.split() if isinstance(categories, str) else categories),
            "ids": {"arxiv": number, **({"doi": dois[0]} if dois else {})} if number else {},
        }
    )


def _first_version(row: Row) -> int | None:
    versions = row.get("versions")
    return year_in(inside(versions[0], "created")) if isinstance(versions, list) and versions else None


def _authors(row: Row) -> tuple[str, ...]:
    """Prefer the split names: in them arXiv has turned LaTeX accents into letters."""
    parsed = row.get("authors_parsed")
    if isinstance(parsed, list) and parsed:
        return names([_name(parts) for parts in parsed])
    listed = row.get("authors")
    if isinstance(listed, str):
        listed = _AFFILIATION.sub("", " ".join(decode_latex(listed).split()))
        return names(list(filter(None, map(str.strip, _BETWEEN_AUTHORS.split(listed)))))
    return names(listed)


def _name(parts: Any) -> str:
    """Join a split name, [family, given, suffix ...], in reading order; what follows is an affiliation."""
    family, given, suffix = [*names(parts[:3] if isinstance(parts, list) else parts), "", "", ""][:3]
    return " ".join(filter(None, (given, family, suffix)))


paper_readers.register("arxiv")(JsonReader((_KEYS,), _paper))
