"""The test files of PMC-Patients: similar patients (all splits), both searches (test split)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

from sciprism.datasets.layouts.judgements import merge_judgements, read_judgements
from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper
from sciprism.prepare.scimult.context import PreparedDataSet, SciMultPrepareContext, build_paper_row
from sciprism.prepare.scimult.search import Row, write_collection

Task = Literal["PAR", "PPR"]

ZERO_SHOT, SUPERVISED = "scimult/link_prediction_retrieval", "scimult/pmc_patients"
FOLDERS = ("zhengyun21/PMC-Patients-ReCDS", "PMC-Patients-ReCDS", "pmc-patients", "PMC-Patients")
SPLITS = ("train", "dev", "test")


def _write_search(
    context: SciMultPrepareContext,
    *,
    task: Task,
    splits: tuple[str, ...],
    folder: str,
    published: tuple[int, int],
) -> PreparedDataSet:
    dropped = DropReport()
    kind = "patient" if task == "PPR" else "article"
    corpus = _need(context, f"{task}/corpus.jsonl", f"{task}/{task}_corpus.jsonl")
    query_files = [_need(context, f"queries/{split}_queries.jsonl") for split in splits]
    qrels_files = [_need(context, f"{task}/qrels_{split}.tsv", f"{task}/{task}_{split}_qrels.tsv") for split in splits]
    rows = (row for path in qrels_files for row in read_judgements(context.data_root, path))
    qrels = merge_judgements(rows, dropped)

    def query_row(query: Paper) -> Row | None:
        """Return the row of a patient with a relevant candidate."""
        relevant = [name for name, grade in qrels.get(query.id, {}).items() if grade > 0]
        return build_paper_row(query, "query") | {kind: relevant} if relevant else None

    files = [f"{folder}/PMCPatients{task}_{name}_test.json" for name in (f"{kind}s", "queries")]
    builders = (partial(build_paper_row, key=kind), query_row)
    texts = (corpus, query_files)
    size, written = write_collection(context, files, texts, builders, qrels, (dropped, dropped))
    name = f"PMC-Patients {task}"
    if folder == SUPERVISED:
        name += ", supervised"
        files.append(f"{folder}/{task}_test_qrels.tsv")
        context.write_qrels(files[-1], qrels)
    return PreparedDataSet(
        name=name,
        files=tuple(files),
        queries=len(written),
        targets=size,
        published=published,
        dropped=dropped,
    )


def _need(context: SciMultPrepareContext, *files: str) -> Path:
    return context.need(*(f"{folder}/{file}" for file in files for folder in FOLDERS))


write_similar_patients = partial(
    _write_search, task="PPR", splits=SPLITS, folder=ZERO_SHOT, published=(100_327, 155_151)
)
"""The queries of all splits over all patients: a query may find itself, as published."""
write_supervised_patients = partial(
    _write_search, task="PPR", splits=("test",), folder=SUPERVISED, published=(2_812, 155_151)
)
write_supervised_articles = partial(
    _write_search, task="PAR", splits=("test",), folder=SUPERVISED, published=(5_959, 1_413_087)
)
"""The texts of the articles must be obtained from PubMed."""
