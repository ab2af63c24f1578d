"""The test files of link prediction and search: BEIR, SciRepEval, PMC-Patients, SciDocs' links, the user study."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.datasets.data_root import DataRoot, as_id
from sciprism.datasets.layouts.beir import NO_DOCUMENT, NO_QUERY, Qrels, merge_judgements, read_judgements
from sciprism.datasets.layouts.item_tables import count_missing_text, parse_paper
from sciprism.datasets.layouts.published import LABELS, TEXTS, HubTexts, RankedPapers
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import write_lines
from sciprism.papers.identity import hash_text
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.prepare.patients import FOLDERS
from sciprism.prepare.scimult.context import MissingFilesError, PreparedDataSet, SciMultPrepareContext, build_paper_row
from sciprism.prepare.sources.citation_corpus import CitationGraph
from sciprism.prepare.sources.records import parse_ids, read_beir_papers

STUDY_FILE = "scimult/link_prediction_reranking/Recommendation_papers_test.json"
NO_PAPER, NO_TARGET = "recommending paper without a text, dropped", "recommendation without a text, dropped"

Place = tuple[float, float]  # rank and negative similarity of a recommendation, infinity where the study has none
COLUMNS = ("StudyScore", "ComputedRankGlobal", "Similarity")
Study = dict[str, dict[str, tuple[int, Place]]]  # paper -> recommended paper -> its grade and place


def write_recommendation(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write the papers of the study that have a text; the first grade of a pair is used.

    Texts: any file or folder `recommendation/papers*` of a known format. The study's ids are those of
    Microsoft Academic Graph, which OpenAlex uses with a leading W.
    """
    study = context.need("recommendation/user_study_results.tsv", "user_study_results.tsv")
    sources = sorted((context.raw / "recommendation").glob("papers*"))
    if not sources:
        raise MissingFilesError("recommendation/papers.* (titles and abstracts of the study's papers)")
    dropped = DropReport()
    graded: Study = {}
    for paper, recommended, grade, place in read_study(context.record_read(study), dropped):
        if recommended in graded.setdefault(paper, {}):
            dropped.add("duplicate recommendation, the first grade is used", f"{paper} {recommended}")
        graded[paper].setdefault(recommended, (grade, place))
    papers = _read_texts(context, sources, graded.keys() | set(chain.from_iterable(graded.values())), dropped)
    selected = _select_with_texts(graded, papers, dropped)
    names = dict.fromkeys(chain(selected, *selected.values()))
    rows = []
    for name in names:
        count_missing_text(papers[name], name, dropped)
        grades = {other: grade for other, (grade, _) in selected.get(name, {}).items()}
        places = {other: place for other, (_, place) in selected.get(name, {}).items() if place != (math.inf, math.inf)}
        ranks = {"score": grades, "rank": sorted(places, key=places.__getitem__)}
        rows.append(build_paper_row(papers[name]) | {"paper": name} | ranks)
    count = context.write(STUDY_FILE, rows)
    pairs = sum(map(len, selected.values()))
    return PreparedDataSet(
        files=(STUDY_FILE,),
        queries=len(selected),
        targets=round(pairs / max(len(selected), 1), 2),
        counts={"papers": count, "graded pairs": pairs},
        dropped=dropped,
    )


def _read_texts(
    context: SciMultPrepareContext, sources: Sequence[Path], wanted: set[str], dropped: DropReport
) -> dict[str, Paper]:
    papers, report = dict[str, Paper](), ReadReport()
    for paper in read_papers(sources, skip_bad=True, report=report):
        name = (paper.ids.get("mag") or paper.ids.get("openalex") or paper.id).removeprefix("W")
        if name in wanted:
            papers.setdefault(name, paper)
    for file in report.files:
        context.record_read(Path(file.path))
    dropped.add_all("unusable record of the texts", report.skipped)
    return papers


def _select_with_texts(graded: Study, papers: dict[str, Paper], dropped: DropReport) -> Study:
    selected: Study = {}
    for paper, judged in graded.items():
        if paper not in papers:
            dropped.add(NO_PAPER, paper)
            continue
        dropped.add_all(NO_TARGET, (f"{paper} {name}" for name in judged if name not in papers))
        if with_text := {name: judgement for name, judgement in judged.items() if name in papers}:
            selected[paper] = with_text
        else:
            dropped.add("paper without a remaining recommendation", paper)
    return selected


