"""The pre-training sources of classification: MAPLE's papers with labels, and labels of related papers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from pathlib import Path

from sciprism.datasets.layouts.item_tables import NO_TEXT
from sciprism.drop_report import DropReport
from sciprism.papers.records import Label, Paper
from sciprism.prepare.samplers.drawing import Sampled
from sciprism.prepare.samplers.label_pairs import LabelPairs
from sciprism.prepare.scimult.desk import Desk, Made, MissingFilesError
from sciprism.prepare.scimult.fields import FIELDS
from sciprism.prepare.scimult.maple import Labelled, maple_papers, papers_within
from sciprism.prepare.scimult.sources import FOLDER, Source, write_source
from sciprism.prepare.scimult.vocabularies import cs_topics, maple, mesh_terms
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example

CS = Source("MAPLE CS-Journal", "cs-journal.jsonl", (358_447, 1_242_885))
MESH = Source("MAPLE Biology-MeSH + Medicine-MeSH", "biology-medicine.jsonl", (1_345_128, 1_976_858))
COARSE = Source("MAPLE coarse", "coarse.jsonl", (900_000, 900_000))

CAP = 100
"""Pairs that one label may stand in (SciMult, section 4.1)."""
OF_EACH_FIELD = 50_000


def cs_journal(desk: Desk) -> Made:
    """Write the papers of `Computer_Science` with MICoL's topics."""
    path = maple(desk, "Computer_Science")
    tally, labels = DropReport(), cs_topics(desk)
    papers = papers_within(desk, [path], {label.id for label in labels}, tally)
    return _pairs(desk, CS, papers, labels, cap=CAP, tally=tally)


def biology_and_medicine(desk: Desk) -> Made:
    """Write the papers of `Biology_MeSH` and `Medicine_MeSH` with the MeSH terms, one space for both."""
    folders = ("Biology_MeSH", "Medicine_MeSH")
    paths, missing = _present(desk, {folder: (folder,) for folder in folders})
    tally = DropReport()
    labels, lacking = mesh_terms(desk, folders)
    papers = papers_within(desk, paths.values(), {label.id for label in labels}, tally)
    return _pairs(desk, MESH, papers, labels, cap=CAP, tally=tally, lacking=(*missing, *lacking))


def coarse(desk: Desk) -> Made:
    """Write 50,000 papers of each of the 18 fields without computer science; the label is the field.

    Those whose hash with the seed is lowest are taken; a paper of several fields stands for the first of them
    that took it. There is no cap: 18 labels have 900,000 pairs.
    """
    paths, missing = _present(desk, {field: [field, f"{field}_MAG", f"{field}_MeSH"] for field in FIELDS})
    tally = DropReport()
    labels = [Label(id=field, name=name) for field, name in FIELDS.items()]
    return _pairs(desk, COARSE, _of_fields(desk, paths, tally), labels, cap=0, tally=tally, lacking=missing)


def _present(desk: Desk, folders: Mapping[str, Sequence[str]]) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return the papers of each name, from the first of its folders that is there, and what is missing.

    Raises MissingFilesError where nothing is there.
    """
    paths: dict[str, Path] = {}
    missing: list[str] = []
    for name, places in folders.items():
        try:
            paths[name] = maple(desk, *places)
        except MissingFilesError as error:
            missing.append(str(error))
    if not paths:
        raise MissingFilesError(missing[0])
    return paths, tuple(missing)


def _of_fields(desk: Desk, paths: Mapping[str, Path], tally: DropReport) -> Iterator[Labelled]:
    """Draw the papers of each field in one pass over its file, yield them in a second one."""
    taken: set[str] = set()
    for field, path in paths.items():
        names = {paper.id for paper, _ in maple_papers(desk, path) if paper.title or paper.abstract} - taken
        chosen = set(
            nsmallest(OF_EACH_FIELD, names, key=lambda name: (random_fraction(desk.seed, field, name), name))
        )
        if len(chosen) < OF_EACH_FIELD:
            tally.add(f"field of fewer than {OF_EACH_FIELD:,} papers, all of them taken", field)
        taken |= chosen
        for paper, _ in maple_papers(desk, path):
            if paper.id in chosen and (paper.title or paper.abstract):
                chosen.discard(paper.id)
                yield paper, (field,)


def _pairs(
    desk: Desk,
    source: Source,
    papers: Iterable[Labelled],
    labels: Sequence[Label],
    *,
    cap: int,
    tally: DropReport,
    lacking: tuple[str, ...] = (),
) -> Made:
    """Write pairs of papers and labels with hard negatives.

    The papers lie in a file beside the source while it is made. The sampler is given ids, authors, venues,
    references and labels; texts pass by one at a time when the examples are written.
    """
    rows = {label.id: row for row, label in enumerate(labels)}
    staged = desk.out / FOLDER / f".{source.file}.papers"
    report = Sampled()
    try:
        known = _stage(staged, papers, rows, tally)
        stubs, carried = [], []
        for paper, mine in _staged(staged):
            stubs.append(_stub(paper, known))
            carried.append(tuple(mine))
        sampler = LabelPairs(cap=cap, seed=desk.seed)
        examples = sampler.sample(stubs, labels, carried, report=report)
        texts = (paper for paper, _ in _staged(staged))
        examples = _with_texts(examples, texts)
        return write_source(desk, source, examples, tally=tally, report=report, lacking=lacking)
    finally:
        staged.unlink(missing_ok=True)


def _stage(path: Path, papers: Iterable[Labelled], rows: dict[str, int], tally: DropReport) -> dict[str, str]:
    """Write the papers that have a text; return their ids, each under itself."""
    known: dict[str, str] = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for paper, labels in papers:
            if not paper.title and not paper.abstract:
                tally.add(NO_TEXT, paper.id)
                continue
            known[paper.id] = paper.id
            file.write(json.dumps([paper.to_json(), [rows[label] for label in labels]]) + "\n")
    return known


def _staged(path: Path) -> Iterator[tuple[Paper, list[int]]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            paper, labels = json.loads(line)
            yield Paper.from_json(paper), labels


def _stub(paper: Paper, known: dict[str, str]) -> Paper:
    """Return a paper for the sampler: its title stands for whatever text there is; ids are held once."""
    return Paper(
        id=known[paper.id],
        title="-",
        authors=tuple(map(sys.intern, paper.authors)),
        venue=sys.intern(paper.venue),
        references=tuple(known[name] for name in paper.references if name in known),
    )


def _with_texts(examples: Iterable[Example], papers: Iterator[Paper]) -> Iterator[Example]:
    """Put each example's paper in the place of its stub; both come in the same order."""
    for example in examples:
        query = example.query
        name = query if isinstance(query, str) else query.id
        yield replace(example, query=next(paper for paper in papers if paper.id == name))
