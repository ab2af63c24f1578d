"""Annif's corpora of documents in one file: TSV without a header, CSV or JSON lines; the subjects are keywords."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import build_record, paper_readers, read_objects
from sciprism.papers.readers.vocabularies import bare_uri
from sciprism.papers.records import Deletion, Paper
from sciprism.papers.rows import JsonObject, cell_getter, detect_columns, list_texts, read_rows

_HEADERS = {"text": "text", "subjects": "subjecturis", "id": "documentid", "title": "title"}
_KEYS = {"document_id", "text", "metadata", "subjects"}
URI = r"<[^<>\n]+>|\w+://\S+|urn:\S+"
# Lines without subjects may come first; XML and JSON are something else.
_TSV = re.compile(rf"\A(?!\s*[<{{])(?:[^\t\n]*(?:\t[^\S\n]*)?\n)*?[^\t\n]+\t\s*(?:{URI})", re.IGNORECASE)
_SUBJECT = re.compile(r"<([^<>]+)>|([^\s<>]+)")


def _is_corpus(head: str) -> bool:
    if head.lstrip().startswith("{"):
        return is_annif_object(head.lstrip())
    return {"text", "subjects"} <= detect_columns(head, _HEADERS)[1].keys() or _TSV.match(head) is not None


def is_annif_object(text: str) -> bool:
    """Tell whether the first object of a text has keys of Annif's documents, and no others; it may be cut."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return '"subjects"' in text or '"document_id"' in text
    return isinstance(value, dict) and value.keys() <= _KEYS and bool(value.keys() & {"text", "metadata"})


@paper_readers.reader(
    "annif",
    "Annif's corpora: TSV of text and subjects without a header, CSV with `text` and `subject_uris`, JSON lines",
    (),  # tables and JSON lines of other kinds have these suffixes too
    check=_is_corpus,
)
def read_annif_corpus(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield a paper of each document; a text without a title is the title. Documents without subjects are counted."""
    if file.head().lstrip().startswith("{"):
        yield from read_objects(file, build_annif_paper)
        return
    for number, (row, fault) in enumerate(_list_rows(file), 1):
        yield (
            BadRecord(number, file.record_line, fault) if fault else build_record(build_annif_paper, row, number, file)
        )


def _list_rows(file: InputFile) -> Iterator[tuple[JsonObject, str]]:
    """Yield the document of each row as Annif's JSON would have it, and what is wrong with the row."""
    layout, columns = detect_columns(file.head(), _HEADERS)
    if {"text", "subjects"} <= columns.keys():
        for cells, fault in read_rows(file, layout):
            cell = cell_getter(cells, columns)
            about = {"document_id": cell("id"), "metadata": {"title": cell("title")}}
            yield {"text": cell("text"), "subjects": _split_subjects(cell("subjects")), **about}, fault
        return
    for line, row in file.lines():
        text, tab, subjects = row.partition("\t")
        file.record_line = line
        if row.strip():
            fault = "" if tab else "no tab between the text and its subjects"
            yield {"text": text, "subjects": _split_subjects(subjects)}, fault


def _split_subjects(text: str) -> list[str]:
    return [bracketed or bare for bracketed, bare in _SUBJECT.findall(text)]


def build_annif_paper(row: JsonObject) -> Paper:
    """Build the paper of a document in Annif's JSON; its keywords are URIs, or labels where there is no URI."""
    metadata, text = row.get("metadata") or {}, str(row.get("text") or "")
    if not isinstance(metadata, Mapping):
        raise ValueError(f"metadata is {metadata!r}, not an object")
    title = str(metadata.get("title") or "")
    return Paper(
        id=str(row.get("document_id") or ""),
        title=title or text,
        abstract=text if title else "",
        keywords=tuple(map(bare_uri, list_texts(row.get("subjects"), "uri", "label"))),
        notice="" if row.get("subjects") else "untagged document",
    )
