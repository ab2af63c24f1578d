"""PMC-Patients as it is on the hub now: similar patients, and articles for a patient.

SciMult's rows (suite `scimult`) are of an older release; of articles they cannot be compared with these. The
texts of the articles are no longer on the hub: `PAR/corpus.jsonl` has to be made from PubMed. The distance is the
encoder's: the benchmark scores files of rankings, and its authors' own retrievers state dot products.
"""

from __future__ import annotations

from sciprism.datasets.layouts.beir import BeirFiles
from sciprism.evaluation.protocols.retrieve import RetrieveProtocol
from sciprism.evaluation.suites.registry import register_suite
from sciprism.evaluation.task import Task

PAPER = "PMC-Patients (Zhao et al., Scientific Data 2023)"
REPO = "zhengyun21/PMC-Patients-ReCDS"


def task(name: str, part: str, remark: str) -> Task:
    """Return one of the two searches; training patients are in the corpus, so none may find itself."""
    return Task(
        name=name,
        format="proximity",
        protocol=RetrieveProtocol(metrics=("mrr@10000", "p@10", "ndcg@10", "recall@1000"), distance="encoder"),
        data=BeirFiles(
            repo=REPO,
            qrels=(f"{part}/qrels_test.tsv", f"{part}/{part}_test_qrels.tsv"),
            corpus=(f"{part}/corpus.jsonl", f"{part}/{part}_corpus.jsonl"),
            queries=("queries/test_queries.jsonl",),
            query="paper",
            without_itself=True,
        ),
        group="patients",
        numbers="each",
        reference=PAPER,
        remark=remark,
    )


register_suite(
    "pmc-patients",
    tasks=(
        task(
            "pmc-patients-ppr", "PPR", "as many patients as in SciMult's release (155,151), so numbers compare roughly"
        ),
        task("pmc-patients-par", "PAR", "11.7 million articles, in SciMult's release 1,413,087: not comparable"),
    ),
    reference=PAPER,
)
