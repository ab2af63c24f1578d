"""The test files of PMC-Patients: patients like a patient (all splits), both searches (test split)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from sciprism.datasets.layouts.judgements import of_file, united
from sciprism.drop_report import DropReport
from sciprism.prepare.scimult.desk import Desk, Made, paper_row
from sciprism.prepare.scimult.search import note_absent, texts

Task = Literal["PAR", "PPR"]

ZERO_SHOT, SUPERVISED = "scimult/link_prediction_retrieval", "scimult/pmc_patients"
FOLDERS = ("zhengyun21/PMC-Patients-ReCDS", "PMC-Patients-ReCDS", "pmc-patients", "PMC-Patients")
SPLITS = ("train", "dev", "test")


def similar_patients(desk: Desk) -> Made:
    """Merge the queries of all splits that have a similar patient, over all patients (zero-shot).

    A query may find itself: training queries stand among the patients, as published.
    """
    return _made(desk, "PPR", SPLITS, ZERO_SHOT, (100_327, 155_151))


def supervised_patients(desk: Desk) -> Made:
    """Take the test split of the search for patients."""
    return _made(desk, "PPR", ("test",), SUPERVISED, (2_812, 155_151))


def supervised_articles(desk: Desk) -> Made:
    """Take the test split of the search for articles, whose texts have to be had from PubMed."""
    return _made(desk, "PAR", ("test",), SUPERVISED, (5_959, 1_413_087))


def _made(desk: Desk, task: Task, splits: tuple[str, ...], folder: str, published: tuple[int, int]) -> Made:
    tally = DropReport()
    kind = "patient" if task == "PPR" else "article"
    corpus = _need(desk, f"{task}/corpus.jsonl", f"{task}/{task}_corpus.jsonl")
    asking = [_need(desk, f"queries/{split}_queries.jsonl") for split in splits]
    judging = [
        _need(desk, f"{task}/qrels_{split}.tsv", f"{task}/{task}_{split}_qrels.tsv") for split in splits
    ]
    qrels = united((row for path in judging for row in of_file(desk.home, path)), tally)
    candidates: set[str] = set()
    asked: set[str] = set()

    def papers() -> Iterator[dict[str, Any]]:
        for text in texts(desk, corpus, tally):
            candidates.add(text.id)
            yield paper_row(text, kind)

    def queries() -> Iterator[dict[str, Any]]:
        for text in (text for path in asking for text in texts(desk, path, tally)):
            relevant = [name for name, grade in qrels.get(text.id, {}).items() if grade > 0]
            if relevant and text.id not in asked:
                asked.add(text.id)
                yield paper_row(text, "query") | {kind: relevant}

    files = [f"{folder}/PMCPatients{task}_{name}_test.json" for name in (f"{kind}s", "queries")]
    size, count = desk.write(files[0], papers()), desk.write(files[1], queries())
    note_absent(qrels, asked, candidates, tally)
    name = f"PMC-Patients {task}"
    if folder == SUPERVISED:
        name += ", supervised"
        files.append(f"{folder}/{task}_test_qrels.tsv")
        desk.write_judgements(files[-1], qrels)
    return Made(name=name, files=tuple(files), first=count, second=size, published=published, tally=tally)


def _need(desk: Desk, *files: str) -> Path:
    return desk.need(*(f"{folder}/{file}" for file in files for folder in FOLDERS))