def read_study(path: Path, dropped: DropReport) -> Iterator[tuple[str, str, int, Place]]:
    """Yield (paper, recommended paper, the user's score from 1 to 5, its place) of `user_study_results.tsv`.

    Places sort as the recommender ranked: `ComputedRankGlobal` is filled for its ten best, which have the highest
    `Similarity`; the others follow by that. Rows with an empty score or 0 are counted. Raises InputError for a score
    that is not a number.
    """
    for where, row in DataRoot().located_records(path):
        if "StudyScore" not in row:
            raise InputError(f"{path}: no column StudyScore; it has {', '.join(map(str, row))}")
        paper, recommended = as_id(row.get("PaperId")), as_id(row.get("RecommendedPaperId"))
        score, rank, similarity = (_read_number(row.get(name), where) for name in COLUMNS)
        if score and score < math.inf:
            yield paper, recommended, int(score), (rank, -similarity if similarity < math.inf else math.inf)
        else:
            dropped.add("recommendation without a score", f"{paper} {recommended}")


def _read_number(value: object, where: str) -> float:
    """Return the number of a cell, infinity for an empty one."""
    text = str("" if value is None else value).strip()
    try:
        return float(text) if text.lower() not in ("", "null", "nan") else math.inf
    except ValueError:
        raise InputError(f"{where}: {text!r} is not a number") from None


Row = dict[str, Any]

FOLDER = "scimult/search"
DUPLICATE = "duplicate text, the first is used"


