"""Vocabularies as JSON lines, tables, or MeSH's XML: your own, `Label.to_json`'s, the releases of MICoL and MAPLE."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from xml.etree.ElementTree import Element

from sciprism.papers.bibliographic_fields import split_list
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.json_rows import JsonObject, get_first, list_texts
from sciprism.papers.readers.registry import label_readers, without
from sciprism.papers.records import Label
from sciprism.papers.rows import cell_getter, detect_layout, find_columns, guess_columns, read_rows
from sciprism.papers.xml_records import read_xml_records, text_of, texts_of

_KEYS = (re.compile(r'"(id|label)"\s*:'), re.compile(r'"name"\s*:'))
_MICOL = re.compile(r'"name"\s*:\s*\[|"combined_text"\s*:')
_HEADERS = {
    "id": "id identifier uri code notation",
    "name": "name label preflabel preferredlabel preferredterm term",
    "synonyms": "synonyms synonym altlabels altlabel altnames aliases entryterms",
    "definition": "definition description scopenote note",
    "broader": "broader parent parents parentid parentids",
    "codes": "codes treenumbers notations",
}
_guess_columns = partial(guess_columns, known_headers=_HEADERS)
_MAPLE = re.compile(r"\A(?:[A-Z]?\d+\t[^\t\n]+(?:\t[^\t\n]*)*(?:\n|$))+")
_DEPTH = re.compile(r"\d{1,2}")


@label_readers.json_objects(
    "jsonl", "Labels as `Label.to_json` writes them, and others", (*_KEYS, without(_MICOL.pattern))
)
def _build_label(row: JsonObject) -> Label:
    return Label.from_json(
        {
            "id": get_first(row, "id", "label"),
            "name": row.get("name"),
            "synonyms": list_texts(get_first(row, "synonyms", "alt_names", "aliases")),
            "definition": get_first(row, "definition", "description", "scope_notes"),
            "broader": list_texts(get_first(row, "broader", "parents"), "id"),
            "codes": list_texts(get_first(row, "codes", "tree_numbers")),
        }
    )


@label_readers.json_objects("micol", "Labels of the MICoL release", (re.compile(r'"label"\s*:'), _MICOL))
def _build_micol_label(row: JsonObject) -> Label:
    """Build the label of an object whose first name is the label's."""
    name, *synonyms = [*list_texts(row.get("name")), ""]
    return Label.from_json(
        {
            "id": row.get("label"),
            "name": name,
            "synonyms": list(filter(None, synonyms)),
            "definition": row.get("definition"),
        }
    )


def _is_label_table(head: str) -> bool:
    """Look for a header line that names a label and another known field."""
    columns = _guess_columns(detect_layout(head, _guess_columns).headers)
    return "name" in columns and len(columns) > 1


@label_readers.reader(
    "tables",
    "Vocabularies as tables with a header line: CSV or TSV, one label in each row",
    (".csv", ".tsv", ".tab"),
    check=_is_label_table,
)
def read_label_table(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield one label from each row; in a table without ids the names are the ids.

    Several synonyms, broader labels or codes in one cell are separated by semicolons or bars. Raises InputError for a
    table without a column of names.
    """
    layout = detect_layout(file.head(), _guess_columns)
    chosen = options.columns
    columns = find_columns(file.path, layout.headers, _HEADERS, chosen=chosen, required="name", option="")
    for number, (cells, fault) in enumerate(read_rows(file, layout), 1):
        if fault:
            yield BadRecord(number, file.record_line, fault)
            continue
        text = cell_getter(cells, columns)
        yield Label(
            id=text("id") or text("name"),
            name=text("name"),
            synonyms=split_list(text("synonyms")),
            definition=text("definition"),
            broader=split_list(text("broader")),
            codes=split_list(text("codes")),
        )


@label_readers.reader(
    "maple",
    "Labels of the MAPLE release: `labels.txt` and `labels_mesh.txt`, tab-separated, no header",
    (".txt",),
    patterns=(_MAPLE,),
)
def read_maple(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield the label of every line that is not empty.

    `labels.txt` has id, name and in most folders the depth in the tree, which is ignored; `labels_mesh.txt` has id,
    name and any number of synonyms.
    """
    filled = ((line, text) for line, text in file.lines() if text.strip())
    for number, (line, text) in enumerate(filled, 1):
        file.record_line = line
        identifier, *texts = (column.strip() for column in text.split("\t"))
        if len(texts) == 2 and _DEPTH.fullmatch(texts[1]):
            texts.pop()
        if identifier and texts and texts[0]:
            synonyms = dict.fromkeys(item for item in texts[1:] if item and item != texts[0])
            yield Label(id=identifier, name=texts[0], synonyms=tuple(synonyms))
        else:
            yield BadRecord(number, line, f"{text[:100]!r} is not an id, a tab and a name")


# ---- MeSH ----


_MESH = re.compile(r"<DescriptorRecord(Set)?\b")


@label_readers.reader(
    "mesh",
    "MeSH descriptors in the XML of the National Library of Medicine (`desc2024.xml`)",
    (".xml",),
    patterns=(_MESH,),
)
def read_mesh(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield every descriptor: entry terms are synonyms, scope notes definitions, tree numbers codes.

    Tree numbers give a descriptor's broader ones, which may follow later; one that is not in the file is dropped. So
    all labels (some 30,000, not the XML) are held until the file has been read.
    """
    labels = [
        record if isinstance(record, BadRecord) else _build_mesh_label(record, number)
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


def _build_mesh_label(record: Element, number: int) -> Label | BadRecord:
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
