"""SciMult: the rows of its Tables 3 to 8 and A3, in five groups.

Distances as in Appendix B: SciMult's own models by dot products, which they state, all others by cosine,
those too that were trained for the Euclidean distance (SPECTER, SciNCL, SPECTER 2.0). The rankings of SciDocs
are Euclidean for all. Formats as there: SPECTER 2.0 gives fine labels and their papers the vectors of its proximity
adapter, coarse classes those of the classification adapter; SciMult's experts are those of classification in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from sciprism.datasets.layouts.scimult import (
    GradedPapers,
    LinkedPapers,
    MapleLabels,
    PatientLinks,
    PatientSearch,
    SearchCorpus,
    SearchFiles,
    SearchPools,
)
from sciprism.evaluation.protocols.label import LabelProtocol
from sciprism.evaluation.protocols.nearest_label import NearestLabelProtocol
from sciprism.evaluation.protocols.rerank import RerankProtocol
from sciprism.evaluation.protocols.retrieve import RetrieveProtocol
from sciprism.evaluation.suites.registry import register_suite
from sciprism.evaluation.suites.scidocs import RELATIONS, coarse, related
from sciprism.evaluation.suites.scimult_published import published_rows
from sciprism.evaluation.systems import Distance
from sciprism.evaluation.task import Average, DataLayout, Task
from sciprism.formats import Format

PAPER = "SciMult (Zhang et al., Findings of EMNLP 2023)"
FINE, COARSE = "scimult/classification_fine", "scimult/classification_coarse"
RECALLS = ("recall@20", "recall@50", "recall@100")
DISTANCE: Distance = "cosine or dot"
FINE_FORMATS: Mapping[str, Format] = {"adapters": "proximity"}
"""Method -> format, where that is not the task's: SPECTER 2.0's on fine labels."""
ADAPTER = "of SPECTER 2.0 the vectors of the proximity adapter, as in the paper"
MERGED = "train, dev and test of SciDocs together ({} papers)"
WITHIN = "a query is among its own candidates, and mostly first"
OWN_PARTS = {
    "scifact": "1,109 queries of train and test; BEIR's 300 are other numbers",
    "nfcorpus": "3,237 queries of all parts; BEIR's 323 are other numbers",
}
VOCABULARIES = {
    "cs-conference": "CSConference",
    "chemistry-mesh": "ChemistryMeSH",
    "geography": "Geography",
    "psychology": "Psychology",
}
SEARCHES = {
    "search": "Search",
    "trec-covid-scirepeval": "TRECCOVID_SciRepEval",
    "trec-covid-beir": "TRECCOVID_BEIR",
    "scifact": "SciFact",
    "nfcorpus": "NFCorpus",
}


def fine(name: str, *, names_first: bool = True) -> Task:
    """Return a fine classification: all labels of a vocabulary ranked for each paper."""
    return Task(
        name=f"fine-{name}" if names_first else f"fine-{name}-without-names",
        format="classification",
        protocol=LabelProtocol(metrics=RECALLS, names_first=names_first, distance="encoder"),
        data=MapleLabels(name=VOCABULARIES[name], folder=FINE, matched=names_first),
        group="fine" if names_first else "fine without names",
        numbers="each",
        reference=f"{PAPER}, Table {'3' if names_first else 'A3'}",
        distance=DISTANCE,
        method_formats=FINE_FORMATS,
        remark=ADAPTER,
    )


def nearest(name: str, classes: str, papers: str) -> Task:
    """Return a coarse classification by the nearest class name; the papers of all parts are merged."""
    return Task(
        name=name,
        format="classification",
        protocol=NearestLabelProtocol(metrics=("f1_macro",), distance="encoder"),
        data=MapleLabels(name=classes, folder=COARSE, numbered=True),
        group="coarse",
        numbers="each",
        reference=f"{PAPER}, Table 4",
        distance=DISTANCE,
        remark=MERGED.format(papers),
    )


def linear(name: str, classes: str) -> Task:
    """Return a coarse classification by a linear SVM, SciDocs' protocol."""
    return replace(coarse(name, classes), group="coarse", reference=f"{PAPER}, Table 4")


