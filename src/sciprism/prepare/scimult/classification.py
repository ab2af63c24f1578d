"""The test files of classification: MAPLE's papers over vocabularies, SciDocs' papers over its classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal

from sciprism.datasets.layouts.item_tables import note_text
from sciprism.datasets.layouts.scidocs import SciDocsClasses
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper
from sciprism.prepare.scimult.desk import Desk, Made, label_row, numbered, paper_row
from sciprism.prepare.scimult.fields import MAG_CLASSES, MESH_CLASSES
from sciprism.prepare.scimult.maple import Labelled, papers_within
from sciprism.prepare.scimult.vocabularies import (
    cs_topics,
    mag_labels,
    maple,
    mesh_names,
    mesh_terms,
    named_in,
)
from sciprism.uses.label_names import BLOCK, LabelNames

FINE, COARSE = "scimult/classification_fine", "scimult/classification_coarse"
MESH_FOLDERS = ("Chemistry_MeSH", "Biology_MeSH", "Medicine_MeSH")
"""Whose lists of names serve the one space of MeSH terms, this one's own first."""


def cs_conference(desk: Desk) -> Made:
    """Make the files of `CSRankings` over MICoL's topics, looked for by the names in the folder's list."""
    maple(desk, "CSRankings")
    labels = cs_topics(desk)
    names = named_in(labels, mag_labels(desk, "CSRankings"))
    return _fine(desk, "CSConference", "CSRankings", labels, names, (261_781, 15_808))


def chemistry_mesh(desk: Desk) -> Made:
    """Make the files of `Chemistry_MeSH` over all MeSH terms, looked for by all their synonyms."""
    maple(desk, "Chemistry_MeSH")
    labels, lacking = mesh_terms(desk, MESH_FOLDERS)
    names = named_in(labels, mesh_names(desk, "Chemistry_MeSH"))
    return _fine(desk, "ChemistryMeSH", "Chemistry_MeSH", labels, names, (762_129, 30_194), lacking)


def geography(desk: Desk) -> Made:
    """Make the files of `Geography` over the labels of its own list."""
    labels = mag_labels(desk, "Geography")
    return _fine(desk, "Geography", "Geography", labels, labels, (73_883, 3_285))


def psychology(desk: Desk) -> Made:
    """Make the files of `Psychology` over the labels of its own list."""
    labels = mag_labels(desk, "Psychology")
    return _fine(desk, "Psychology", "Psychology", labels, labels, (372_954, 7_641))


def mag_classes(desk: Desk) -> Made:
    """Make the files of SciDocs' 19 fields of study; its three parts are merged."""
    return _coarse(desk, "MAG", "mag", MAG_CLASSES, (25_001, 19))


def mesh_classes(desk: Desk) -> Made:
    """Make the files of SciDocs' 11 kinds of diseases; its three parts are merged."""
    return _coarse(desk, "MeSH", "mesh", MESH_CLASSES, (23_473, 11))


def _fine(
    desk: Desk,
    name: str,
    folder: str,
    labels: Sequence[Label],
    names: Sequence[Label],
    published: tuple[int, int],
    lacking: tuple[str, ...] = (),
) -> Made:
    """Write labels, papers with at least one label of the space, and the labels whose names stand in each."""
    tally = DropReport()
    files = [f"{FINE}/{name}_{kind}.json" for kind in ("label", "papers_test", "matched")]
    known = {label.id for label in labels}
    papers = papers_within(desk, [maple(desk, folder)], known, tally)
    desk.write(files[0], map(label_row, labels))
    count = desk.write(files[1], _papers(papers, tally))
    desk.write(files[2], _matched(desk, files[1], names))
    return Made(
        name=name,
        files=tuple(files),
        first=count,
        second=len(labels),
        published=published,
        lacking=lacking,
        tally=tally,
    )


def _papers(papers: Iterable[Labelled], tally: DropReport) -> Iterator[dict[str, Any]]:
    for paper, labels in papers:
        note_text(paper, paper.id, tally)
        yield paper_row(paper) | {"label": labels}


def _matched(desk: Desk, papers: str, names: Sequence[Label]) -> Iterator[dict[str, Any]]:
    finder = LabelNames(names)
    texts = (f"{row['title']} {row['abstract']}" for _, row in numbered(desk.written, desk.out / papers))
    while block := list(islice(texts, BLOCK)):
        for rows in finder.match(block):
            yield {"candidate": [names[row].id for row in rows]}


def _coarse(
    desk: Desk,
    name: str,
    classes: Literal["mag", "mesh"],
    names: Sequence[str],
    published: tuple[int, int],
) -> Made:
    for file in ("train.csv", "val.csv", "test.csv"):
        desk.need(f"scidocs/{classes}/{file}")
    desk.need("scidocs/paper_metadata_mag_mesh.json")
    data = SciDocsClasses(classes=classes).read(desk.home)
    files = (f"{COARSE}/{name}_label.json", f"{COARSE}/{name}_papers_test.json")
    labels = [Label(id=str(number), name=text) for number, text in enumerate(names)]

    def rows() -> Iterator[dict[str, Any]]:
        for identifier, item, target in zip(data.ids, data.items, data.targets, strict=True):
            if not str(target).isdecimal() or int(str(target)) >= len(names):
                raise InputError(f"{desk.raw}/scidocs/{classes}: paper {identifier}: no class {target!r}")
            paper = item if isinstance(item, Paper) else Paper(id=identifier)
            yield paper_row(paper) | {"paper": identifier, "label": int(str(target))}

    desk.write(files[0], map(label_row, labels))
    count = desk.write(files[1], rows())
    return Made(name=name, files=files, first=count, second=len(names), published=published, tally=data.tally)
