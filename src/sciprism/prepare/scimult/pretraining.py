"""SciMult's pre-training sources: MAPLE's labels, SciRepEval's citation triplets and searches."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from itertools import groupby
from pathlib import Path
from typing import Any

from sciprism.datasets.layouts.item_tables import NO_TEXT, clean_text, parse_number, parse_paper
from sciprism.datasets.layouts.scirepeval import TEXTS
from sciprism.datasets.rows import as_id
from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper
from sciprism.prepare.samplers.fields import FIELDS
from sciprism.prepare.samplers.links import MAX_PER_LABEL, sample_label_pairs
from sciprism.prepare.samplers.sampling import Sampling
from sciprism.prepare.samplers.scored_lists import ScoredList, sample_clicks
from sciprism.prepare.scimult.classification import (
    LabelledPaper,
    find_maple_file,
    read_cs_topics,
    read_labelled_papers,
    read_maple_papers,
    read_mesh_terms,
)
from sciprism.prepare.scimult.context import PreparedDataSet, SciMultPrepareContext
from sciprism.prepare.sources.records import IDS
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example, item_key

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
        FIELDS, lambda field: find_maple_file(context, *(f"{field}{end}" for end in endings))
    )
    sampling = Sampling(seed=context.seed)
    labels = [Label(id=field, name=name) for field, name in FIELDS.items()]
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
            stubs.append(_build_stub(paper, ids))
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


def _build_stub(paper: Paper, ids: dict[str, str]) -> Paper:
    """Return a paper for the sampler, with a placeholder as title; equal ids are one object in memory."""
    return Paper(
        id=ids[paper.id],
        title="-",
        authors=tuple(map(sys.intern, paper.authors)),
        venue=sys.intern(paper.venue),
        references=tuple(ids[name] for name in paper.references if name in ids),
    )


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
    parsed = (_parse_source_paper(candidate, f"{where}, candidates") for candidate in candidates)
    papers = [Paper(id=paper.id, title=paper.title, abstract=paper.abstract) for paper in parsed]
    scores = [parse_number(candidate.get("score"), f"{where}: the score") for candidate in candidates]
    return ScoredList(clean_text(query), papers, scores)


def _parse_source_paper(record: Any, where: str) -> Paper:
    """Return the paper of a SciRepEval record; older files have `sha` as id. Raises InputError."""
    if not isinstance(record, Mapping):
        raise InputError(f"{where}: expected a paper as an object, got {record!r:.60}")
    name = next((as_id(record[key]) for key in IDS if record.get(key) not in (None, "")), "")
    if not name:
        raise InputError(f"{where}: a paper without {', '.join(IDS)}")
    return parse_paper(record, name)


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
