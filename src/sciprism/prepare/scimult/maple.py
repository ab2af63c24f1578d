"""MAPLE's papers and labels, the test files of classification, and all pre-training sources of SciMult."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from heapq import nsmallest
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Literal

from sciprism.datasets.data_root import as_id
from sciprism.datasets.layouts.item_tables import NO_TEXT, clean_text, count_missing_text, parse_number
from sciprism.datasets.layouts.published import TEXTS, SciDocsClasses
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.read import ReadReport, read_labels
from sciprism.papers.records import Label, Paper
from sciprism.prepare.samplers.examples import MAX_PER_LABEL, ScoredList, sample_clicks, sample_label_pairs
from sciprism.prepare.samplers.sampling import Sampling
from sciprism.prepare.scimult.context import (
    MissingFilesError,
    PreparedDataSet,
    SciMultPrepareContext,
    build_label_row,
    build_paper_row,
)
from sciprism.prepare.sources.records import IDS, parse_ids, parse_record_paper
from sciprism.seeding import random_fraction
from sciprism.text.template import FIELDS
from sciprism.training.examples import Example, item_key
from sciprism.uses.label_names import BLOCK, LabelNames, normalize

MAPLE_FOLDERS = """
Art Philosophy Geography Business Sociology History Political_Science Environmental_Science Economics
Engineering Psychology Geology Mathematics Materials_Science Physics Biology Chemistry Medicine
"""
FIELD_LABELS = {folder: folder.replace("_", " ").lower() for folder in MAPLE_FOLDERS.split()}
"""Folder -> label of the 18 fields that are not computer science."""

MAG_CLASSES = tuple(sorted(("computer science", *FIELD_LABELS.values())))

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
            dropped.add("paper without a label of the vocabulary, dropped", paper.id)
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
    return _read_labels(context.record_read(context.need(*MICOL)), "jsonl")


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


FOLDER = "pretrain"
SPLITS = ("train", "validation")
PAPERS_PER_FIELD = 50_000
NO_TITLE = "triplet with a paper without title, dropped"


def write_cs_journal(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write the papers of `Computer_Science` with MICoL's topics."""
    path, labels = find_maple_file(context, "Computer_Science"), read_cs_topics(context)
    sampling = Sampling(seed=context.seed)
    papers = read_labelled_papers(context, [path], {label.id for label in labels}, sampling.report.dropped)
    return _write_pairs(context, "cs-journal.jsonl", papers, labels, sampling, max_per_label=MAX_PER_LABEL)


