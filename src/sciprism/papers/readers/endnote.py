"""EndNote's XML and its tagged text (`.enw`, "refer"), as EndNote, Zotero, Mendeley and others write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from sciprism.papers.bibliographic_fields import Fields, find_year, first_value, reorder_name, split_list
from sciprism.papers.cleaning import normalise_doi
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper
from sciprism.papers.xml_records import read_xml_records, text_of, texts_of

_XML = re.compile(r"<xml\b[^>]*>\s*<records\b|<records>\s*<record>\s*<(?:database|source-app|rec-number|ref-type)\b")
_XML_VENUES = (
    "titles/secondary-title",
    "periodical/full-title",
    "alt-periodical/full-title",
    "titles/alt-title",
    "publisher",
)
_XML_DATES = ("dates/year", "dates/pub-dates/date")
_TAGGED = re.compile(r"\ufeff?%([0-9A-Z@!?+^&$#()\[\]{}<>=~*,:;/|])(?:\s+(.*))?$")
_TYPE = re.compile(r"^%0 [A-Z]", re.MULTILINE)
_FIELD = re.compile(r"^%([ATDJXB]) \S", re.MULTILINE)
_LINES = ("A", "E", "Y", "K")  # whose lines are values of their own


@paper_readers.reader(
    "endnote_xml", "EndNote XML, as EndNote, Zotero, Mendeley and others write it", (".xml",), patterns=(_XML,)
)
def read_endnote_xml(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield every record of an XML file, whose text is in elements `style`; a fault of the file is one BadRecord."""
    # EndNote writes control characters of abstracts as they are, which XML does not allow.
    for record in read_xml_records(file, ("record",), as_text=True):
        yield record if isinstance(record, BadRecord) else _build_xml_paper(record)


def _build_xml_paper(record: Element) -> Paper:
    ids = _collect_xml_ids(record)
    authors = texts_of(record, "contributors/authors/author") or texts_of(record, "contributors/*/author")
    title = text_of(record, "titles/title")
    venues = (text_of(record, path) for path in _XML_VENUES)
    return Paper(
        id=_choose_id(record, ids),
        title=title,
        abstract=text_of(record, "abstract") or text_of(record, "research-notes"),
        authors=tuple(dict.fromkeys(map(reorder_name, authors))),
        venue=next((venue for venue in venues if venue and venue != title), ""),
        year=next(filter(None, (find_year(text_of(record, path)) for path in _XML_DATES)), None),
        keywords=tuple(
            dict.fromkeys(word for text in texts_of(record, "keywords/keyword") for word in split_list(text))
        ),
        ids=ids,
    )


def _choose_id(record: Element, ids: dict[str, str]) -> str:
    """Return the label; else what a database calls the paper; else library and record number.

    Papers with a DOI or a PMID have an id already. A record number alone recurs from library to library.
    """
    label = text_of(record, "label")
    if label and not label.isdigit():
        return label
    if "doi" in ids or "pmid" in ids:
        return ""
    library, number = text_of(record, "database"), text_of(record, "rec-number")
    return text_of(record, "accession-num") or (f"{library}:{number}" if library and number else "")


def _collect_xml_ids(record: Element) -> dict[str, str]:
    urls = [text_of(url) for url in record.iterfind("urls/*/url")]
    urls = [url for url in urls if url.startswith(("http://", "https://"))]
    links = [url for url in urls if "doi.org/" in url]
    accession = text_of(record, "accession-num")
    database = f"{text_of(record, 'remote-database-name')} {text_of(record, 'remote-database-provider')}".lower()
    medical = any(name in database for name in ("pubmed", "medline", "nlm")) or any(
        "ncbi.nlm.nih.gov" in url for url in urls
    )
    pmcid = text_of(record, "custom2")
    is_book = "book" in (kind.get("name", "").lower() if (kind := record.find("ref-type")) is not None else "")
    ids = {
        "doi": normalise_doi(text_of(record, "electronic-resource-num")) or normalise_doi(" ".join(links[:1])),
        "pmid": accession if accession.isdigit() and medical else "",
        "pmcid": pmcid if pmcid.upper().startswith("PMC") else "",
        "isbn": text_of(record, "isbn") if is_book else "",
        "url": urls[0] if urls else "",
    }
    return {system: value for system, value in ids.items() if value}


@paper_readers.reader(
    "enw",
    'EndNote\'s tagged text (`.enw`, "refer"), as EndNote, Google Scholar, Zotero and publishers write it',
    (".enw", ".refer"),
    check=lambda head: _TYPE.search(head) is not None or len(set(_FIELD.findall(head))) > 2,
)
def read_enw(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield one paper from each %0 to the next; without %0, records end at empty lines."""
    fields: dict[str, list[str]] = {}
    last = ""  # the tag that a line without one continues
    after_empty_line = False
    for line, text in file.lines():
        tagged = _TAGGED.match(text)
        if tagged is None:
            text = text.strip()
            after_empty_line = after_empty_line or not text
            if last and text:
                _continue(fields[last], text, as_value=last in _LINES)
            continue
        if fields and (tagged[1] == "0" or (after_empty_line and "0" not in fields)):
            yield _build_tagged_paper(fields)
            fields = {}
        after_empty_line = False
        if not fields:
            file.record_line = line
        last = tagged[1]
        fields.setdefault(last, []).append((tagged[2] or "").strip())
    if fields:
        yield _build_tagged_paper(fields)


def _continue(values: list[str], text: str, *, as_value: bool) -> None:
    """Add a line to the values of its tag: as a new value, or to the last one."""
    if as_value:
        values.append(text)
    else:
        values[-1] = f"{values[-1]} {text}".strip()


def _build_tagged_paper(fields: Fields) -> Paper:
    ids = _collect_tagged_ids(fields)
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


def _collect_tagged_ids(fields: Fields) -> dict[str, str]:
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
