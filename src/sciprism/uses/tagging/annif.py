"""Annif's corpora of full texts: a folder of texts, each with its subjects in a file of its own, or of JSON files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.cleaning import clean_paper
from sciprism.papers.input_file import InputFile
from sciprism.papers.readers.annif import URI, build_annif_paper, is_annif_object
from sciprism.papers.readers.vocabularies import bare_uri
from sciprism.papers.records import Paper

_SUBJECT_SUFFIXES = (".tsv", ".key")  # where a text has both, Annif reads the first


def is_annif_folder(path: Path) -> bool:
    """Tell whether a folder is a corpus of Annif."""
    documents = (InputFile(file).head().lstrip() for file in sorted(path.glob("*.json"))[:1])
    return any(map(_find_subjects, path.glob("*.txt"))) or any(map(is_annif_object, documents))


def read_annif_folder(path: Path, *, dropped: DropReport | None = None, skip_bad: bool = False) -> list[Paper]:
    """Return the texts of a folder as papers with their subjects, URIs or labels, as keywords.

    The first line of a text is its title. dropped: counts what cannot be used. Raises InputError for such a file
    unless `skip_bad`.
    """
    dropped, papers = dropped or DropReport(), list[Paper]()
    for file, document in _read_documents(path):
        paper = document if isinstance(document, str) else clean_paper(document)
        fault = paper if isinstance(paper, str) else "" if paper.title or paper.abstract else "no text"
        if fault and not skip_bad:
            raise InputError(f"{file}: {fault}; fix it or pass --skip-bad")
        if isinstance(paper, str) or fault:
            dropped.add(fault, str(file))
        else:
            papers.append(paper)
    return papers


def _read_documents(path: Path) -> Iterator[tuple[Path, Paper | str]]:
    """Yield the paper of each document, or what is wrong with it."""
    texts = sorted(path.glob("*.txt"))
    for text in texts:
        first, _, rest = "".join(InputFile(text).chunks()).strip().partition("\n")
        source = _find_subjects(text)
        rows = [row for _, row in InputFile(source).lines() if row.strip()] if source else []
        cells = [[cell.strip() for cell in row.split("\t") if cell.strip()] for row in rows]
        uris = [next((cell for cell in line if re.fullmatch(URI, cell)), line[0]) for line in cells]  # else labels
        yield text, Paper(id=text.stem, title=first, abstract=rest, keywords=tuple(filter(None, map(bare_uri, uris))))
    for document in sorted(path.glob("*.json")):
        try:
            paper = build_annif_paper(json.loads("".join(InputFile(document).chunks())))
            yield document, replace(paper, id=paper.id or document.stem)
        except (ValueError, AttributeError) as error:
            yield document, f"not a document in Annif's JSON: {error}"
    for file in sorted(file for suffix in _SUBJECT_SUFFIXES for file in path.glob(f"*{suffix}")):
        if file.with_suffix(".txt") not in texts:
            yield file, "subjects without a text"


def _find_subjects(text: Path) -> Path | None:
    return next((file for s in _SUBJECT_SUFFIXES if (file := text.with_suffix(s)).is_file()), None)
