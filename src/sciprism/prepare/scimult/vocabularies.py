"""The label spaces that SciMult adopts, and the names by which its labels are looked for in papers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from sciprism.errors import InputError
from sciprism.papers.reading import ReadReport, read_labels
from sciprism.papers.records import Label
from sciprism.prepare.scimult.desk import Desk, MissingFilesError
from sciprism.uses.label_names import normalize

MICOL = ("micol/MAG_label.json", "MICoL/MAG_label.json", "MAG_label.json")
EDITIONS = (2022, 2023, 2024, 2025, 2026)
DESCRIPTORS = tuple(f"{folder}desc{year}.xml" for year in EDITIONS for folder in ("mesh/", ""))
"""The 2022 edition is SciMult's: its 30,194 descriptors are the space of Table A2."""


def maple(desk: Desk, *folders: str, file: str = "papers.json") -> Path:
    """Return a file of a MAPLE folder, the first of several that has it. Raises MissingFilesError."""
    return desk.need(*(f"{above}{name}/{file}" for name in folders for above in ("maple/", "MAPLE/", "")))


def cs_topics(desk: Desk) -> list[Label]:
    """Return MICoL's computer science topics with their definitions (15,808 as published)."""
    return _labels(desk.note(desk.need(*MICOL)), "micol")


def mag_labels(desk: Desk, folder: str) -> list[Label]:
    """Return the labels of a MAPLE folder: names alone, as published."""
    return _labels(desk.note(maple(desk, folder, file="labels.txt")), "maple")


def mesh_terms(desk: Desk, folders: Sequence[str]) -> tuple[list[Label], tuple[str, ...]]:
    """Return the descriptors with their scope notes, and what had to be done without.

    Names and synonyms are MAPLE's normalised ones where a folder lists the term, else the descriptor file's,
    normalised. Without a descriptor file the space is what the folders list, without definitions.
    """
    listed: dict[str, Label] = {}
    for folder in folders:
        for label in mesh_names(desk, folder):
            listed.setdefault(label.id, label)
    path = desk.find(*DESCRIPTORS)
    if path is None:
        if not listed:
            raise MissingFilesError(DESCRIPTORS[0])
        return list(listed.values()), (f"{DESCRIPTORS[0]}: no definitions, and the terms of MAPLE alone",)
    terms = [
        replace(listed.get(term.id) or _normalized(term), definition=term.definition, broader=(), codes=())
        for term in _labels(desk.note(path), "mesh")
    ]
    edition = () if "2022" in path.name else (f"{DESCRIPTORS[0]}: {path.name} stands in",)
    return terms, edition


def mesh_names(desk: Desk, folder: str) -> list[Label]:
    """Return the terms that a MAPLE folder lists with their synonyms; none where it has no such file."""
    try:
        return _labels(desk.note(maple(desk, folder, file="labels_mesh.txt")), "maple")
    except MissingFilesError:
        return []


def named_in(labels: Sequence[Label], found: Iterable[Label]) -> list[Label]:
    """Return the labels of a space under the names by which they are looked for in papers.

    MAPLE's matching looks for the one name of a MAG label and for every synonym of a MeSH term, as the folder
    lists them; a label that the folder does not list has none. Where it lists nothing the space's own serve.
    """
    names = {label.id: label for label in found}
    if not names:
        return list(labels)
    empty = Label(id="", name="")
    return [replace(names.get(label.id, empty), id=label.id) for label in labels]


def _normalized(label: Label) -> Label:
    names = dict.fromkeys(filter(None, map(normalize, (label.name, *label.synonyms))))
    name, *synonyms = names or (label.name,)
    return Label(id=label.id, name=name, synonyms=tuple(synonyms))


def _labels(path: Path, reader: str) -> list[Label]:
    report = ReadReport()
    labels = list(read_labels(path, reader=reader, skip_bad=True, report=report))
    if report.skipped:
        raise InputError(f"{report.skipped[0]}; mend the file or fetch it anew")
    first: dict[str, Label] = {}
    for label in labels:
        first.setdefault(label.id, label)
    return list(first.values())
