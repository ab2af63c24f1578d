"""Zotero RDF, as Zotero exports it; notes (memos) and attachments are no papers.

Fields are the collections, keywords the tags. The id is derived from the DOI, PMID or arXiv id where there is one, else
it is the address of the item; `#item_12` is a number of one export, and no id.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from sciprism.papers.bibliographic_fields import find_noted_ids, find_year
from sciprism.papers.cleaning import normalise_arxiv
from sciprism.papers.file_copies import copy_file
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper
from sciprism.papers.xml_records import read_xml_records, text_of, texts_of

_NAMESPACE = "http://www.zotero.org/namespaces/export#"
_BIB, _Z = "{http://purl.org/net/biblio#}", f"{{{_NAMESPACE}}}"
_DC, _TERMS = "{http://purl.org/dc/elements/1.1/}", "{http://purl.org/dc/terms/}"
_RDF, _FOAF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}", "{http://xmlns.com/foaf/0.1/}"
_NUMBER = "{http://prismstandard.org/namespaces/1.2/basic/}number"
_KINDS = {f"{_Z}Attachment": "attachment", f"{_BIB}Memo": "note"}
_PEOPLE = (f"{_BIB}authors", f"{_BIB}editors", f"{_Z}inventors", f"{_BIB}contributors")
_IDENTIFIER = re.compile(r"\s*(DOI|ISBN|PMID|PMCID)[\s:]+(\S+)", re.IGNORECASE)


class ZoteroRdfReader:
    """Read one item at a time, after a pass that collects the journals and collections that items refer to."""

    suffixes: tuple[str, ...] = (".rdf",)

    def recognises(self, head: str) -> bool:
        """Look for the namespace of Zotero's exports."""
        return _NAMESPACE in head and "<" in head

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
        """Yield every item; a fault of the file is one BadRecord after them."""
        if file.path.is_file():
            yield from _read_items(file, file)
            return
        with copy_file(file) as copy:  # a pipe can be read once
            yield from _read_items(InputFile(copy), file)


@dataclass(slots=True)
class _References:
    """What items refer to by address: containers (journals, books, series), and the collections of each item."""

    containers: dict[str, Element] = field(default_factory=dict)
    collections: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, record: Element) -> None:
        """Keep a container or the members of a collection; other records are not kept."""
        if record.tag == f"{_Z}Collection":
            for part in record.iterfind(f"{_TERMS}hasPart"):
                self.collections[part.get(f"{_RDF}resource", "")].append(text_of(record, f"{_DC}title"))
        elif record.tag not in _KINDS and not _is_item(record):
            self.containers[record.get(f"{_RDF}about", "")] = record

    def containers_of(self, item: Element) -> list[Element]:
        """Return what an item is part of, inside it or by address, series last."""
        parts = item.findall(f"{_TERMS}isPartOf")
        inside = [child for part in parts for child in part]
        addresses = [part.get(f"{_RDF}resource", "") for part in parts]
        found = inside + [self.containers[address] for address in addresses if address in self.containers]
        return sorted(found, key=lambda each: each.tag == f"{_BIB}Series")


def _read_items(source: InputFile, file: InputFile) -> Iterator[Paper | BadRecord]:
    references = _References()
    for record in read_xml_records(source, None):
        if not isinstance(record, BadRecord):  # the second pass reports it
            references.add(record)
    for record in read_xml_records(source, None):
        if isinstance(record, BadRecord):
            yield record
        elif kind := _KINDS.get(record.tag):
            file.omitted[kind] += 1
        elif _is_item(record):
            yield _build_paper(record, references)


def _is_item(record: Element) -> bool:
    """Say whether a record is a paper; journals and collections have no type of item."""
    return record.find(f"{_Z}itemType") is not None or record.find(f"{_BIB}authors") is not None


def _build_paper(item: Element, references: _References) -> Paper:
    containers = references.containers_of(item)
    address = item.get(f"{_RDF}about", "")
    ids = _collect_ids(item, containers)
    is_link = not address.startswith(("#", "urn:")) and not {"doi", "pmid", "arxiv"} & ids.keys()
    venues = (text_of(each, f"{_DC}title") for each in containers)
    return Paper(
        id=address if is_link else "",
        title=text_of(item, f"{_DC}title"),
        abstract=text_of(item, f"{_TERMS}abstract"),
        authors=_name_authors(item),
        venue=next(filter(None, venues), "")
        or text_of(item, f"{_TERMS}presentedAt//{_DC}title")
        or text_of(item, f"{_DC}publisher//{_FOAF}name"),
        year=find_year(text_of(item, f"{_DC}date")),
        fields=tuple(dict.fromkeys(filter(None, references.collections.get(address, ())))),
        keywords=texts_of(item, f"{_DC}subject"),
        ids=ids,
    )


def _collect_ids(item: Element, containers: list[Element]) -> Mapping[str, str]:
    """Return the ids of an item; its DOI may be noted at its journal."""
    ids: dict[str, str] = {}
    for identifier in (found for each in (item, *containers) for found in each.iterfind(f"{_DC}identifier")):
        if match := _IDENTIFIER.match(text_of(identifier)):
            ids.setdefault(match[1].lower(), match[2])
        elif (address := text_of(identifier, f"{_TERMS}URI")) and "url" not in ids:
            ids["url"] = address
    for note in item.iterfind(f"{_DC}description"):
        ids = find_noted_ids("".join(note.itertext())) | ids
    for number in (text_of(item, _NUMBER), ids.get("url", "")):
        if arxiv := normalise_arxiv(number) if "arxiv" in number.lower() else "":
            ids.setdefault("arxiv", arxiv)
    return ids


def _name_authors(item: Element) -> tuple[str, ...]:
    """Return the authors, else editors and others."""
    groups = (item.find(tag) for tag in _PEOPLE)
    people = next((group for group in groups if group is not None), None)
    names = []
    for person in () if people is None else people.iter(f"{_FOAF}Person"):
        given = text_of(person, f"{_FOAF}givenName") or text_of(person, f"{_FOAF}givenname")
        names.append(" ".join(filter(None, (given, text_of(person, f"{_FOAF}surname")))))
    return tuple(filter(None, names))


paper_readers.register("zotero_rdf")(ZoteroRdfReader())
