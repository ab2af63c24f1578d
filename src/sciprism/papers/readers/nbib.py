"""MEDLINE text, as PubMed saves citations (`.nbib`, and `.txt` for the format "PubMed")."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sciprism.papers.bibliographic_fields import Fields, find_year, first_value, reorder_name
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_TAGGED = re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)")
_START = re.compile(r"^PMID ?- ?\d", re.MULTILINE)


class NbibReader:
    """Read from one PMID to the next; the id is the PMID."""

    suffixes: tuple[str, ...] = (".nbib", ".medline")

    def recognises(self, head: str) -> bool:
        """Look for the first line of a citation."""
        return _START.search(head) is not None

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
        """Yield one paper for each citation."""
        for line, fields in _read_records(file):
            file.record_line = line
            yield _build_paper(fields)


paper_readers.register("nbib")(NbibReader())


def _read_records(file: InputFile) -> Iterator[tuple[int, Fields]]:
    """Yield the line in which a citation begins and the values of its tags."""
    start = 0
    fields: dict[str, list[str]] = {}
    values: list[str] = []
    for line, text in file.lines():
        tagged = _TAGGED.match(text)
        if tagged is None:
            if text.startswith(" ") and values:
                values[-1] = f"{values[-1]} {text.strip()}"
            elif not text.strip():
                values = []
            continue
        if tagged[1] == "PMID" and fields:
            yield start, fields
            fields = {}
        start = start if fields else line
        values = fields.setdefault(tagged[1], [])
        values.append(tagged[2].strip())
    if fields:
        yield start, fields


def _build_paper(fields: Fields) -> Paper:
    pmid = first_value(fields, "PMID")
    marked = [*fields.get("AID", ()), *fields.get("LID", ())]  # each with the name of its system in brackets
    doi = next((value.removesuffix("[doi]").strip() for value in marked if value.endswith("[doi]")), "")
    ids = {"pmid": pmid, "pmcid": first_value(fields, "PMC"), "doi": doi}
    # A star marks the main headings; a slash precedes the aspect of a topic.
    headings = [heading.split("/")[0].replace("*", "") for heading in fields.get("MH", ())]
    words = [word.replace("*", "") for word in fields.get("OT", ())]
    authors = [reorder_name(name) for name in fields.get("FAU", fields.get("AU", []))]
    return Paper(
        id=pmid,
        title=first_value(fields, "TI", "BTI", "TT", "CTI"),
        abstract=first_value(fields, "AB", "OAB"),
        authors=tuple(filter(None, [*authors, *fields.get("CN", ())])),
        venue=first_value(fields, "JT", "TA", "BTI"),
        year=find_year(first_value(fields, "DP", "DEP")),
        keywords=tuple(dict.fromkeys(filter(None, headings + words))),
        ids={system: value for system, value in ids.items() if value},
    )
