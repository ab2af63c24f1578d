"""BEIR: the twelve public sets that INDUS was scored on, and the scientific ones among them.

Distances as in its toolkit: cosine, or dot products for an encoder that states them.
"""

from __future__ import annotations

from sciprism.datasets.layouts.beir import BeirSet
from sciprism.evaluation.protocols.retrieve import RetrieveProtocol
from sciprism.evaluation.suites.published import parse_published
from sciprism.evaluation.suites.registry import register_suite
from sciprism.evaluation.task import Average, Task

PAPER = "BEIR (Thakur et al., NeurIPS 2021)"
NAMES = (
    "trec-covid",
    "nfcorpus",
    "nq",
    "hotpotqa",
    "fiqa",
    "arguana",
    "webis-touche2020",
    "dbpedia-entity",
    "scidocs",
    "fever",
    "climate-fever",
    "scifact",
)
SCIENCE = ("trec-covid", "nfcorpus", "scidocs", "scifact")
BM25 = "BM25 (multi-field): 65.6 32.5 32.9 60.3 23.6 31.5 36.7 31.3 15.8 75.3 21.3 66.5"
BM25_SCIENCE = "BM25 (multi-field): 65.6 32.5 15.8 66.5"
INDUS = """
RoBERTa-base, same recipe: 47 30 54 34 38 52 18 25 22 46 14 67 37
BGE-base: 78 37 54 73 41 64 26 41 22 86 31 74 52
INDUS-retriever-base: 56 32 54 49 36 54 17 31 21 56 14 74 41
MiniLM-v2: 47 32 44 47 35 50 17 32 22 52 25 65 39
BGE-small: 76 34 50 70 40 60 26 40 21 87 32 71 51
INDUS-retriever-small: 55 31 53 48 29 50 21 33 23 61 23 71 42
"""


REMARKS = {
    "nq": (
        "3,452 test questions, where INDUS's paper counts 4,202; INDUS's retrievers trained on NQ (100,231 pairs), so "
        "they are not tested zero-shot"
    ),
    "hotpotqa": "INDUS's small retriever trained on HotpotQA (85,000 pairs), so it is not tested zero-shot",
    "fever": "INDUS's small retriever trained on FEVER (109,810 pairs), so it is not tested zero-shot",
    "climate-fever": "the corpus is that of FEVER, which INDUS's small retriever trained on",
    "scidocs": "citations searched by titles (25,000 papers), which is not the SciDocs of SPECTER",
}


def task(name: str) -> Task:
    """Return one set of BEIR by nDCG@10 on its test queries."""
    return Task(
        name=f"beir-{name}",
        format="search",
        protocol=RetrieveProtocol(metrics=("ndcg@10",), distance="encoder"),
        data=BeirSet(name=name),
        group="search",
        reference=PAPER,
        distance="cosine or dot",
        remark=REMARKS.get(name, ""),
    )


def task_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the tasks of some sets."""
    return tuple(f"beir-{name}" for name in names)


register_suite(
    "beir",
    tasks=tuple(task(name) for name in NAMES),
    averages=(
        Average(name="Average", tasks=task_names(NAMES)),
        Average(name="science", tasks=task_names(SCIENCE)),
    ),
    views={"science": task_names(SCIENCE)},
    published=(
        *parse_published(PAPER, task_names(NAMES), BM25),
        *parse_published("INDUS (Bhattacharjee et al., EMNLP 2024)", (*task_names(NAMES), "Average"), INDUS),
    ),
    reference=f"{PAPER}; the selection of INDUS",
    remark="INDUS's retrievers trained on NQ, the small one on FEVER and HotpotQA too: the average is not zero-shot",
)
register_suite(
    "beir-science",
    tasks=tuple(task(name) for name in SCIENCE),
    averages=(Average(name="Average", tasks=task_names(SCIENCE)),),
    published=parse_published(PAPER, task_names(SCIENCE), BM25_SCIENCE),
    reference=PAPER,
)