def _write_collection(
    context: SciMultPrepareContext,
    files: Sequence[str],
    paths: tuple[Path, Sequence[Path], Sequence[Path]],
    rows: tuple[Callable[[Paper], Row], Callable[[Paper, Mapping[str, float]], Row | None]],
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
        else:
            seen.add(paper.id)
            count_missing_text(paper, paper.id, dropped)
            yield paper


def _write_merged(context: SciMultPrepareContext, *, name: str, folder: str, splits: Sequence[str]) -> PreparedDataSet:
    """Write a data set of BEIR: all documents, and the queries with judgements in any of the splits."""
    folders, dropped = [f"{above}{folder}" for above in ("beir/", "")], DropReport()
    corpus, queries = (context.need(*(f"{p}/{name}.jsonl" for p in folders)) for name in ("corpus", "queries"))
    parts = [context.need(*(f"{p}/qrels/{split}.tsv" for p in folders)) for split in splits]

    def query_row(query: Paper, grades: Mapping[str, float]) -> Row | None:
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


def _build_query_row(name: str, text: str, score: Mapping[str, float]) -> Row:
    return {"query_id": name, "query": text, "score": {id: int(g) if g % 1 == 0 else g for id, g in score.items()}}


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

    def query_row(query: Paper, grades: Mapping[str, float]) -> Row | None:
        relevant = [name for name, grade in grades.items() if grade > 0]
        return build_paper_row(query, "query") | {kind: relevant} if relevant else None

    files = [f"{folder}/PMCPatients{task}_{name}_test.json" for name in (f"{kind}s", "queries")]
    rows = (partial(build_paper_row, key=kind), query_row)
    size, written, qrels = _write_collection(context, files, paths, rows, (dropped, dropped))
    if folder == SUPERVISED:
        files.append(f"{folder}/{task}_test_qrels.tsv")
        lines = [f"{q}\t{document}\t{grade}" for q, grades in qrels.items() for document, grade in grades.items()]
        write_lines(context.out / files[-1], ["query-id\tcorpus-id\tscore", *lines], errors="replace")
        context.counts[files[-1]] = len(lines)
    return PreparedDataSet(files=tuple(files), queries=len(written), targets=size, dropped=dropped)


def _need(context: SciMultPrepareContext, *files: str) -> Path:
    return context.need(*(f"{folder}/{file}" for file in files for folder in FOLDERS))


write_similar_patients = partial(_write_search, task="PPR", splits=SPLITS, folder=ZERO_SHOT)
"""The queries of all splits over all patients: a query may find itself, as published."""
write_supervised_patients = partial(_write_search, task="PPR", splits=("test",), folder=SUPERVISED)
write_supervised_articles = partial(_write_search, task="PAR", splits=("test",), folder=SUPERVISED)
"""The texts of the articles must be obtained from PubMed."""


MIN_CO_CITING = 10  # papers that must cite two papers for these to be co-cited

METADATA = "scidocs/paper_metadata_view_cite_read.json"
SCIDOCS_FILE = "scimult/link_prediction_retrieval/SciDocs_papers_test.json"


def write_scidocs_links(context: SciMultPrepareContext) -> dict[str, PreparedDataSet]:
    """Write SciDocs' papers, each with those that it cites and those that it is co-cited with.

    A citation is known from either paper (`references`, `cited_by`); the citing paper need not be in the
    file, the cited one must. The file is streamed twice.
    """
    path, dropped = context.need(METADATA), DropReport()
    names, graph = _read_citations(context, path, dropped)
    cites = {row: cited for row in range(len(names)) if (cited := graph.targets(row))}
    relations = {"cite": cites, "co-cite": find_co_cited(graph)}
    size = context.write(SCIDOCS_FILE, _build_rows(context, path, names, relations, dropped))
    return {
        f"SciDocs {kind}": PreparedDataSet(
            files=(SCIDOCS_FILE,),
            queries=len(links),
            targets=size,
            counts={"links": sum(map(len, links.values()))},
            dropped=dropped if kind == "cite" else DropReport(),  # both are one file, reported once
        )
        for kind, links in relations.items()
    }


def find_co_cited(graph: CitationGraph) -> dict[int, list[int]]:
    """Return row -> rows, ascending, that at least `MIN_CO_CITING` papers cite together with it."""
    relations: dict[int, list[int]] = {}
    for row in np.flatnonzero(graph.citing.counts >= MIN_CO_CITING).tolist():
        co_listed = np.concatenate([graph.cited[citer] for citer in graph.citing[row]])
        others, counts = np.unique(co_listed, return_counts=True)
        if co_cited := others[(counts >= MIN_CO_CITING) & (others != row)].tolist():
            relations[row] = co_cited
    return relations


def _build_rows(
    context: SciMultPrepareContext,
    path: Path,
    names: list[str],
    relations: Mapping[str, Mapping[int, list[int]]],
    dropped: DropReport,
) -> Iterator[dict[str, Any]]:
    remaining = {name: row for row, name in enumerate(names)}
    for key, record in context.data_root.members(path):
        row = remaining.pop(as_id(key), None)
        if row is None:  # a duplicate
            continue
        paper = parse_paper(record, names[row])
        count_missing_text(paper, paper.id, dropped)
        linked = {kind: [names[other] for other in links.get(row, ())] for kind, links in relations.items()}
        yield build_paper_row(paper) | linked


def _read_citations(context: SciMultPrepareContext, path: Path, dropped: DropReport) -> tuple[list[str], CitationGraph]:
    """Return the papers' ids, and the citations of and by them; citing papers that are not in the file come after them.

    Ids are held as hashes of 8 bytes: there are millions of citing papers.
    """
    names: dict[str, None] = {}
    pool, citing, cited = array("Q"), array("Q"), array("Q")
    for key, record in context.data_root.members(path):
        name = as_id(key)
        if not isinstance(record, Mapping):
            raise InputError(f"{path}, {name}: expected an object, got {record!r:.60}")
        if name in names:
            dropped.add("duplicate paper, the first is used", name)
            continue
        names[name] = None
        pool.append(hash_text(name))
        references, citers = (
            list(map(hash_text, parse_ids(record, key, f"{path}, {name}"))) for key in ("references", "cited_by")
        )
        citing.extend([pool[-1]] * len(references) + citers)
        cited.extend(references + [pool[-1]] * len(citers))
    hashes, citing_hashes, cited_hashes = (np.array(ids, np.uint64) for ids in (pool, citing, cited))
    sources, targets = _find_rows(hashes, citing_hashes), _find_rows(hashes, cited_hashes)
    outside = sources < 0
    others, sources[outside] = np.unique(citing_hashes[outside], return_inverse=True)
    sources[outside] += len(pool)
    stays = (targets >= 0) & (sources != targets)  # no self-citation, and the cited paper is in the file
    codes = np.unique(sources[stays] * len(pool) + targets[stays])
    citing_rows, cited_rows = (rows.astype(np.int32) for rows in np.divmod(codes, max(len(pool), 1)))
    return list(names), CitationGraph(len(pool) + len(others), citing_rows, cited_rows)


def _find_rows(pool: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the row of each hash in the pool, -1 where it is not in it."""
    order = np.argsort(pool)
    rows = order[np.searchsorted(pool, hashes, sorter=order).clip(max=len(pool) - 1)]
    return np.where(pool[rows] == hashes, rows, -1)
