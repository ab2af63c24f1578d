"""MAPLE's papers and label vocabularies, and the test files of classification from MAPLE and SciDocs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from sciprism.datasets.layouts.item_tables import clean_text, count_missing_text
from sciprism.datasets.layouts.scidocs import SciDocsClasses
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.read import ReadReport, read_labels
from sciprism.papers.records import Label, Paper
from sciprism.prepare.samplers.fields import MAG_CLASSES
from sciprism.prepare.scimult.context import (
    MissingFilesError,
    PreparedDataSet,
    SciMultPrepareContext,
    build_label_row,
    build_paper_row,
)
from sciprism.prepare.sources.records import parse_ids
from sciprism.uses.label_names import BLOCK, LabelNames, normalize

UNLABELLED = "paper without a label of the vocabulary, dropped"
DUPLICATE = "duplicate paper, the first is used"

LabelledPaper = tuple[Paper, tuple[str, ...]]  # a paper and the distinct ids of its labels, in the order of the file


def read_maple_papers(context: SciMultPrepareContext, path: Path) -> Iterator[LabelledPaper]:
    """Yield the papers of a `papers.json`: title and abstract in lower case, without punctuation.

    Raises InputError that names file and line of a record without an id or with a malformed list.
    """
    for where, record in context.data_root.located_records(path):
        name = as_id(record.get("paper"))
        if not name:
            raise InputError(f"{where}: no `paper`; it has {', '.join(record) or 'nothing'}")
        paper = Paper(
            id=name,
            title=clean_text(record.get("title")),
            abstract=clean_text(record.get("abstract")),
            authors=_parse_distinct_ids(record, "author", where),
            venue=as_id(record.get("venue")),
            references=_parse_distinct_ids(record, "reference", where),
        )
        yield paper, _parse_distinct_ids(record, "label", where)


def read_labelled_papers(
    context: SciMultPrepareContext, paths: Iterable[Path], vocabulary: Collection[str], dropped: DropReport
) -> Iterator[LabelledPaper]:
    """Yield the distinct papers with a label of the vocabulary, with those labels; others are counted."""
    seen: set[str] = set()
    for paper, labels in (item for path in paths for item in read_maple_papers(context, path)):
        inside = tuple(label for label in labels if label in vocabulary)
        if paper.id in seen:
            dropped.add(DUPLICATE, paper.id)
        elif not inside:
            dropped.add(UNLABELLED, paper.id)
        else:
            seen.add(paper.id)
            yield paper, inside


def _parse_distinct_ids(record: dict[str, Any], key: str, where: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, parse_ids(record, key, where))))


MICOL = ("micol/MAG_label.json", "MICoL/MAG_label.json", "MAG_label.json")
DESCRIPTORS = tuple(f"{folder}desc{year}.xml" for year in range(2022, 2027) for folder in ("mesh/", ""))
"""SciMult uses the 2022 edition: its 30,194 descriptors are the vocabulary of Table A2."""


def find_maple_file(context: SciMultPrepareContext, *folders: str, file: str = "papers.json") -> Path:
    """Return a file of the first MAPLE folder that has it. Raises MissingFilesError."""
    return context.need(*(f"{above}{name}/{file}" for name in folders for above in ("maple/", "MAPLE/", "")))


def read_cs_topics(context: SciMultPrepareContext) -> list[Label]:
    """Return MICoL's computer science topics with their definitions (15,808 as published)."""
    return _read_labels(context.record_read(context.need(*MICOL)), "micol")


def read_mag_labels(context: SciMultPrepareContext, folder: str) -> list[Label]:
    """Return the labels of a MAPLE folder: names only, as published."""
    return _read_labels(context.record_read(find_maple_file(context, folder, file="labels.txt")), "maple")


