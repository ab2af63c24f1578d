"""EndNote's XML, and its tagged text, as EndNote, Zotero, Mendeley and others write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from sciprism.papers.bibliographic_fields import is_medline, split_all
from sciprism.papers.cleaning import normalize_doi
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.paper_rows import build_listed_paper
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.readers.tagged import TaggedFields, TaggedSyntax, build_tagged_papers, first_value
from sciprism.papers.records import Paper
from sciprism.papers.xml_records import read_xml_records, text_of, texts_of

_XML = re.compile(r"<xml\b[^>]*>\s*<records\b|<records>\s*<record>\s*<(?:database|source-app|rec-number|ref-type)\b")


@paper_readers.reader(
    "endnote_xml", "EndNote XML, as EndNote, Zotero, Mendeley and others write it", (".xml",), patterns=(_XML,)
)
def read_endnote_xml(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield every record of an XML file, whose text is in elements `style`; a fault of the file is one BadRecord."""
    # EndNote writes control characters of abstracts as they are, which XML does not allow.
    for record in read_xml_records(file, ("record",), as_text=True):
        yield record if isinstance(record, BadRecord) else _build_xml_paper(record)


def _build_xml_paper(record: Element) -> Paper:
    urls = [text_of(url) for url in record.iterfind("urls/*/url")]
    urls = [url for url in urls if url.startswith(("http://", "https://"))]
    label, accession, pmcid = (text_of(record, path) for path in ("label", "accession-num", "custom2"))
    names = (text_of(record, f"remote-database-{part}") for part in ("name", "provider"))
    medical = is_medline(*names) or any("ncbi.nlm.nih.gov" in url for url in urls)
    is_book = "book" in (kind.get("name", "").lower() if (kind := record.find("ref-type")) is not None else "")
    link = next((url for url in urls if "doi.org/" in url), "")
    ids = {
        "doi": normalize_doi(text_of(record, "electronic-resource-num")) or normalize_doi(link),
        "pmid": accession if accession.isdigit() and medical else "",
        "pmcid": pmcid if pmcid.upper().startswith("PMC") else "",
        "isbn": text_of(record, "isbn") if is_book else "",
        "url": urls[0] if urls else "",
    }
    # The label; else what a database calls the paper; else library and record number, which alone recurs. Papers with
    # a DOI or a PMID have an id already.
    numbered = [text_of(record, "database"), text_of(record, "rec-number")]
    other = "" if ids["doi"] or ids["pmid"] else accession or (":".join(numbered) if all(numbered) else "")
    return build_listed_paper(
        "endnote_xml",
        lambda path: texts_of(record, path),
        id=label if label and not label.isdigit() else other,
        keywords=split_all(texts_of(record, "keywords/keyword")),
        ids=ids,
        is_apart=True,
    )


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
    }
    return build_listed_paper(
        "enw",
        # EndNote ends the name of an institution with a comma.
        lambda tag: [text.rstrip(",") if tag in "AQE" else text for text in fields.get(tag, ())],
        id=label if label and not label.isdigit() else "" if ids["doi"] or medical else accession,
        keywords=split_all(fields.get("K", [])),
        ids=ids,
        is_apart=True,
    )
