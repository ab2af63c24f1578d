"""The test files of search: BEIR's data sets, two of SciRepEval, PMC-Patients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from sciprism.datasets.inputs import RerankInput
from sciprism.datasets.layouts.beir import NO_DOCUMENT, NO_QUERY, Qrels, merge_judgements, read_judgements
from sciprism.datasets.layouts.item_tables import count_missing_text
from sciprism.datasets.layouts.scirepeval import LABELS, TEXTS, HubTexts, RankedPapers
from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper
from sciprism.prepare.scimult.context import PreparedDataSet, SciMultPrepareContext, build_paper_row
from sciprism.prepare.sources.pmc_patients import FOLDERS
from sciprism.prepare.sources.records import read_beir_papers

Row = dict[str, Any]

FOLDER = "scimult/search"
DUPLICATE = "duplicate text, the first is used"


def read_distinct_texts(context: SciMultPrepareContext, path: Path, dropped: DropReport) -> Iterator[Paper]:
    """Yield the distinct texts of a corpus or of queries in BEIR's layout, as papers.

    Raises InputError that names file and line of a record without an id.
    """
    seen: set[str] = set()
    for paper in read_beir_papers(context.data_root, path):
        if paper.id in seen:
            dropped.add(DUPLICATE, paper.id)
            continue
        seen.add(paper.id)
        count_missing_text(paper, paper.id, dropped)
        yield paper


def count_absent(qrels: Qrels, queries: set[str], documents: set[str], dropped: DropReport) -> None:
    """Count graded queries and documents without a record."""
    for query, grades in qrels.items():
        if query not in queries:
            dropped.add(NO_QUERY, query)
            continue
        for name in grades:
            if name not in documents:
                dropped.add(NO_DOCUMENT, f"{query} {name}")


def write_collection(
    context: SciMultPrepareContext,
    files: Sequence[str],
    texts: tuple[Path, Sequence[Path]],
    rows: tuple[Callable[[Paper], Row], Callable[[Paper], Row | None]],
    qrels: Qrels,
    reports: tuple[DropReport, DropReport],
) -> tuple[int, set[str]]:
    """Write a corpus and its queries; return the number of documents and the ids of the queries.

    texts: the corpus and the files of queries, in BEIR's layout. rows: build the row of a document and of a
    query, None for a query that is dropped. reports: of documents (and absent ids) and of queries.
    """
    corpus, query_files = texts
    build_document, build_query = rows
    documents: set[str] = set()
    written: set[str] = set()

    def document_rows() -> Iterator[Row]:
        """Yield all documents, and collect their ids."""
        for document in read_distinct_texts(context, corpus, reports[0]):
            documents.add(document.id)
            yield build_document(document)

    def query_rows() -> Iterator[Row]:
        """Yield the first query of each id that has a row, and collect their ids."""
        for query in (q for path in query_files for q in read_distinct_texts(context, path, reports[1])):
            if query.id not in written and (row := build_query(query)):
                written.add(query.id)
                yield row

    size, _ = context.write(files[0], document_rows()), context.write(files[1], query_rows())
    count_absent(qrels, written, documents, reports[0])
    return size, written


def _write_merged(context: SciMultPrepareContext, *, name: str, folder: str, splits: Sequence[str]) -> PreparedDataSet:
    """Write a data set of BEIR: all documents, and the queries with judgements in any of the splits."""
    dropped = DropReport()
    folders = [f"{above}{folder}" for above in ("beir/", "")]
    corpus, queries = (context.need(*(f"{p}/{name}.jsonl" for p in folders)) for name in ("corpus", "queries"))
    parts = [context.need(*(f"{p}/qrels/{split}.tsv" for p in folders)) for split in splits]
    rows = (row for part in parts for row in read_judgements(context.data_root, part))
    qrels = merge_judgements(rows, dropped)

    def query_row(query: Paper) -> Row | None:
        """Return the row of a query with judgements."""
        return _build_query_row(query.id, query.abstract, qrels[query.id]) if query.id in qrels else None

    files, builders, reports = _name_files(name), (build_paper_row, query_row), (dropped, DropReport())
    size, written = write_collection(context, files, (corpus, [queries]), builders, qrels, reports)
    return PreparedDataSet(
        files=files,
        queries=len(written),
        targets=size,
        counts={"relevant": sum(grade > 0 for query in written for grade in qrels[query].values())},
        dropped=dropped,
    )


def _write_ranked(context: SciMultPrepareContext, *, name: str, config: str) -> PreparedDataSet:
    """Write a ranking data set of SciRepEval: its graded queries and their candidates."""
    context.find_split(TEXTS, config, "evaluation")
    context.find_split(LABELS, config, "test")
    data = RankedPapers(hub=HubTexts(texts=config, labels=config), query="query").read(context.data_root)
    files = _name_files(name)
    wanted = sorted({int(row) for pool in data.pools for row in pool})
    items = ((row, data.candidates[row]) for row in wanted)
    papers = (
        item if isinstance(item, Paper) else Paper(id=data.candidate_ids[row], abstract=str(item))
        for row, item in items
    )
    context.write(files[0], map(build_paper_row, papers))
    count = context.write(files[1], _build_query_rows(data))
    sizes = [len(pool) for pool in data.pools]
    return PreparedDataSet(
        files=files,
        queries=count,
        targets=round(sum(sizes) / max(len(sizes), 1), 2),
        counts={"papers": len(wanted), "pairs": sum(sizes)},
        dropped=data.dropped,
    )


def _build_query_rows(data: RerankInput) -> Iterator[Row]:
    for name, query, pool, grades in zip(data.query_ids, data.queries, data.pools, data.grades, strict=True):
        score = {data.candidate_ids[row]: int(grade) for row, grade in zip(pool, grades, strict=True)}
        yield _build_query_row(name, str(query), score)


def _build_query_row(name: str, text: str, score: Mapping[str, int]) -> Row:
    return {"query_id": name, "query": text, "score": dict(score)}


def _name_files(name: str) -> tuple[str, str]:
    return f"{FOLDER}/{name}_papers_test.json", f"{FOLDER}/{name}_queries_test.json"


write_scifact = partial(_write_merged, name="SciFact", folder="scifact", splits=("train", "test"))
write_nfcorpus = partial(_write_merged, name="NFCorpus", folder="nfcorpus", splits=("train", "dev", "test"))
write_trec_covid = partial(_write_merged, name="TRECCOVID_BEIR", folder="trec-covid", splits=("test",))
write_scirepeval_search = partial(_write_ranked, name="Search", config="search")
write_scirepeval_trec_covid = partial(_write_ranked, name="TRECCOVID_SciRepEval", config="trec_covid")
"""SciRepEval's version: title, question and narrative of a query are one text."""

Task = Literal["PAR", "PPR"]

ZERO_SHOT, SUPERVISED = "scimult/link_prediction_retrieval", "scimult/pmc_patients"
SPLITS = ("train", "dev", "test")


def _write_search(
    context: SciMultPrepareContext,
    *,
    task: Task,
    splits: tuple[str, ...],
    folder: str,
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
    if folder == SUPERVISED:
        files.append(f"{folder}/{task}_test_qrels.tsv")
        context.write_qrels(files[-1], qrels)
    return PreparedDataSet(files=tuple(files), queries=len(written), targets=size, dropped=dropped)


def _need(context: SciMultPrepareContext, *files: str) -> Path:
    return context.need(*(f"{folder}/{file}" for file in files for folder in FOLDERS))


write_similar_patients = partial(_write_search, task="PPR", splits=SPLITS, folder=ZERO_SHOT)
"""The queries of all splits over all patients: a query may find itself, as published."""
write_supervised_patients = partial(_write_search, task="PPR", splits=("test",), folder=SUPERVISED)
write_supervised_articles = partial(_write_search, task="PAR", splits=("test",), folder=SUPERVISED)
"""The texts of the articles must be obtained from PubMed."""