def read_mesh_terms(context: SciMultPrepareContext, folders: Sequence[str]) -> tuple[list[Label], tuple[str, ...]]:
    """Return the descriptors with their scope notes, and the missing inputs.

    Names and synonyms are MAPLE's where a folder lists the term, else the descriptor file's, normalized.
    Without a descriptor file, the vocabulary is the terms of the folders, without definitions.
    """
    listed: dict[str, Label] = {}
    for folder in folders:
        for label in read_mesh_names(context, folder):
            listed.setdefault(label.id, label)
    path = context.find(*DESCRIPTORS)
    if path is None:
        if not listed:
            raise MissingFilesError(DESCRIPTORS[0])
        return list(listed.values()), (f"{DESCRIPTORS[0]}: no definitions, and only the terms of MAPLE",)
    terms = [
        replace(listed.get(term.id) or _normalize_label(term), definition=term.definition, broader=(), codes=())
        for term in _read_labels(context.record_read(path), "mesh")
    ]
    return terms, () if "2022" in path.name else (f"{DESCRIPTORS[0]}: {path.name} is used instead",)


def read_mesh_names(context: SciMultPrepareContext, folder: str) -> list[Label]:
    """Return the terms of a MAPLE folder with their synonyms; an empty list where it has no such file."""
    try:
        return _read_labels(context.record_read(find_maple_file(context, folder, file="labels_mesh.txt")), "maple")
    except MissingFilesError:
        return []


def rename_labels(labels: Sequence[Label], listed: Iterable[Label]) -> list[Label]:
    """Return the labels of a vocabulary with the names by which they are matched in papers.

    MAPLE matches the name of a MAG label and every synonym of a MeSH term, as the folder lists them; a label
    that the folder does not list has no name. A folder without a list leaves the labels as they are.
    """
    names = {label.id: label for label in listed}
    if not names:
        return list(labels)
    empty = Label(id="", name="")
    return [replace(names.get(label.id, empty), id=label.id) for label in labels]


def _normalize_label(label: Label) -> Label:
    names = dict.fromkeys(filter(None, map(normalize, (label.name, *label.synonyms))))
    name, *synonyms = names or (label.name,)
    return Label(id=label.id, name=name, synonyms=tuple(synonyms))


def _read_labels(path: Path, reader: str) -> list[Label]:
    report = ReadReport()
    labels = list(read_labels(path, reader=reader, skip_bad=True, report=report))
    if report.skipped:
        raise InputError(f"{report.skipped[0]}; correct the file or download it again")
    first: dict[str, Label] = {}
    for label in labels:
        first.setdefault(label.id, label)
    return list(first.values())


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


def _write_mag_field(name: str, context: SciMultPrepareContext) -> PreparedDataSet:
    labels = read_mag_labels(context, name)
    return _write_fine(context, name, name, labels, labels)


write_geography, write_psychology = partial(_write_mag_field, "Geography"), partial(_write_mag_field, "Psychology")


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

    def paper_rows() -> Iterator[dict[str, Any]]:
        for paper, labels_of_paper in papers:
            count_missing_text(paper, paper.id, dropped)
            yield build_paper_row(paper) | {"label": labels_of_paper}

    context.write(files[0], map(build_label_row, labels))
    count = context.write(files[1], paper_rows())
    context.write(files[2], _match_names(context, files[1], names))
    return PreparedDataSet(
        files=tuple(files), queries=count, targets=len(labels), missing_inputs=missing_inputs, dropped=dropped
    )


def _match_names(context: SciMultPrepareContext, papers: str, names: Sequence[Label]) -> Iterator[dict[str, Any]]:
    finder = LabelNames(names)
    rows = context.written.records(context.out / papers)
    texts = (f"{row['title']} {row['abstract']}" for row in rows)
    while block := list(islice(texts, BLOCK)):
        for matched in finder.match(block):
            yield {"candidate": [names[row].id for row in matched]}


def _write_coarse(
    context: SciMultPrepareContext, *, name: str, classes: Literal["mag", "mesh"], names: Sequence[str]
) -> PreparedDataSet:
    for file in ("train.csv", "val.csv", "test.csv"):
        context.need(f"scidocs/{classes}/{file}")
    context.need("scidocs/paper_metadata_mag_mesh.json")
    data = SciDocsClasses(classes=classes).read(context.data_root)
    files = (f"{COARSE}/{name}_label.json", f"{COARSE}/{name}_papers_test.json")
    labels = [Label(id=str(number), name=text) for number, text in enumerate(names)]

    def rows() -> Iterator[dict[str, Any]]:
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