def write_biology_and_medicine(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write the papers of `Biology_MeSH` and `Medicine_MeSH` with the MeSH terms, one vocabulary for both."""
    folders = ("Biology_MeSH", "Medicine_MeSH")
    paths, missing = context.find_some(folders, lambda folder: find_maple_file(context, folder))
    sampling = Sampling(seed=context.seed)
    labels, missing_inputs = read_mesh_terms(context, folders)
    papers = read_labelled_papers(context, paths.values(), {label.id for label in labels}, sampling.report.dropped)
    file, missing = "biology-medicine.jsonl", missing + missing_inputs
    return _write_pairs(context, file, papers, labels, sampling, max_per_label=MAX_PER_LABEL, missing_inputs=missing)


def write_coarse(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write 50,000 papers of each of the 18 fields other than computer science; the label is the field.

    Papers with the lowest seeded hashes are sampled; a paper of several fields belongs to the first one that
    sampled it. There is no maximum per label: 18 labels have 900,000 pairs.
    """
    endings = ("", "_MAG", "_MeSH")
    paths, missing = context.find_some(
        FIELD_LABELS, lambda field: find_maple_file(context, *(f"{field}{end}" for end in endings))
    )
    sampling = Sampling(seed=context.seed)
    labels = [Label(id=field, name=name) for field, name in FIELD_LABELS.items()]
    papers = _sample_fields(context, paths, sampling)
    return _write_pairs(context, "coarse.jsonl", papers, labels, sampling, max_per_label=0, missing_inputs=missing)


def _sample_fields(
    context: SciMultPrepareContext, paths: Mapping[str, Path], sampling: Sampling
) -> Iterator[LabelledPaper]:
    """Sample the papers of each field in a first pass over its file, and yield them in a second one."""
    used: set[str] = set()
    for field, path in paths.items():
        names = {paper.id for paper, _ in read_maple_papers(context, path) if paper.title or paper.abstract} - used
        selected = set(
            nsmallest(PAPERS_PER_FIELD, names, key=lambda name: (random_fraction(sampling.seed, field, name), name))
        )
        if len(selected) < PAPERS_PER_FIELD:
            sampling.drop(f"field of fewer than {PAPERS_PER_FIELD:,} papers, all used", field)
        used |= selected
        for paper, _ in read_maple_papers(context, path):
            if paper.id in selected and (paper.title or paper.abstract):
                selected.discard(paper.id)
                yield paper, (field,)


def _write_pairs(
    context: SciMultPrepareContext,
    name: str,
    papers: Iterable[LabelledPaper],
    labels: Sequence[Label],
    sampling: Sampling,
    *,
    max_per_label: int,
    missing_inputs: tuple[str, ...] = (),
) -> PreparedDataSet:
    """Write pairs of papers and labels with hard negatives.

    The papers are in a temporary file next to the source. The sampler receives ids, authors, venues,
    references and labels; texts are streamed when the examples are written.
    """
    rows = {label.id: row for row, label in enumerate(labels)}
    staged = context.out / FOLDER / f".{name}.papers"
    try:
        ids = _stage(staged, papers, rows, sampling)
        stubs, paper_labels = [], []
        for paper, label_rows in _read_staged(staged):
            stub = Paper(  # a placeholder as title; equal ids are one object in memory
                id=ids[paper.id],
                title="-",
                authors=tuple(map(sys.intern, paper.authors)),
                venue=sys.intern(paper.venue),
                references=tuple(ids[name] for name in paper.references if name in ids),
            )
            stubs.append(stub)
            paper_labels.append(tuple(label_rows))
        examples = sample_label_pairs(stubs, labels, paper_labels, sampling, max_per_label=max_per_label)
        texts = (paper for paper, _ in _read_staged(staged))  # in the order of the examples
        with_texts = (
            replace(example, query=next(paper for paper in texts if item_key(paper) == item_key(example.query)))
            for example in examples
        )
        return _write_source(context, name, with_texts, sampling, missing_inputs)
    finally:
        staged.unlink(missing_ok=True)


def _stage(path: Path, papers: Iterable[LabelledPaper], rows: dict[str, int], sampling: Sampling) -> dict[str, str]:
    """Write the papers that have a text; return their ids, each mapped to itself."""
    ids: dict[str, str] = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for paper, labels in papers:
            if not paper.title and not paper.abstract:
                sampling.drop(NO_TEXT, paper.id)
                continue
            ids[paper.id] = paper.id
            file.write(json.dumps([paper.to_json(), [rows[label] for label in labels]]) + "\n")
    return ids


def _read_staged(path: Path) -> Iterator[tuple[Paper, list[int]]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            paper, labels = json.loads(line)
            yield Paper.from_json(paper), labels


def write_citation_triplets(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write one example for consecutive triplets of a query.

    Every triplet is a positive pair with its own negative: the i-th negative belongs to the i-th positive, so
    a cited paper may occur twice.
    """
    sampling = Sampling(seed=context.seed)
    records, missing_inputs = _read_training_records(context, "cite_prediction")

    def triplets() -> Iterator[tuple[Paper, Paper, Paper]]:
        for where, record in records:
            query, cited, other = (
                _parse_source_paper(record.get(key), f"{where}, {key}") for key in ("query", "pos", "neg")
            )
            if query.title and cited.title and other.title:
                yield query, cited, other
            else:
                sampling.drop(NO_TITLE, f"{query.id} {cited.id} {other.id}")

    groups = (zip(*group, strict=True) for _, group in groupby(triplets(), key=lambda triplet: triplet[0].id))
    examples = (Example(query=queries[0], positives=cited, negatives=others) for queries, cited, others in groups)
    return _write_source(context, "citations.jsonl", examples, sampling, missing_inputs)


def write_search_lists(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write an example of each query: scores above 0 are positives, others hard negatives."""
    sampling = Sampling(seed=context.seed)
    records, missing_inputs = _read_training_records(context, "search")
    examples = sample_clicks((_parse_list(where, record) for where, record in records), sampling, negatives=0)
    return _write_source(context, "search.jsonl", examples, sampling, missing_inputs)


def _parse_list(where: str, record: Mapping[str, Any]) -> ScoredList:
    query, candidates = record.get("query"), record.get("candidates")
    if not isinstance(query, str) or not isinstance(candidates, list):
        raise InputError(f"{where}: expected `query` (text) and `candidates` (list)")
    papers = [_parse_source_paper(candidate, f"{where}, candidates") for candidate in candidates]
    scores = [parse_number(candidate.get("score"), f"{where}: the score") for candidate in candidates]
    return ScoredList(clean_text(query), papers, scores)


def _parse_source_paper(record: Any, where: str) -> Paper:
    """Return the paper of a SciRepEval record; older files have `sha` as id. Raises InputError."""
    paper = parse_record_paper(record, FIELDS)
    if not paper.id:
        raise InputError(f"{where}: a paper without {', '.join(IDS)}: {record!r:.60}")
    return paper


def _read_training_records(
    context: SciMultPrepareContext, config: str
) -> tuple[Iterator[tuple[str, dict[str, Any]]], tuple[str, ...]]:
    """Return (location, record) of train and validation, and the missing splits."""
    parts, missing_inputs = context.find_some(SPLITS, lambda split: context.find_split(TEXTS, config, split))
    paths = [path for files in parts.values() for path in files]
    return (row for path in paths for row in context.data_root.located_records(path)), missing_inputs


def _write_source(
    context: SciMultPrepareContext,
    name: str,
    examples: Iterable[Example],
    sampling: Sampling,
    missing_inputs: tuple[str, ...] = (),
) -> PreparedDataSet:
    """Write a source; count its examples, distinct queries, positive pairs and hard negatives.

    sampling: its report is complete when all examples are consumed.
    """
    counts: Counter[str] = Counter()
    queries: set[str] = set()

    def counted() -> Iterator[Example]:
        for example in examples:
            pairs, negatives = len(example.positives), len(example.negatives)
            counts.update({"examples": 1, "positive pairs": pairs, "hard negatives": negatives})
            queries.add(item_key(example.query))
            yield example

    file = f"{FOLDER}/{name}"
    context.examples.write(file, counted())
    counts.update({f"negatives: {kind}": count for kind, count in sorted(sampling.report.negatives.items())})
    return PreparedDataSet(
        files=(file,),
        queries=len(queries),
        targets=counts["positive pairs"],
        counts=counts,
        missing_inputs=missing_inputs,
        dropped=sampling.report.dropped,
    )
