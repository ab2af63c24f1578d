"""The test files of classification: MAPLE's papers and vocabularies, SciDocs' papers and classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Literal

from sciprism.datasets.layouts.item_tables import count_missing_text
from sciprism.datasets.layouts.scidocs import SciDocsClasses
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper
from sciprism.prepare.samplers.fields import MAG_CLASSES
from sciprism.prepare.scimult.context import PreparedDataSet, SciMultPrepareContext, build_label_row, build_paper_row
from sciprism.prepare.scimult.maple import (
    LabelledPaper,
    find_maple_file,
    read_cs_topics,
    read_labelled_papers,
    read_mag_labels,
    read_mesh_names,
    read_mesh_terms,
    rename_labels,
)
from sciprism.prepare.sources.records import read_located_records
from sciprism.uses.label_names import BLOCK, LabelNames

MESH_CLASSES = (
    *("cardiovascular diseases", "chronic kidney disease", "chronic respiratory diseases", "diabetes mellitus"),
    *("digestive diseases", "hiv/aids", "hepatitis a/b/c/e", "mental disorders", "musculoskeletal disorders"),
    *("neoplasms", "neurological disorders"),
)
"""The index of a name is SciDocs' number of the class."""

FINE, COARSE = "scimult/classification_fine", "scimult/classification_coarse"
MESH_FOLDERS = ("Chemistry_MeSH", "Biology_MeSH", "Medicine_MeSH")
"""Folders whose lists of names are merged for the one vocabulary of MeSH terms."""


def write_cs_conference(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write the files of `CSRankings` over MICoL's topics, matched by the names in the folder's list."""
    find_maple_file(context, "CSRankings")
    labels = read_cs_topics(context)
    names = rename_labels(labels, read_mag_labels(context, "CSRankings"))
    return _write_fine(context, "CSConference", "CSRankings", labels, names)


def write_chemistry_mesh(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write the files of `Chemistry_MeSH` over all MeSH terms, matched by all their synonyms."""
    find_maple_file(context, "Chemistry_MeSH")
    labels, missing_inputs = read_mesh_terms(context, MESH_FOLDERS)
    names = rename_labels(labels, read_mesh_names(context, "Chemistry_MeSH"))
    return _write_fine(context, "ChemistryMeSH", "Chemistry_MeSH", labels, names, missing_inputs)


def _write_mag_field(context: SciMultPrepareContext, *, name: str) -> PreparedDataSet:
    """Write the files of a field of MAPLE over its own labels."""
    labels = read_mag_labels(context, name)
    return _write_fine(context, name, name, labels, labels)


write_geography, write_psychology = (partial(_write_mag_field, name=name) for name in ("Geography", "Psychology"))


def _write_fine(
    context: SciMultPrepareContext,
    name: str,
    folder: str,
    labels: Sequence[Label],
    names: Sequence[Label],
    missing_inputs: tuple[str, ...] = (),
) -> PreparedDataSet:
    """Write labels, papers with at least one of them, and the labels whose names occur in each paper."""
    dropped = DropReport()
    files = [f"{FINE}/{name}_{kind}.json" for kind in ("label", "papers_test", "matched")]
    ids = {label.id for label in labels}
    papers = read_labelled_papers(context, [find_maple_file(context, folder)], ids, dropped)
    context.write(files[0], map(build_label_row, labels))
    count = context.write(files[1], _build_paper_rows(papers, dropped))
    context.write(files[2], _match_names(context, files[1], names))
    return PreparedDataSet(
        files=tuple(files),
        queries=count,
        targets=len(labels),
        missing_inputs=missing_inputs,
        dropped=dropped,
    )


def _build_paper_rows(papers: Iterable[LabelledPaper], dropped: DropReport) -> Iterator[dict[str, Any]]:
    for paper, labels in papers:
        count_missing_text(paper, paper.id, dropped)
        yield build_paper_row(paper) | {"label": labels}


def _match_names(context: SciMultPrepareContext, papers: str, names: Sequence[Label]) -> Iterator[dict[str, Any]]:
    finder = LabelNames(names)
    texts = (
        f"{row['title']} {row['abstract']}" for _, row in read_located_records(context.written, context.out / papers)
    )
    while block := list(islice(texts, BLOCK)):
        for rows in finder.match(block):
            yield {"candidate": [names[row].id for row in rows]}


def _write_coarse(
    context: SciMultPrepareContext,
    *,
    name: str,
    classes: Literal["mag", "mesh"],
    names: Sequence[str],
) -> PreparedDataSet:
    """Write the files of SciDocs' classes, its three parts merged."""
    for file in ("train.csv", "val.csv", "test.csv"):
        context.need(f"scidocs/{classes}/{file}")
    context.need("scidocs/paper_metadata_mag_mesh.json")
    data = SciDocsClasses(classes=classes).read(context.data_root)
    files = (f"{COARSE}/{name}_label.json", f"{COARSE}/{name}_papers_test.json")
    labels = [Label(id=str(number), name=text) for number, text in enumerate(names)]

    def rows() -> Iterator[dict[str, Any]]:
        """Yield the papers with the numbers of their classes."""
        for identifier, item, target in zip(data.ids, data.items, data.targets, strict=True):
            if not str(target).isdecimal() or int(str(target)) >= len(names):
                raise InputError(f"{context.raw}/scidocs/{classes}: paper {identifier}: unknown class {target!r}")
            paper = item if isinstance(item, Paper) else Paper(id=identifier)
            yield build_paper_row(paper) | {"paper": identifier, "label": int(str(target))}

    context.write(files[0], map(build_label_row, labels))
    count = context.write(files[1], rows())
    return PreparedDataSet(files=files, queries=count, targets=len(names), dropped=data.dropped)


write_mag_classes = partial(_write_coarse, name="MAG", classes="mag", names=MAG_CLASSES)
write_mesh_classes = partial(_write_coarse, name="MeSH", classes="mesh", names=MESH_CLASSES)
