"""Annif's document corpora, with the subjects of each text: TSV, CSV or JSON lines, or a folder of full texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.cleaning import clean_paper
from sciprism.papers.input_file import InputFile
from sciprism.papers.json_rows import read_json_values
from sciprism.papers.readers.vocabularies import bare_uri
from sciprism.papers.records import Paper
from sciprism.papers.rows import cell_getter, detect_columns, read_rows

_HEADERS = {"text": "text", "subjects": "subjecturis", "id": "documentid", "title": "title"}
_KEYS = {"document_id", "text", "metadata", "subjects"}
_URI = r"<[^<>\n]+>|\w+://\S+|urn:\S+"
# Lines without subjects may come first; XML and JSON are something else.
_TSV = re.compile(rf"\A(?!\s*[<{{])(?:[^\t\n]*(?:\t[^\S\n]*)?\n)*?[^\t\n]+\t\s*(?:{_URI})", re.IGNORECASE)
_SUBJECT = re.compile(r"<([^<>]+)>|([^\s<>]+)")
_SUBJECT_SUFFIXES = (".tsv", ".key")  # where a text has both, Annif reads the first


class _Document(NamedTuple):
    """A text with its subjects, each a URI or a label; or what is wrong with it, and where."""

    place: str
    id: str
    title: str
    text: str = ""
    subjects: Sequence[str] = ()
    fault: str = ""


def is_annif_corpus(path: Path) -> bool:
    """Tell whether a file or folder is a corpus of Annif."""
    return _find_reader(path) is not None


def read_annif_corpus(
    path: Path, *, dropped: DropReport | None = None, skip_bad: bool = False
) -> tuple[list[Paper], list[list[str]]]:
    """Return the texts of a corpus as papers, and the URIs or labels of each.

    A text without a title is the title, of a full text its first line. dropped: counts what cannot be used. Raises
    InputError for such a line unless `skip_bad`.
    """
    read = _find_reader(path)
    if read is None:
        raise InputError(f"{path} is no corpus of Annif")
    dropped = dropped or DropReport()
    papers, tags = list[Paper](), list[list[str]]()
    for document in read(path):
        title, text = (document.title, document.text) if document.title else (document.text, "")
        paper = clean_paper(Paper(id=document.id, title=title, abstract=text))
        fault = document.fault or ("" if paper.title or paper.abstract else "no text")
        if fault and not skip_bad:
            raise InputError(f"{document.place}: {fault}; fix it or pass --skip-bad")
        if fault:
            dropped.add(fault, document.place)
            continue
        papers.append(paper)
        tags.append(list(document.subjects))
    return papers, tags


def _find_reader(path: Path) -> Callable[[Path], Iterator[_Document]] | None:
    if path.is_dir():
        documents = sorted(path.glob("*.json"))[:1]
        with_subjects = any(_find_subjects(text) for text in path.glob("*.txt"))
        return _read_folder if with_subjects or any(map(_is_json_corpus, documents)) else None
    if not path.is_file():
        return None
    if _is_json_corpus(path):
        return _read_json
    head = InputFile(path).head()
    if {"text", "subjects"} <= detect_columns(head, _HEADERS)[1].keys():
        return _read_table
    return _read_tsv if _TSV.match(head) else None


def _is_json_corpus(path: Path) -> bool:
    """Tell whether the first object of a file has keys of Annif's documents, and no others."""
    file = InputFile(path)
    if not file.head().lstrip().startswith("{"):
        return False
    value = next((value for _, _, value, _ in read_json_values(file)), None)
    return isinstance(value, dict) and value.keys() <= _KEYS and bool(value.keys() & {"text", "metadata"})


def _read_tsv(path: Path) -> Iterator[_Document]:
    for line, row in InputFile(path).lines():
        text, tab, subjects = row.partition("\t")
        fault = "" if tab else "no tab between the text and its subjects"
        if row.strip():
            yield _Document(f"{path}, line {line}", str(line), "", text.strip(), _split_subjects(subjects), fault)


def _split_subjects(text: str) -> list[str]:
    return [bracketed or bare for bracketed, bare in _SUBJECT.findall(text)]


def _read_table(path: Path) -> Iterator[_Document]:
    file = InputFile(path)
    layout, columns = detect_columns(file.head(), _HEADERS)
    for number, (cells, fault) in enumerate(read_rows(file, layout), 1):
        cell = cell_getter(cells, columns)
        place = f"{path}, line {file.record_line}"
        subjects = _split_subjects(cell("subjects"))
        yield _Document(place, cell("id") or str(number), cell("title"), cell("text"), subjects, fault)


def _read_json(path: Path) -> Iterator[_Document]:
    file = InputFile(path)
    for number, line, value, reason in read_json_values(file):
        place = f"{path}, line {line}" if line else f"{path}, record {number}"
        yield _build_document(place, str(number), value, reason)


def _build_document(place: str, id: str, value: Any, reason: str) -> _Document:
    """Build a document of a JSON object. id: where it has none."""
    if reason or not isinstance(value, Mapping):
        return _Document(place, id, "", fault=reason or "not an object")
    metadata, subjects = value.get("metadata") or {}, value.get("subjects") or []
    try:
        names = [bare_uri(subject.get("uri") or subject["label"]) for subject in subjects]
        title, text = str(metadata.get("title") or ""), str(value.get("text") or "")
    except (AttributeError, KeyError, TypeError):
        return _Document(place, id, "", fault="subjects or metadata that are not objects of Annif's schema")
    return _Document(place, str(value.get("document_id") or id), title, text, names)


def _read_folder(path: Path) -> Iterator[_Document]:
    """Yield the full texts of a folder; `NAME.txt` has its subjects in `NAME.tsv` or `NAME.key`, one a line."""
    texts = sorted(path.glob("*.txt"))
    for text in texts:
        first, _, rest = "".join(InputFile(text).chunks()).strip().partition("\n")
        source = _find_subjects(text)
        rows = [row for _, row in InputFile(source).lines() if row.strip()] if source else []
        cells = [[cell.strip() for cell in row.split("\t") if cell.strip()] for row in rows]
        uris = [next((cell for cell in line if re.fullmatch(_URI, cell)), line[0]) for line in cells]  # else labels
        yield _Document(str(text), text.stem, first, rest, list(filter(None, map(bare_uri, uris))))
    for document in sorted(path.glob("*.json")):
        try:
            value, reason = json.loads("".join(InputFile(document).chunks())), ""
        except ValueError as error:
            value, reason = None, f"not valid JSON: {error}"
        yield _build_document(str(document), document.stem, value, reason)
    for file in sorted(file for suffix in _SUBJECT_SUFFIXES for file in path.glob(f"*{suffix}")):
        if file.with_suffix(".txt") not in texts:
            yield _Document(str(file), file.stem, "", fault="subjects without a text")


def _find_subjects(text: Path) -> Path | None:
    return next((file for s in _SUBJECT_SUFFIXES if (file := text.with_suffix(s)).is_file()), None)
