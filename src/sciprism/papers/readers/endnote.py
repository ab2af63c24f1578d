"""EndNote's XML, and its tagged text, as EndNote, Zotero, Mendeley and others write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from sciprism.papers.bibliographic_fields import find_retraction, find_year, is_medline, reorder_name, split_all
from sciprism.papers.cleaning import normalize_doi
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.readers.tagged import TaggedFields, TaggedSyntax, build_tagged_papers, first_value
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


# ---- EndNote's tagged text ----

_ENW_LINE = re.compile(r"%(?P<tag>[0-46-9A-Z@!?+^&$#()\[\]{}<>=~*,:;/|])(?:\s+(?P<value>.*))?$")
_ENW_TYPE = re.compile(r"^%0 [A-Z]", re.MULTILINE)
_ENW_FIELD = re.compile(r"^%([ATDJXB]) \S", re.MULTILINE)
# Digital Commons: the title before the type, which some records lack (exports of AIS eLibrary, colrev 0.16.2).
_ENW_TITLE_FIRST = re.compile(r"\A(?:(?!%).*\n)*(?=%T )(?:.*\n)*?%T .*\n%0 [A-Z]")
_ENW_TITLES, _ENW_LINES, _ENW_PARAGRAPHS = ("T", "!", "B"), ("A", "E", "Y", "K"), ("X", "Z")


@paper_readers.reader(
    "enw",
    'EndNote\'s tagged text (`.enw`, "refer"), as EndNote, Google Scholar, Zotero and publishers write it',
    (".enw", ".refer"),
    check=lambda head: _ENW_TYPE.search(head) is not None or len(set(_ENW_FIELD.findall(head))) > 2,
)
def read_enw(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield one paper from each %0 (in some files from each %T) to the next; without %0, records end at empty lines."""
    first = "T" if _ENW_TITLE_FIRST.search(file.head()) else "0"
    syntax = TaggedSyntax(_ENW_LINE.match, first, _ENW_TITLES, (), _ENW_LINES, _ENW_PARAGRAPHS, ends_at_empty_line=True)
    return build_tagged_papers(file, syntax, _build_enw_paper)


def _build_enw_paper(fields: TaggedFields) -> Paper:
    label, accession, custom = (first_value(fields, tag) for tag in "FM2")
    links = [url for url in fields.get("U", ()) if "doi.org/" in url]
    medical = accession.isdigit() and is_medline(first_value(fields, "~"), first_value(fields, "W"))
    ids = {
        "doi": normalize_doi(" ".join([*fields.get("R", ()), *links])),
        "pmid": accession if medical else "",
        "pmcid": custom if custom.upper().startswith("PMC") else "",
        "isbn": first_value(fields, "@") if "book" in first_value(fields, "0").lower() else "",
        "url": first_value(fields, "U"),
    }
    authors = [name for tag in ("A", "Q") for name in fields.get(tag, ())] or fields.get("E", [])
    title = first_value(fields, "T", "!", "B")
    return Paper(
        id=label if label and not label.isdigit() else "" if ids["doi"] or medical else accession,
        title=title,
        abstract=first_value(fields, "X"),
        # EndNote ends the name of an institution with a comma.
        authors=tuple(dict.fromkeys(reorder_name(name.rstrip(",")) for name in authors if name.rstrip(","))),
        venue=next((venue for tag in "JBSI" if (venue := first_value(fields, tag)) and venue != title), ""),
        year=find_year(first_value(fields, "D")) or find_year(first_value(fields, "8")),
        keywords=split_all(fields.get("K", [])),
        ids={system: value for system, value in ids.items() if value},
        volume=first_value(fields, "V"),
        issue=first_value(fields, "N"),
        pages=first_value(fields, "P"),
        notice=find_retraction(*fields.get("9", ())),
    )
