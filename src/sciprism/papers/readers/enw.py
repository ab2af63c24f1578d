"""EndNote's tagged text (`.enw`, "refer"), as EndNote, Google Scholar, Zotero and publishers write it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sciprism.papers.bibliographic_fields import Fields, find_year, first_value, reorder_name, split_list
from sciprism.papers.cleaning import normalise_doi
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_TAGGED = re.compile(r"\ufeff?%([0-9A-Z@!?+^&$#()\[\]{}<>=~*,:;/|])(?:\s+(.*))?$")
_TYPE = re.compile(r"^%0 [A-Z]", re.MULTILINE)
_FIELD = re.compile(r"^%([ATDJXB]) \S", re.MULTILINE)
_LINES = ("A", "E", "Y", "K")  # whose lines are values of their own


class EnwReader:
    """Read from one %0 to the next; without %0, records end at empty lines."""

    suffixes: tuple[str, ...] = (".enw", ".refer")

    def recognises(self, head: str) -> bool:
        """Look for the type of a record, or for several kinds of tags."""
        return _TYPE.search(head) is not None or len(set(_FIELD.findall(head))) > 2

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
        """Yield one paper for each record."""
        for line, fields in _read_records(file):
            file.record_line = line
            yield _build_paper(fields)


paper_readers.register("enw")(EnwReader())


def _read_records(file: InputFile) -> Iterator[tuple[int, Fields]]:
    """Yield the line in which a record begins and the values of its tags."""
    start = 0
    fields: dict[str, list[str]] = {}
    last = ""  # the tag that a line without one continues
    after_empty_line = False
    for line, text in file.lines():
        tagged = _TAGGED.match(text)
        if tagged is None:
            text = text.strip()
            after_empty_line = after_empty_line or not text
            if last and text:
                _continue(fields[last], text, own=last in _LINES)
            continue
        if fields and (tagged[1] == "0" or (after_empty_line and "0" not in fields)):
            yield start, fields
            fields = {}
        after_empty_line = False
        start = start if fields else line
        last = tagged[1]
        fields.setdefault(last, []).append((tagged[2] or "").strip())
    if fields:
        yield start, fields


def _continue(values: list[str], text: str, *, own: bool) -> None:
    """Add a line to the values of its tag: as a value of its own, or to the last one."""
    if own:
        values.append(text)
    else:
        values[-1] = f"{values[-1]} {text}".strip()


def _build_paper(fields: Fields) -> Paper:
    ids = _collect_ids(fields)
    label, accession = first_value(fields, "F"), first_value(fields, "M")
    authors = [name for tag in ("A", "Q") for name in fields.get(tag, ())] or fields.get("E", [])
    title = first_value(fields, "T", "!", "B")
    return Paper(
        id=label if label and not label.isdigit() else "" if "doi" in ids or "pmid" in ids else accession,
        title=title,
        abstract=first_value(fields, "X"),
        # EndNote ends the name of an institution with a comma.
        authors=tuple(dict.fromkeys(reorder_name(name.rstrip(",")) for name in authors if name.rstrip(","))),
        venue=next((venue for tag in "JBSI" if (venue := first_value(fields, tag)) and venue != title), ""),
        year=find_year(first_value(fields, "D")) or find_year(first_value(fields, "8")),
        keywords=tuple(dict.fromkeys(word for text in fields.get("K", ()) for word in split_list(text))),
        ids=ids,
    )


def _collect_ids(fields: Fields) -> dict[str, str]:
    accession, custom = first_value(fields, "M"), first_value(fields, "2")
    database = f"{first_value(fields, '~')} {first_value(fields, 'W')}".lower()
    links = [url for url in fields.get("U", ()) if "doi.org/" in url]
    medical = any(name in database for name in ("pubmed", "medline", "nlm"))
    ids = {
        "doi": normalise_doi(first_value(fields, "R")) or normalise_doi(" ".join(links[:1])),
        "pmid": accession if accession.isdigit() and medical else "",
        "pmcid": custom if custom.upper().startswith("PMC") else "",
        "isbn": first_value(fields, "@") if "book" in first_value(fields, "0").lower() else "",
        "url": first_value(fields, "U"),
    }
    return {system: value for system, value in ids.items() if value}
