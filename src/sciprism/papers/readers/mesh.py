"""MeSH descriptors in the XML of the National Library of Medicine (`desc2024.xml`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element

from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import label_readers
from sciprism.papers.records import Label
from sciprism.papers.xml_records import read_xml_records, text_of, texts_of

_START = re.compile(r"<DescriptorRecord(Set)?\b")


@label_readers.reader(
    "mesh",
    "MeSH descriptors in the XML of the National Library of Medicine (`desc2024.xml`)",
    (".xml",),
    patterns=(_START,),
)
def read_mesh(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield every descriptor: entry terms are synonyms, scope notes definitions, tree numbers codes.

    Tree numbers give a descriptor's broader ones, which may follow later; one that is not in the file is dropped. So
    all labels (some 30,000, not the XML) are held until the file has been read.
    """
    labels = [
        record if isinstance(record, BadRecord) else _build_label(record, number)
        for number, record in enumerate(read_xml_records(file, ("DescriptorRecord",)), 1)
    ]
    owners = {code: item.id for item in labels if isinstance(item, Label) for code in item.codes}
    for item in labels:
        if isinstance(item, BadRecord):
            yield item
        else:  # one level up in the tree: C04.588 for C04.588.322
            parents = (code.rpartition(".")[0] for code in item.codes)
            broader = dict.fromkeys(owners[code] for code in parents if code in owners)
            yield replace(item, broader=tuple(broader))


def _build_label(record: Element, number: int) -> Label | BadRecord:
    identifier, name = text_of(record, "DescriptorUI"), text_of(record, "DescriptorName/String")
    if not identifier or not name:
        return BadRecord(number, None, f"descriptor {identifier or name or ''!r} has no UI or no name")
    terms = texts_of(record, "ConceptList/Concept/TermList/Term/String")
    return Label(
        id=identifier,
        name=name,
        synonyms=tuple(term for term in terms if term != name),
        definition=text_of(record, "ConceptList/Concept[@PreferredConceptYN='Y']/ScopeNote"),
        codes=texts_of(record, "TreeNumberList/TreeNumber"),
    )
