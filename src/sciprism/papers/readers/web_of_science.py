"""Web of Science plain text (`savedrecs.txt`, `.ciw`): lines of a tag of two letters, from PT to ER."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sciprism.papers.bibliographic_fields import Fields, find_year, first_value, reorder_name, split_list
from sciprism.papers.cleaning import normalise_doi
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_TAGGED = re.compile(r"([A-Z][A-Z0-9])(?: (.*))?$")
_START = re.compile(r"^FN (?:Clarivate|Thomson|ISI|Web of)|^PT [A-Z]\n(?:.*\n){0,400}?(?:TI|SO|UT) ", re.MULTILINE)
_OUTSIDE = ("FN", "VR", "EF")  # of the file, not of a record
_DOI = re.compile(r"\bDOI \[?(10\.[^\s,\]]+)")


@paper_readers.reader(
    "web_of_science",
    "Web of Science plain text (`savedrecs.txt`, `.ciw`): lines of a tag of two letters, from PT to ER",
    (".ciw", ".isi"),
    patterns=(_START,),
)
def read_web_of_science(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield one paper from each PT to the next or to ER; the id is Web of Science's own."""
    fields: dict[str, list[str]] = {}
    values: list[str] = []
    for line, text in file.lines():
        tagged = _TAGGED.match(text)
        if tagged is None:
            if text.strip():
                values.append(text.strip())
            continue
        tag = tagged[1]
        if tag in ("PT", "ER") and fields:
            yield _build_paper(fields)
            fields = {}
        if tag == "ER" or tag in _OUTSIDE:
            values = []
            continue
        if not fields:
            file.record_line = line
        values = fields.setdefault(tag, [])
        values.append((tagged[2] or "").strip())
    if fields:
        yield _build_paper(fields)


def _build_paper(fields: Fields) -> Paper:
    short, full = fields.get("AU", []), fields.get("AF", [])
    authors = full if len(full) >= len(short) else short
    title = _join(fields, "TI")
    ids = {"doi": first_value(fields, "DI"), "pmid": first_value(fields, "PM")}
    if first_value(fields, "PT") == "B" and (isbn := first_value(fields, "BN")):
        ids["isbn"] = isbn

    keywords = [*split_list(_join(fields, "DE")), *split_list(_join(fields, "ID"))]
    cited = (doi[1] for reference in fields.get("CR", ()) if (doi := _DOI.search(reference)))
    return Paper(
        id=first_value(fields, "UT"),
        title=title,
        abstract=_join(fields, "AB"),
        authors=tuple(dict.fromkeys(reorder_name(name) for name in authors or fields.get("CA", []) if name)),
        venue=_join(fields, "SO") or _join(fields, "SE"),
        year=find_year(first_value(fields, "PY")) or find_year(first_value(fields, "EA")),
        fields=split_list(_join(fields, "WC") or _join(fields, "SC")),
        keywords=tuple(dict.fromkeys(keywords)),
        references=tuple(dict.fromkeys(f"doi:{normalise_doi(doi)}" for doi in cited)),
        ids={system: value for system, value in ids.items() if value},
    )


def _join(fields: Fields, tag: str) -> str:
    return " ".join(filter(None, fields.get(tag, ())))
