"""The test files of search: BEIR's data sets, two of SciRepEval, PMC-Patients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from sciprism.datasets.layouts.beir import NO_DOCUMENT, NO_QUERY, Qrels, merge_judgements, read_judgements
from sciprism.datasets.layouts.item_tables import count_missing_text
from sciprism.datasets.layouts.scirepeval import LABELS, TEXTS, HubTexts, RankedPapers
from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper
from sciprism.prepare.patients import FOLDERS
from sciprism.prepare.scimult.context import PreparedDataSet, SciMultPrepareContext, build_paper_row
from sciprism.prepare.sources.records import read_beir_papers

Row = dict[str, Any]

FOLDER = "scimult/search"
DUPLICATE = "duplicate text, the first is used"


def _write_collection(
    context: SciMultPrepareContext,
    files: Sequence[str],
    paths: tuple[Path, Sequence[Path], Sequence[Path]],
    rows: tuple[Callable[[Paper], Row], Callable[[Paper, Mapping[str, int]], Row | None]],
    reports: tuple[DropReport, DropReport],
) -> tuple[int, set[str], Qrels]:
    """Write a corpus and its queries; return the number of documents, the ids of the queries, and the judgements.

    paths: the corpus, the queries and the judgements, in BEIR's layout. rows: build the row of a document, and
    that of a query with its grades, None for a query that is dropped. reports: of documents and judgements, and
    of queries.
    """
    (corpus, query_files, qrels_files), (build_document, build_query), dropped = paths, rows, reports[0]
    judgements = (row for path in qrels_files for row in read_judgements(context.data_root, path))
    qrels = merge_judgements(judgements, dropped)
    documents: set[str] = set()
    written: set[str] = set()

    def document_rows() -> Iterator[Row]:
        for document in _read_distinct_texts(context, corpus, dropped):
            documents.add(document.id)
            yield build_document(document)

    def query_rows() -> Iterator[Row]:
        for query in (query for path in query_files for query in _read_distinct_texts(context, path, reports[1])):
            if query.id not in written and (row := build_query(query, qrels.get(query.id, {}))):
                written.add(query.id)
                yield row

    size, _ = context.write(files[0], document_rows()), context.write(files[1], query_rows())
    for name, grades in qrels.items():
        if name not in written:
            dropped.add(NO_QUERY, name)
        for document in grades if name in written else ():
            if document not in documents:
                dropped.add(NO_DOCUMENT, f"{name} {document}")
    return size, written, qrels


def _read_distinct_texts(context: SciMultPrepareContext, path: Path, dropped: DropReport) -> Iterator[Paper]:
    """Yield the distinct texts of a corpus or of queries as papers; InputError names a record without an id."""
    seen: set[str] = set()
    for paper in read_beir_papers(context.data_root, path):
        if paper.id in seen:
            dropped.add(DUPLICATE, paper.id)
            continue
        seen.add(paper.id)
        count_missing_text(paper, paper.id, dropped)
        yield paper


def _write_merged(context: SciMultPrepareContext, *, name: str, folder: str, splits: Sequence[str]) -> PreparedDataSet:
    """Write a data set of BEIR: all documents, and the queries with judgements in any of the splits."""
    folders, dropped = [f"{above}{folder}" for above in ("beir/", "")], DropReport()
    corpus, queries = (context.need(*(f"{p}/{name}.jsonl" for p in folders)) for name in ("corpus", "queries"))
    parts = [context.need(*(f"{p}/qrels/{split}.tsv" for p in folders)) for split in splits]

    def query_row(query: Paper, grades: Mapping[str, int]) -> Row | None:
        return _build_query_row(query.id, query.abstract, grades) if grades else None

    files, paths, rows = _name_files(name), (corpus, [queries], parts), (build_paper_row, query_row)
    size, written, qrels = _write_collection(context, files, paths, rows, (dropped, DropReport()))
    relevant = sum(grade > 0 for query in written for grade in qrels[query].values())
    return PreparedDataSet(
        files=files, queries=len(written), targets=size, counts={"relevant": relevant}, dropped=dropped
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
    scores = (
        {data.candidate_ids[row]: int(grade) for row, grade in zip(pool, grades, strict=True)}
        for pool, grades in zip(data.pools, data.grades, strict=True)
    )
    count = context.write(files[1], map(_build_query_row, data.query_ids, map(str, data.queries), scores))
    sizes = [len(pool) for pool in data.pools]
    return PreparedDataSet(
        files=files,
        queries=count,
        targets=round(sum(sizes) / max(len(sizes), 1), 2),
        counts={"papers": len(wanted), "pairs": sum(sizes)},
        dropped=data.dropped,
    )


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

ZERO_SHOT, SUPERVISED = "scimult/link_prediction_retrieval", "scimult/pmc_patients"
SPLITS = ("train", "dev", "test")


def _write_search(
    context: SciMultPrepareContext, *, task: Literal["PAR", "PPR"], splits: tuple[str, ...], folder: str
) -> PreparedDataSet:
    """Write one of the searches of PMC-Patients: all documents, and the patients with a relevant one."""
    dropped, kind = DropReport(), "patient" if task == "PPR" else "article"
    paths = (
        _need(context, f"{task}/corpus.jsonl", f"{task}/{task}_corpus.jsonl"),
        [_need(context, f"queries/{split}_queries.jsonl") for split in splits],
        [_need(context, f"{task}/qrels_{split}.tsv", f"{task}/{task}_{split}_qrels.tsv") for split in splits],
    )

    def query_row(query: Paper, grades: Mapping[str, int]) -> Row | None:
        relevant = [name for name, grade in grades.items() if grade > 0]
        return build_paper_row(query, "query") | {kind: relevant} if relevant else None

    files = [f"{folder}/PMCPatients{task}_{name}_test.json" for name in (f"{kind}s", "queries")]
    rows = (partial(build_paper_row, key=kind), query_row)
    size, written, qrels = _write_collection(context, files, paths, rows, (dropped, dropped))
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