def links(name: str, data: DataLayout, remark: str = WITHIN) -> Task:
    """Return a link prediction over all papers; a query may find itself."""
    return Task(
        name=name,
        format="proximity",
        protocol=RetrieveProtocol(metrics=RECALLS, distance="encoder"),
        data=data,
        group="retrieval",
        numbers="each",
        reference=f"{PAPER}, Table 5",
        distance=DISTANCE,
        remark=remark,
    )


def reranking(name: str, relation: str) -> Task:
    """Return one of SciDocs' rankings, always by Euclidean distance."""
    return replace(related(f"rerank-{name}", relation), reference=f"{PAPER}, Table 7")


def search(name: str) -> Task:
    """Return a search: among the scored papers of each query, or among all."""
    files = SearchFiles(name=SEARCHES[name])
    pools = name in ("search", "trec-covid-scirepeval")
    metrics = ("ndcg@10",)
    return Task(
        name=f"search-{name}" if name != "search" else "search-scirepeval",
        format="search",
        protocol=RerankProtocol(metrics=metrics, distance="encoder")
        if pools
        else RetrieveProtocol(metrics=metrics, distance="encoder"),
        data=SearchPools(files=files) if pools else SearchCorpus(files=files),
        group="search",
        numbers="each",
        reference=f"{PAPER}, Table 8",
        distance=DISTANCE,
        remark=OWN_PARTS.get(name, ""),
    )


def patients(name: str, task: Literal["PAR", "PPR"], remark: str) -> Task:
    """Return a search of PMC-Patients; the published models were trained for it."""
    return Task(
        name=name,
        format="proximity",
        protocol=RetrieveProtocol(metrics=("mrr@10000", "p@10", "ndcg@10", "recall@1000"), distance="encoder"),
        data=PatientSearch(task=task),
        group="patients",
        numbers="each",
        reference=f"{PAPER}, Table 6",
        distance=DISTANCE,
        remark=remark,
    )


BY_GROUP = {
    "fine": tuple(fine(name) for name in VOCABULARIES),
    "fine without names": tuple(fine(name, names_first=False) for name in VOCABULARIES),
    "coarse": (
        linear("mag-linear", "mag"),
        nearest("mag-nearest", "MAG", "25,001"),
        linear("mesh-linear", "mesh"),
        nearest("mesh-nearest", "MeSH", "23,473"),
    ),
    "retrieval": (
        links("link-cite", LinkedPapers(relation="cite")),
        links("link-co-cite", LinkedPapers(relation="co-cite")),
        links("link-patients", PatientLinks(), "queries of train are among the candidates, and mostly first"),
    ),
    "reranking": (
        *(reranking(name, relation) for name, relation in RELATIONS.items()),
        Task(
            name="recommendation",
            format="proximity",
            protocol=RerankProtocol(metrics=("ndcg@5", "ndcg@10", "ndcg"), distance="encoder"),
            data=GradedPapers(),
            group="reranking",
            numbers="each",
            reference=f"{PAPER}, Table 7",
            distance=DISTANCE,
        ),
    ),
    "search": tuple(search(name) for name in SEARCHES),
    "patients": (
        patients("patients-par", "PAR", "the old release: 1,413,087 articles, now 11.7 million"),
        patients("patients-ppr", "PPR", "the old release: 155,151 patients, 2,812 queries"),
    ),
}
AVERAGED = ("fine", "fine without names", "coarse", "retrieval", "reranking", "search")

register_suite(
    "scimult",
    tasks=tuple(task for tasks in BY_GROUP.values() for task in tasks),
    averages=tuple(
        Average(name=f"Average, {group}", tasks=tuple(task.name for task in BY_GROUP[group])) for group in AVERAGED
    ),
    views={group.replace(" ", "-"): tuple(task.name for task in tasks) for group, tasks in BY_GROUP.items()},
    published=published_rows(PAPER, BY_GROUP, AVERAGED),
    reference=PAPER,
)
