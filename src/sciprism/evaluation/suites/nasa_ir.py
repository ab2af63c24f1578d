"""NASA-IR: questions to paragraphs of space and Earth science, one relevant paragraph for each."""

from __future__ import annotations

from sciprism.datasets.layouts.beir import BeirFiles
from sciprism.evaluation.protocols.retrieve import Retrieve
from sciprism.evaluation.suites.printed import printed
from sciprism.evaluation.suites.registry import suites
from sciprism.evaluation.task import Suite, Task

PAPER = "INDUS (Bhattacharjee et al., EMNLP 2024)"
REPO = "nasa-impact/nasa-smd-IR-benchmark"
TABLE = """
RoBERTa: 66
BGE-base: 67
INDUS-base: 71
MiniLM-v2: 62
BGE-small: 66
INDUS-small: 73
"""

# Ids of questions and paragraphs are small numbers that coincide by accident: nothing is taken out.
suites.register("nasa-ir")(
    Suite(
        name="nasa-ir",
        tasks=(
            Task(
                name="nasa-ir",
                format="search",
                protocol=Retrieve(metrics=("recall@10", "ndcg@10", "mrr"), distance="encoder"),
                data=BeirFiles(repo=REPO, without_itself=False),
                group="search",
                numbers="each",
                reference=PAPER,
            ),
        ),
        published=printed(PAPER, ("nasa-ir recall@10",), TABLE),
        reference=PAPER,
    )
)
