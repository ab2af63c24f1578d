"""SciMult's pre-training sources: MAPLE's labels, SciRepEval's citation triplets and searches."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import groupby
from pathlib import Path
from typing import Any

from sciprism.datasets.layouts.item_tables import ID_FIELDS, NO_TEXT, clean_text, parse_number, parse_paper
from sciprism.datasets.layouts.scirepeval import TEXTS
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper
from sciprism.prepare.samplers.fields import FIELDS
from sciprism.prepare.samplers.labels import sample_label_pairs
from sciprism.prepare.samplers.sampling import SampleReport, Sampling
from sciprism.prepare.samplers.scored_lists import ScoredList, sample_clicks
from sciprism.prepare.scimult.context import MissingFilesError, PreparedDataSet, SciMultPrepareContext
from sciprism.prepare.scimult.maple import (
    LabelledPaper,
    find_maple_file,
    read_cs_topics,
    read_labelled_papers,
    read_maple_papers,
    read_mesh_terms,
)
from sciprism.prepare.sources.records import read_located_records
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example, item_key

FOLDER = "pretrain"
SPLITS = ("train", "validation")


@dataclass(frozen=True, slots=True)
class PretrainingSource:
    """A source of Table A1: its name, its file, and its published numbers of queries and positive pairs."""

    name: str
    file: str
    published: tuple[int, int]


def write_source(
    context: SciMultPrepareContext,
    source: PretrainingSource,
    examples: Iterable[Example],
    *,
    dropped: DropReport,
    report: SampleReport | None = None,
    missing_inputs: tuple[str, ...] = (),
) -> PreparedDataSet:
    """Write a source; count its examples, distinct queries, positive pairs and hard negatives.

    report: the sampler's report, complete when all examples are consumed.
    """
    counts: Counter[str] = Counter()
    queries: set[str] = set()

    def counted() -> Iterator[Example]:
        """Yield the examples, and count them."""
        for example in examples:
            pairs, negatives = len(example.positives), len(example.negatives)
            counts.update({"examples": 1, "positive pairs": pairs, "hard negatives": negatives})
            queries.add(item_key(example.query))
            yield example

    file = f"{FOLDER}/{source.file}"
    context.examples.write(file, counted())
    if report is not None:
        dropped.update(report.dropped)
        counts.update({f"negatives: {kind}": count for kind, count in sorted(report.negatives.items())})
    return PreparedDataSet(
        name=source.name,
        files=(file,),
        queries=len(queries),
        targets=counts["positive pairs"],
        published=source.published,
        counts=counts,
        missing_inputs=missing_inputs,
        dropped=dropped,
    )


def read_training_records(
    context: SciMultPrepareContext, config: str
) -> tuple[Iterator[tuple[str, dict[str, Any]]], tuple[str, ...]]:
    """Return (location, record) of train and validation, and the missing splits."""
    paths: list[Path] = []
    missing_inputs: list[str] = []
    for split in SPLITS:
        try:
            paths += context.find_split(TEXTS, config, split)
        except MissingFilesError as missing:
            missing_inputs.append(str(missing))
    if not paths:
        raise MissingFilesError(missing_inputs[0])
    return (item for path in paths for item in read_located_records(context.data_root, path)), tuple(missing_inputs)


def parse_source_paper(record: Any, where: str) -> Paper:
    """Return the paper of a SciRepEval record; older files have `sha` as id. Raises InputError."""
    if not isinstance(record, Mapping):
        raise InputError(f"{where}: expected a paper as an object, got {record!r:.60}")
    keys = (*ID_FIELDS, "sha")
    name = next((as_id(record[key]) for key in keys if record.get(key) not in (None, "")), "")
    if not name:
        raise InputError(f"{where}: a paper without {', '.join(keys)}")
    return parse_paper(record, name)


CS = PretrainingSource("MAPLE CS-Journal", "cs-journal.jsonl", (358_447, 1_242_885))
MESH = PretrainingSource("MAPLE Biology-MeSH + Medicine-MeSH", "biology-medicine.jsonl", (1_345_128, 1_976_858))
COARSE = PretrainingSource("MAPLE coarse", "coarse.jsonl", (900_000, 900_000))

MAX_PER_LABEL = 100
"""Maximum number of pairs of one label (SciMult, section 4.1)."""
PAPERS_PER_FIELD = 50_000


def write_cs_journal(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write the papers of `Computer_Science` with MICoL's topics."""
    path = find_maple_file(context, "Computer_Science")
    dropped, labels = DropReport(), read_cs_topics(context)
    papers = read_labelled_papers(context, [path], {label.id for label in labels}, dropped)
    return _write_pairs(context, CS, papers, labels, max_per_label=MAX_PER_LABEL, dropped=dropped)


