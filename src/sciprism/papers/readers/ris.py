"""RIS in the dialects of reference managers and publishers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sciprism.papers.bibliographic_fields import Fields, find_year, first_value, reorder_name, split_list
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

# The standard has two spaces before the dash. Dialects with fewer spaces are read only for known tags, as an
# abstract may contain "IV - results".
_STRICT = re.compile(r"\ufeff?([A-Z][A-Z0-9])  -(?: (.*)|$)")
_LOOSE = re.compile(
    r"\s*(TY|ER|ID|TI|T[12]|CT|BT|AB|N2|AU|A[123]|PY|Y1|DA|JO|JF|JA|KW|DO|UR|SN|AN)\s{0,3}-(?:\s*(.*)|$)"
)
_TYPE = re.compile(r"^\s*TY\s{0,3}-\s*[A-Z]", re.MULTILINE)
_FIELD = re.compile(r"^(?:TI|T1|AU|A1|AB|N2|PY|Y1|JO|JF|ER)  - ", re.MULTILINE)
_MEDLINE = re.compile(r"^PMID\s*- ", re.MULTILINE)

_VENUES = ("JF", "T2", "JO", "BT", "JA", "J1", "J2", "C3", "PB")
_PARAGRAPHS = ("AB", "N2", "N1")


def _is_ris(head: str) -> bool:
    """Look for a type line, or for several tagged lines that are not MEDLINE's."""
    return bool(_TYPE.search(head) or (len(_FIELD.findall(head)) > 1 and not _MEDLINE.search(head)))


@paper_readers.reader("ris", "RIS in the dialects of reference managers and publishers", (".ris",), check=_is_ris)
def read_ris(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield one paper from each TY to the next or to ER; text outside records is ignored."""
    fields: dict[str, list[str]] = {}
    last = ""  # the tag that a line without one continues
    for line, text in file.lines():
        tagged = _STRICT.match(text) or _LOOSE.match(text)
        if tagged is None:
            text = text.strip()
            if not last or (not text and last not in _PARAGRAPHS):
                last = ""  # only texts of several paragraphs continue after an empty line
            elif last == "KW":
                fields[last].append(text)  # EndNote writes one keyword a line under one tag
            else:
                fields[last][-1] = f"{fields[last][-1]} {text}"
            continue
        tag, value = tagged[1], (tagged[2] or "").strip()
        if tag in ("TY", "ER") and fields:
            if any(map(any, fields.values())):  # "EF  - ", the end of a file, is no record
                yield _build_paper(fields)
            fields = {}
        if tag == "ER":
            last = ""
            continue
        if not fields:
            file.record_line = line
        fields.setdefault(tag, []).append(value)
        last = tag
    if any(map(any, fields.values())):
        yield _build_paper(fields)


def _build_paper(fields: Fields) -> Paper:
    title_tag = next((tag for tag in ("TI", "T1", "CT", "BT", "TT", "ST") if first_value(fields, tag)), "")
    ids = _collect_ids(fields)
    label, accession = first_value(fields, "ID"), first_value(fields, "AN")
    if label.isdigit():
        label = ""  # EndNote numbers the records of each library from 1, so two libraries share these
    authors = [name for tag in ("AU", "A1") for name in fields.get(tag, ())]
    editors = [name for tag in ("A2", "A3", "ED") for name in fields.get(tag, ())]
    return Paper(
        id=label or ("" if "doi" in ids or "pmid" in ids else accession),
        title=first_value(fields, title_tag),
        abstract=max((first_value(fields, "AB"), first_value(fields, "N2")), key=len),
        authors=tuple(dict.fromkeys(map(reorder_name, filter(None, authors or editors)))),
        venue=next((first_value(fields, tag) for tag in _VENUES if tag != title_tag and first_value(fields, tag)), ""),
        year=next((year for tag in ("PY", "Y1", "DA") if (year := find_year(first_value(fields, tag)))), None),
        keywords=tuple(dict.fromkeys(word for text in fields.get("KW", ()) for word in split_list(text))),
        ids=ids,
    )


def _collect_ids(fields: Fields) -> dict[str, str]:
    ids: dict[str, str] = {}
    for tag in ("DO", "M3", "L3", "N1", "UR", "L2"):
        for value in fields.get(tag, ()):
            marked = tag == "DO" or re.match(r"\s*(?:doi\b|10\.|https?://(?:dx\.)?doi\.org/)", value, re.IGNORECASE)
            if marked and "10." in value:
                ids.setdefault("doi", value)
    if url := first_value(fields, "UR"):
        ids["url"] = url
    if (isbn := first_value(fields, "SN")) and first_value(fields, "TY") in ("BOOK", "EBOOK", "EDBOOK", "WHOLE"):
        ids["isbn"] = isbn
    accession = first_value(fields, "AN")
    database = f"{first_value(fields, 'DB')} {first_value(fields, 'DP')}".lower()
    if accession.isdigit() and ("pubmed" in database or "medline" in database or "nlm" in database):
        ids["pmid"] = accession
    if (pmcid := first_value(fields, "C2")).startswith("PMC"):
        ids["pmcid"] = pmcid
    return ids
