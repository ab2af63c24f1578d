"""EndNote's XML, as EndNote, Zotero, Mendeley and others write it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from sciprism.papers.bibliographic_fields import find_year, is_medline, reorder_name, split_all
from sciprism.papers.cleaning import normalize_doi
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper
from sciprism.papers.xml_records import read_xml_records, text_of, texts_of

_XML = re.compile(r"<xml\b[^>]*>\s*<records\b|<records>\s*<record>\s*<(?:database|source-app|rec-number|ref-type)\b")
_XML_VENUES = (
    *("titles/secondary-title", "periodical/full-title", "alt-periodical/full-title", "titles/alt-title", "publisher"),
)
_XML_DATES = ("dates/year", "dates/pub-dates/date")


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
        keywords=split_all(texts_of(record, "keywords/keyword")),
        ids=ids,
        volume=text_of(record, "volume"),
        issue=text_of(record, "number"),
        pages=text_of(record, "pages"),
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
    names = (text_of(record, f"remote-database-{part}") for part in ("name", "provider"))
    medical = is_medline(*names) or any("ncbi.nlm.nih.gov" in url for url in urls)
    pmcid = text_of(record, "custom2")
    is_book = "book" in (kind.get("name", "").lower() if (kind := record.find("ref-type")) is not None else "")
    ids = {
        "doi": normalize_doi(text_of(record, "electronic-resource-num")) or normalize_doi(" ".join(links[:1])),
        "pmid": accession if accession.isdigit() and medical else "",
        "pmcid": pmcid if pmcid.upper().startswith("PMC") else "",
        "isbn": text_of(record, "isbn") if is_book else "",
        "url": urls[0] if urls else "",
    }
    return {system: value for system, value in ids.items() if value}
