"""Write the train and dev examples of PMC-Patients, with counts of what was retained and dropped."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from sciprism.datasets.data_root import DataRoot, find_file
from sciprism.datasets.layouts.beir import NO_DOCUMENT, NO_QUERY, merge_judgements, read_judgements
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.systems import BM25System, EncodingInput
from sciprism.files import create_work_folder
from sciprism.papers.records import Paper
from sciprism.prepare.preparation import Count, ExampleFolder, Positive, Preparation, Settings
from sciprism.prepare.samplers.sampling import NONE, QuerySample, SampleReport, seeded_random
from sciprism.prepare.sources.records import read_beir_papers
from sciprism.seeding import random_fraction
from sciprism.training.examples import PAPERS_FILE, Example, PaperLookup

Search = Literal["par", "ppr"]  # articles for a patient, or similar patients
Split = Literal["train", "dev", "test"]

Relevant = dict[str, list[str]]  # patient -> relevant documents, the best grade first

WITHDRAWN = (
    'its texts were withdrawn; build it from PubMed, a line {"_id": PMID, "title": ..., "text": abstract} '
    "for each id in PAR/PAR_PMIDs.json"
)


class PatientsRelease:
    """The files of one of the two searches. folder: the release or its parent.

    Files may be gzipped. Raises InputError naming the first missing one.
    """

    def __init__(self, folder: Path, search: Search) -> None:
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; name the folder of the release")
        self.data_root = DataRoot(folder)
        name = search.upper()
        hint = WITHDRAWN if search == "par" else ""
        self._patients = {split: _find(folder, f"queries/{split}_queries.jsonl") for split in get_args(Split)}
        self._judgements = {
            split: _find(folder, f"{name}/qrels_{split}.tsv", f"{name}/{name}_{split}_qrels.tsv")
            for split in get_args(Split)
        }
        self.corpus = _find(folder, f"{name}/corpus.jsonl", f"{name}/{name}_corpus.jsonl", hint=hint)

    def relevant_documents(self, split: Split, dropped: DropReport) -> Relevant:
        """Return the relevant documents of each patient of a split; equal grades in the order of the file."""
        judgements = read_judgements(self.data_root, self._judgements[split])
        judged = merge_judgements(((q, sys.intern(d), grade) for q, d, grade in judgements), dropped)
        return {
            query: [d for d, grade in sorted(grades.items(), key=lambda pair: -pair[1]) if grade > 0]
            for query, grades in judged.items()
        }

    def patients(self, split: Split) -> Iterator[Paper]:
        """Yield the patients of a split as papers, with their text as the abstract."""
        return read_beir_papers(self.data_root, self._patients[split])


def _find(folder: Path, *names: str, hint: str = "") -> Path:
    places = (folder, *(folder / name for name in FOLDERS))
    path = next(filter(None, (find_file(place, name) for name in names for place in places)), None)
    if path is None:
        raise InputError(f"{folder} holds no {' or '.join(names)}{f'; {hint}' if hint else ''}")
    return path


FOLDERS = ("zhengyun21/PMC-Patients-ReCDS", "PMC-Patients-ReCDS", "pmc-patients", "PMC-Patients")


MAX_NEGATIVES = 4  # of a patient
DEPTH = 100  # BM25's best ranks that negatives are sampled from; deeper ones share little but common words


def sample_negatives(
    system: BM25System,
    pool: Mapping[str, Paper],
    patients: Sequence[Paper],
    relevant: Sequence[AbstractSet[str]],
    seed: int,
) -> Iterator[tuple[Paper, ...]]:
    """Yield the negatives of each patient, sampled from the `DEPTH` best papers of the pool without the relevant ones.

    pool: id -> paper. relevant: the ids of papers known to be relevant to each patient: as this was judged from
    citations alone, some of the negatives are relevant nevertheless. There are fewer where fewer share a word.
    """
    papers, row_of = [*pool.values()], {name: row for row, name in enumerate(pool)}
    queries, documents = (EncodingInput(items=items, format="proximity") for items in (patients, papers))
    excluded = [np.array([row_of[name] for name in ids if name in row_of], np.int64) for ids in relevant]
    _, best = system.top(queries, documents, min(DEPTH, len(papers)), "encoder", excluded)
    for patient, ranked in zip(patients, best, strict=True):
        candidates = ranked[ranked >= 0].tolist()
        rows = seeded_random(seed, patient.id).sample(candidates, min(MAX_NEGATIVES, len(candidates)))
        yield tuple(papers[row] for row in rows)


LATER: dict[Split, tuple[Split, ...]] = {"train": ("dev", "test"), "dev": ("test",)}
"""The splits whose patients an example of a split may not have."""
BLOCK = 1024  # patients whose negatives are searched at once


class PatientSettings(Settings):
    """How examples are built.

    search: articles for a patient ("par") or similar patients ("ppr"). pool: documents that negatives are sampled from,
    selected by hash; BM25 holds about 20 kB for each and reads all of them for every patient.
    """

    search: Search = "ppr"
    pool: Positive = 50_000
    seed: Count = 0


def prepare_patients(folder: Path, out: Path, settings: PatientSettings) -> Preparation:
    """Write `train/patients-SEARCH.jsonl`, `dev/...` and `patients-SEARCH.json` from the published files.

    folder: the release, or its parent. The same settings write the same bytes. The corpus is read once: texts
    of relevant documents are stored on disk, those of the pool in memory. Raises InputError for a file that
    is missing or wrong, and for a split without an example.
    """
    release = PatientsRelease(folder, settings.search)
    reports: dict[Split, SampleReport] = {split: SampleReport() for split in LATER}
    relevant = {split: release.relevant_documents(split, report.dropped) for split, report in reports.items()}
    examples, files = ExampleFolder(out), {split: f"{split}/patients-{settings.search}.jsonl" for split in LATER}
    with create_work_folder(out, ".papers-") as texts:
        path = texts / PAPERS_FILE
        pool, documents = _read_documents(release, path, relevant.values(), settings)
        builder = _ExampleBuilder(release, PaperLookup(path), pool, settings.seed)
        for split, report in reports.items():
            rows = builder.examples(split, relevant[split], report)
            if not examples.write(files[split], rows, min_examples=1):
                reasons = str(report.dropped) or "there is none"
                raise InputError(f"{folder}: no {split} patient gives an example: {reasons}")
    record = {
        "settings": settings.model_dump(),
        "documents": documents,
        "pool": len(pool),
        "parts": {split: examples.describe(files[split]) | report.to_json() for split, report in reports.items()},
        "data": release.data_root.provenance(),
    }
    counts = [
        f"{out / files[part]}: {report.queries:,} patients, {report.pairs:,} pairs, "
        f"{report.hard:,} with a hard negative"
        for part, report in reports.items()
    ]
    return Preparation(
        files=examples.counts,
        record=examples.write_manifest(f"patients-{settings.search}.json", record),
        dropped={split: report.dropped for split, report in reports.items()},
        notes=[f"{documents:,} documents; negatives are sampled from {len(pool):,}", *counts],
    )


@dataclass(frozen=True, slots=True)
class _ExampleBuilder:
    release: PatientsRelease
    texts: PaperLookup
    pool: Mapping[str, Paper]
    seed: int

    def examples(self, split: Split, relevant: Relevant, report: SampleReport) -> Iterator[Example]:
        """Yield an example of each patient with a relevant document, in the order of the queries."""
        queries, system = self._queries(split, relevant, report), BM25System()
        while block := list(islice(queries, BLOCK)):
            patients = [patient for patient, _ in block]
            excluded = [{patient.id, *relevant[patient.id]} for patient in patients]
            negatives = sample_negatives(system, self.pool, patients, excluded, self.seed)
            for (patient, positives), hard in zip(block, negatives, strict=True):
                count = len(positives)
                report.add(QuerySample(tuple(range(count)), (), ("bm25" if hard else NONE,) * count))
                yield Example(patient, positives, hard)

    def _queries(
        self, split: Split, relevant: Relevant, report: SampleReport
    ) -> Iterator[tuple[Paper, tuple[Paper, ...]]]:
        later = {patient.id for name in LATER[split] for patient in self.release.patients(name)}
        seen: set[str] = set()
        for patient in self.release.patients(split):
            positives: tuple[Paper, ...] = ()
            if patient.id in seen:
                reason = "duplicate patient, the first is retained"
            elif not relevant.get(patient.id):
                reason = "patient without a relevant document"
            elif patient.id in later:
                reason = "patient of a later split"
            elif not patient.abstract:
                reason = "patient without text"
            else:
                positives = self._positives(patient.id, relevant[patient.id], report)
                reason = "" if positives else "patient whose relevant documents were all dropped"
            seen.add(patient.id)
            if reason:
                report.dropped.add(reason, patient.id)
            else:
                yield patient, positives
        for name, documents in relevant.items():
            if documents and name not in seen:
                report.dropped.add(NO_QUERY, name)

    def _positives(self, patient: str, names: list[str], report: SampleReport) -> tuple[Paper, ...]:
        papers = []
        for name in names:
            if name == patient:
                report.dropped.add("patient judged relevant to the same patient", patient)
                continue
            try:
                paper = self.texts[name]
            except KeyError:
                report.dropped.add(NO_DOCUMENT, f"{patient} {name}")
                continue
            if paper.title or paper.abstract:
                papers.append(paper)
            else:
                report.dropped.add("relevant document without text", f"{patient} {name}")
        return tuple(papers)


def _read_documents(
    release: PatientsRelease, path: Path, relevant: Iterable[Relevant], settings: PatientSettings
) -> tuple[dict[str, Paper], int]:
    """Write the relevant documents to a file; return the pool for negatives, and the number of all documents."""
    wanted = {name for part in relevant for names in part.values() for name in names}
    count = 0

    def with_text() -> Iterator[Paper]:
        nonlocal count
        with path.open("w", encoding="ascii") as file:
            for paper in read_beir_papers(release.data_root, release.corpus):
                count += 1
                if paper.id in wanted:
                    wanted.remove(paper.id)
                    file.write(json.dumps(paper.to_json()) + "\n")
                if paper.title or paper.abstract:
                    yield paper

    unique: dict[str, Paper] = {}
    for paper in nsmallest(settings.pool, with_text(), lambda paper: random_fraction(settings.seed, paper.id)):
        unique.setdefault(paper.id, paper)
    return unique, count
