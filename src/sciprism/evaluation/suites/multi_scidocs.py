"""Multi-SciDocs: citations and co-citations across fields, and SciDocs' fields of study; 5 numbers."""

from __future__ import annotations

from dataclasses import replace

from sciprism.datasets.layouts.scidocs import SciDocsClasses, SciDocsPools
from sciprism.evaluation.protocols.rerank import RerankProtocol
from sciprism.evaluation.suites.published import parse_published
from sciprism.evaluation.suites.registry import register_suite
from sciprism.evaluation.suites.scidocs import coarse
from sciprism.evaluation.task import Average, Task

PAPER = "Multi2SPE (Seoh et al., 2023)"
FOLDER = "multi-scidocs"
OBTAIN = "the authors' files are not released; `sciprism prepare multi-scidocs` makes them of S2ORC or others"


def related(name: str, relation: str) -> Task:
    """Return a ranking by cosine, as in the published commands; SciDocs uses the Euclidean distance."""
    return Task(
        name=name,
        format="proximity",
        protocol=RerankProtocol(metrics=("map", "ndcg"), distance="cosine", decimals=5),
        data=SciDocsPools(relation=relation, folder=FOLDER, metadata="data_final.json", obtain=OBTAIN),
        group="reranking",
        numbers="each",
        reference=PAPER,
    )


TASKS = (
    replace(
        coarse("multi-mag", "mag"),
        data=SciDocsClasses(classes="mag", folder=FOLDER, obtain=OBTAIN),
        reference=PAPER,
    ),
    related("multi-cite", "cite"),
    related("multi-co-cite", "cocite"),
)
COLUMNS = (
    "multi-mag",
    "multi-cite map",
    "multi-cite ndcg",
    "multi-co-cite map",
    "multi-co-cite ndcg",
    "Average",
)
TABLE = """
SPECTER (CS): 78.90 78.14/88.06 65.97/73.46 76.90
Multi2SPE (CS): 80.24±0.18 81.57±0.13/90.12±0.07 69.12±0.08/75.97±0.07 79.40±0.04
SciNCL (CS): 79.59 82.45/90.56 69.94/76.62 79.83
Multi2SPE on SciNCL's data (CS): 80.73 83.25±0.21/91.05±0.12 71.10±0.32/77.51±0.24 80.73±0.19
SPECTER (multi-domain): 79.99 79.30/88.73 68.59/75.60 -
Multi2SPE (multi-domain): 81.36±0.29 84.08±0.10/91.54±0.06 71.79±0.22/78.15±0.17 -
SciNCL (multi-domain): 80.27 85.18/92.15 73.02/79.08 -
Multi2SPE on SciNCL's data (multi-domain): 81.04±0.05 ?/92.46±0.17 74.05±0.25/79.85±0.19 -
"""

register_suite(
    "multi-scidocs",
    tasks=TASKS,
    averages=(Average(name="Average", tasks=tuple(task.name for task in TASKS)),),
    published=parse_published(f"{PAPER}, mean of 4 seeds", COLUMNS, TABLE),
    reference=PAPER,
    remark="the authors' files are not released; it is made again of any corpus, so numbers compare on one corpus only",
)
