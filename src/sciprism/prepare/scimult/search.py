"""The test files of search: BEIR's sets with their splits merged, and SciRepEval's two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sciprism.datasets.inputs import Pools
from sciprism.datasets.layouts.item_tables import note_text
from sciprism.datasets.layouts.judgements import NO_DOCUMENT, NO_QUERY, Qrels, of_file, united
from sciprism.datasets.layouts.scirepeval import LABELS, TEXTS, HubTexts, RankedPapers
from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper
from sciprism.prepare.scimult.desk import Desk, Made, beir_texts, paper_row

FOLDER = "scimult/search"
TWICE = "text that stands twice, the first counts"


def scifact(desk: Desk) -> Made:
    """Merge train and test of SciFact."""
    return _merged(desk, "SciFact", "scifact", ("train", "test"), (1_109, 5_183))


def nfcorpus(desk: Desk) -> Made:
    """Merge the three splits of NFCorpus."""
    return _merged(desk, "NFCorpus", "nfcorpus", ("train", "dev", "test"), (3_237, 3_633))


def trec_covid(desk: Desk) -> Made:
    """Take TREC-COVID as BEIR has it."""
    return _merged(desk, "TRECCOVID_BEIR", "trec-covid", ("test",), (50, 171_332))


def scirepeval_search(desk: Desk) -> Made:
    """Take the test queries of SciRepEval's Search, each with its own candidates."""
    return _ranked(desk, "Search", "search", (2_637, 10))


def scirepeval_trec_covid(desk: Desk) -> Made:
    """Take TREC-COVID as SciRepEval has it: a query's title, question and narrative are one text."""
    return _ranked(desk, "TRECCOVID_SciRepEval", "trec_covid", (50, 1386.36))


def texts(desk: Desk, path: Path, tally: DropReport) -> Iterator[Paper]:
    """Yield the texts of a corpus or of queries in BEIR's layout, each id once, as papers.

    Raises InputError naming file and line of a record without an id.
    """
    seen: set[str] = set()
    for paper in beir_texts(desk.home, path):
        if paper.id in seen:
            tally.add(TWICE, paper.id)
            continue
        seen.add(paper.id)
        note_text(paper, paper.id, tally)
        yield paper


def note_absent(qrels: Qrels, queries: set[str], documents: set[str], tally: DropReport) -> None:
    """Count judged queries and documents of which there is no record."""
    for query, mine in qrels.items():
        if query not in queries:
            tally.add(NO_QUERY, query)
            continue
        for name in mine:
            if name not in documents:
                tally.add(NO_DOCUMENT, f"{query} {name}")


def _merged(desk: Desk, name: str, folder: str, splits: Sequence[str], published: tuple[int, int]) -> Made:
    """Write a set of BEIR: all documents, and the queries that any of the splits judges."""
    tally = DropReport()
    place = [f"{above}{folder}" for above in ("beir/", "")]
    corpus, queries = (desk.need(*(f"{p}/{file}.jsonl" for p in place)) for file in ("corpus", "queries"))
    parts = [desk.need(*(f"{p}/qrels/{split}.tsv" for p in place)) for split in splits]
    qrels = united((row for part in parts for row in of_file(desk.home, part)), tally)
    documents: set[str] = set()
    asked: set[str] = set()

    def papers() -> Iterator[dict[str, Any]]:
        for paper in texts(desk, corpus, tally):
            documents.add(paper.id)
            yield paper_row(paper)

    def judged() -> Iterator[dict[str, Any]]:
        for query in texts(desk, queries, DropReport()):
            if query.id in qrels:
                asked.add(query.id)
                yield _query(query.id, query.abstract, qrels[query.id])

    files = _files(name)
    size, count = desk.write(files[0], papers()), desk.write(files[1], judged())
    note_absent(qrels, asked, documents, tally)
    relevant = sum(grade > 0 for query in asked for grade in qrels[query].values())
    counts = {"relevant": relevant}
    return Made(
        name=name, files=files, first=count, second=size, published=published, counts=counts, tally=tally
    )


def _ranked(desk: Desk, name: str, config: str, published: tuple[int, float]) -> Made:
    """Write a ranking set of SciRepEval: its judged queries and their candidates."""
    desk.hub(TEXTS, config, "evaluation")
    desk.hub(LABELS, config, "test")
    data = RankedPapers(at=HubTexts(texts=config, labels=config), query="query").read(desk.home)
    files = _files(name)
    wanted = sorted({int(row) for pool in data.pools for row in pool})
    desk.write(files[0], (paper_row(_paper(data, row)) for row in wanted))
    count = desk.write(files[1], _pooled(data))
    sizes = [len(pool) for pool in data.pools]
    mean = round(sum(sizes) / max(len(sizes), 1), 2)
    counts = {"papers": len(wanted), "pairs": sum(sizes)}
    return Made(
        name=name, files=files, first=count, second=mean, published=published, counts=counts, tally=data.tally
    )


def _pooled(data: Pools) -> Iterator[dict[str, Any]]:
    for name, query, pool, grades in zip(data.query_ids, data.queries, data.pools, data.grades, strict=True):
        score = {data.candidate_ids[row]: int(grade) for row, grade in zip(pool, grades, strict=True)}
        yield _query(name, str(query), score)


def _paper(data: Pools, row: int) -> Paper:
    item = data.candidates[row]
    return item if isinstance(item, Paper) else Paper(id=data.candidate_ids[row], abstract=str(item))


def _query(name: str, text: str, score: Mapping[str, int]) -> dict[str, Any]:
    return {"query_id": name, "query": text, "score": dict(score)}


def _files(name: str) -> tuple[str, str]:
    return f"{FOLDER}/{name}_papers_test.json", f"{FOLDER}/{name}_queries_test.json"