def write_biology_and_medicine(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write the papers of `Biology_MeSH` and `Medicine_MeSH` with the MeSH terms, one vocabulary for both."""
    folders = ("Biology_MeSH", "Medicine_MeSH")
    paths, missing = _find_papers(context, {folder: (folder,) for folder in folders})
    dropped = DropReport()
    labels, missing_inputs = read_mesh_terms(context, folders)
    papers = read_labelled_papers(context, paths.values(), {label.id for label in labels}, dropped)
    return _write_pairs(
        context,
        MESH,
        papers,
        labels,
        max_per_label=MAX_PER_LABEL,
        dropped=dropped,
        missing_inputs=(*missing, *missing_inputs),
    )


def write_coarse(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write 50,000 papers of each of the 18 fields other than computer science; the label is the field.

    Papers with the lowest seeded hashes are sampled; a paper of several fields belongs to the first one that
    sampled it. There is no maximum per label: 18 labels have 900,000 pairs.
    """
    paths, missing = _find_papers(context, {field: [field, f"{field}_MAG", f"{field}_MeSH"] for field in FIELDS})
    dropped = DropReport()
    labels = [Label(id=field, name=name) for field, name in FIELDS.items()]
    return _write_pairs(
        context,
        COARSE,
        _sample_fields(context, paths, dropped),
        labels,
        max_per_label=0,
        dropped=dropped,
        missing_inputs=missing,
    )


def _find_papers(
    context: SciMultPrepareContext, folders: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return name -> papers file, from the first of its folders that exists, and the missing files.

    Raises MissingFilesError where none exists.
    """
    paths: dict[str, Path] = {}
    missing: list[str] = []
    for name, candidates in folders.items():
        try:
            paths[name] = find_maple_file(context, *candidates)
        except MissingFilesError as error:
            missing.append(str(error))
    if not paths:
        raise MissingFilesError(missing[0])
    return paths, tuple(missing)


def _sample_fields(
    context: SciMultPrepareContext, paths: Mapping[str, Path], dropped: DropReport
) -> Iterator[LabelledPaper]:
    """Sample the papers of each field in a first pass over its file, and yield them in a second one."""
    used: set[str] = set()
    for field, path in paths.items():
        names = {paper.id for paper, _ in read_maple_papers(context, path) if paper.title or paper.abstract} - used
        selected = set(
            nsmallest(PAPERS_PER_FIELD, names, key=lambda name: (random_fraction(context.seed, field, name), name))
        )
        if len(selected) < PAPERS_PER_FIELD:
            dropped.add(f"field of fewer than {PAPERS_PER_FIELD:,} papers, all used", field)
        used |= selected
        for paper, _ in read_maple_papers(context, path):
            if paper.id in selected and (paper.title or paper.abstract):
                selected.discard(paper.id)
                yield paper, (field,)


def _write_pairs(
    context: SciMultPrepareContext,
    source: PretrainingSource,
    papers: Iterable[LabelledPaper],
    labels: Sequence[Label],
    *,
    max_per_label: int,
    dropped: DropReport,
    missing_inputs: tuple[str, ...] = (),
) -> PreparedDataSet:
    """Write pairs of papers and labels with hard negatives.

    The papers are in a temporary file next to the source. The sampler receives ids, authors, venues,
    references and labels; texts are streamed when the examples are written.
    """
    rows = {label.id: row for row, label in enumerate(labels)}
    staged = context.out / FOLDER / f".{source.file}.papers"
    report = SampleReport()
    try:
        known = _stage(staged, papers, rows, dropped)
        stubs, carried = [], []
        for paper, label_rows in _read_staged(staged):
            stubs.append(_build_stub(paper, known))
            carried.append(tuple(label_rows))
        sampling = Sampling(seed=context.seed, report=report)
        examples = sample_label_pairs(stubs, labels, carried, sampling, max_per_label=max_per_label)
        examples = _add_texts(examples, (paper for paper, _ in _read_staged(staged)))
        return write_source(context, source, examples, dropped=dropped, report=report, missing_inputs=missing_inputs)
    finally:
        staged.unlink(missing_ok=True)


def _stage(path: Path, papers: Iterable[LabelledPaper], rows: dict[str, int], dropped: DropReport) -> dict[str, str]:
    """Write the papers that have a text; return their ids, each mapped to itself."""
    known: dict[str, str] = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for paper, labels in papers:
            if not paper.title and not paper.abstract:
                dropped.add(NO_TEXT, paper.id)
                continue
            known[paper.id] = paper.id
            file.write(json.dumps([paper.to_json(), [rows[label] for label in labels]]) + "\n")
    return known


def _read_staged(path: Path) -> Iterator[tuple[Paper, list[int]]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            paper, labels = json.loads(line)
            yield Paper.from_json(paper), labels


def _build_stub(paper: Paper, known: dict[str, str]) -> Paper:
    """Return a paper for the sampler, with a placeholder as title; equal ids are one object in memory."""
    return Paper(
        id=known[paper.id],
        title="-",
        authors=tuple(map(sys.intern, paper.authors)),
        venue=sys.intern(paper.venue),
        references=tuple(known[name] for name in paper.references if name in known),
    )


def _add_texts(examples: Iterable[Example], papers: Iterator[Paper]) -> Iterator[Example]:
    """Replace each example's stub by its paper; both are in the same order."""
    for example in examples:
        key = item_key(example.query)
        yield replace(example, query=next(paper for paper in papers if item_key(paper) == key))


TRIPLETS = PretrainingSource("citation triplets", "citations.jsonl", (165_340, 819_836))
NO_TITLE = "triplet with a paper without title, dropped"


def write_citation_triplets(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write one example for consecutive triplets of a query.

    Every triplet is a positive pair with its own negative: the i-th negative belongs to the i-th positive, so
    a cited paper may occur twice.
    """
    dropped = DropReport()
    records, missing_inputs = read_training_records(context, "cite_prediction")

    def triplets() -> Iterator[tuple[Paper, Paper, Paper]]:
        """Yield the triplets whose papers have titles."""
        for where, record in records:
            query, cited, other = (
                parse_source_paper(record.get(key), f"{where}, {key}") for key in ("query", "pos", "neg")
            )
            if query.title and cited.title and other.title:
                yield query, cited, other
            else:
                dropped.add(NO_TITLE, f"{query.id} {cited.id} {other.id}")

    groups = (zip(*group, strict=True) for _, group in groupby(triplets(), key=lambda each: each[0].id))
    examples = (Example(query=queries[0], positives=cited, negatives=others) for queries, cited, others in groups)
    return write_source(context, TRIPLETS, examples, dropped=dropped, missing_inputs=missing_inputs)


SEARCHES = PretrainingSource("SciRepEval-Search", "search.jsonl", (528_497, 620_033))


def write_search_lists(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write an example of each query: scores above 0 are positives, others hard negatives."""
    report = SampleReport()
    records, missing_inputs = read_training_records(context, "search")
    lists = (_parse_list(where, record) for where, record in records)
    examples = sample_clicks(lists, Sampling(seed=context.seed, report=report), negatives=0)
    return write_source(context, SEARCHES, examples, dropped=DropReport(), report=report, missing_inputs=missing_inputs)


def _parse_list(where: str, record: Mapping[str, Any]) -> ScoredList:
    query, candidates = record.get("query"), record.get("candidates")
    if not isinstance(query, str) or not isinstance(candidates, list):
        raise InputError(f"{where}: expected `query` (text) and `candidates` (list)")
    found = [parse_source_paper(candidate, f"{where}, candidates") for candidate in candidates]
    papers = [Paper(id=paper.id, title=paper.title, abstract=paper.abstract) for paper in found]
    scores = [parse_number(candidate.get("score"), f"{where}: the score") for candidate in candidates]
    return ScoredList(clean_text(query), papers, scores)
