"""NASA-IR: questions to paragraphs of space and Earth science, one relevant paragraph for each; by cosine."""

from __future__ import annotations

from sciprism.datasets.layouts.beir import BeirFiles
from sciprism.evaluation.protocols.retrieve import RetrieveProtocol
from sciprism.evaluation.suites.published import parse_published
from sciprism.evaluation.suites.registry import register_suite
from sciprism.evaluation.task import Task

PAPER = "INDUS (Bhattacharjee et al., EMNLP 2024)"
TABLE = """
RoBERTa: 66
BGE-base: 67
INDUS-base: 71
MiniLM-v2: 62
BGE-small: 66
INDUS-small: 73
"""

# Ids of questions and paragraphs are small numbers that coincide by accident: nothing is excluded.
register_suite(
    "nasa-ir",
    tasks=(
        Task(
            name="nasa-ir",
            format="search",
            protocol=RetrieveProtocol(metrics=("recall@10", "ndcg@10", "mrr"), distance="encoder"),
            data=BeirFiles(repo="nasa-impact/nasa-smd-IR-benchmark", without_itself=False),
            group="search",
            numbers="each",
            reference=PAPER,
            distance="cosine",
            remark=(
                "398 test and 100 dev questions on 166 paragraphs, hidden among abstracts of ADS, about 268,000 "
                "documents in all (the paper's first version says 26,839 abstracts, and 398 to train). Questions on "
                "one paragraph are in dev and in test, so a choice on dev knows documents of the test. INDUS's "
                "retrievers trained on ADS's titles with abstracts"
            ),
        ),
    ),
    published=parse_published(PAPER, ("nasa-ir recall@10",), TABLE),
    reference=PAPER,
)
