"""SciDocs: two classifications, four rankings of papers, and clicks on recommendations; 12 numbers."""

from __future__ import annotations

from sciprism.datasets.layouts.scidocs import SciDocsClasses, SciDocsClicks, SciDocsPools
from sciprism.evaluation.protocols.probe import ProbeProtocol
from sciprism.evaluation.protocols.recommend import RecommendProtocol
from sciprism.evaluation.protocols.rerank import RerankProtocol
from sciprism.evaluation.suites.published import parse_published
from sciprism.evaluation.suites.registry import register_suite
from sciprism.evaluation.task import Average, Task

PAPER = "SciDocs (Cohan et al., ACL 2020)"
RELATIONS = {"co-view": "coview", "co-read": "coread", "cite": "cite", "co-cite": "cocite"}


def coarse(name: str, classes: str) -> Task:
    """Return a classification: an SVM without intercept, seven values of C."""
    return Task(
        name=name,
        format="classification",
        protocol=ProbeProtocol(metric="f1_macro", grid=(1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)),
        data=SciDocsClasses(classes=classes),
        group="classification",
        numbers="each",
        reference=PAPER,
    )


def related(name: str, relation: str) -> Task:
    """Return a ranking of about 30 candidates by distance, rounded to 5 decimals as in its run files."""
    return Task(
        name=name,
        format="proximity",
        protocol=RerankProtocol(metrics=("map", "ndcg"), distance="euclidean", decimals=5),
        data=SciDocsPools(relation=relation),
        group="reranking",
        numbers="each",
        reference=PAPER,
    )


TASKS = (
    coarse("mag", "mag"),
    coarse("mesh-diseases", "mesh"),
    *(related(name, relation) for name, relation in RELATIONS.items()),
    Task(
        name="recommend",
        format="proximity",
        protocol=RecommendProtocol(),
        data=SciDocsClicks(),
        group="recommendation",
        numbers="each",
        reference=PAPER,
    ),
)
NAMES = tuple(task.name for task in TASKS)
COLUMNS = (
    "mag",
    "mesh-diseases",
    *(f"{name} {metric}" for name in RELATIONS for metric in ("map", "ndcg")),
    *(f"recommend {metric}" for metric in RecommendProtocol().metrics),
    "Average",
)
SPECTER = """
SPECTER (the paper's embeddings): 81.95 86.44 83.63 91.5 84.46 92.39 88.3 94.88 88.11 94.77 53.9 20.0 80.0
SPECTER (the hub's model): 79.4 87.7 83.4 91.4 85.1 92.7 92.0 96.6 88.0 94.7 54.6 20.9 80.5
SciNCL (10 seeds): 81.4 88.7 85.3 92.3 87.5 93.9 93.6 97.3 91.6 96.4 53.9 19.3 81.8
SciNCL (released): 81.2 89.0 85.3 92.2 87.7 94.0 93.6 97.4 91.7 96.5 54.3 19.6 81.9
SciNCL (without leakage): 81.3 89.4 84.3 91.8 85.6 92.8 91.4 96.3 90.1 95.7 54.3 19.9 81.08
SciBERT: 79.7 80.7 50.7 73.1 47.7 71.1 48.3 71.7 49.7 72.6 52.1 17.9 59.6
fastText-sum: ? ? ? ? ? ? ? ? ? ? ? ? 74.1
SGC: ? ? ? ? ? ? ? ? ? ? ? ? 76.9
Doc2Vec: ? ? ? ? ? ? ? ? ? ? ? ? 66.6
"""
MULTI2SPE = """
SPECTER (CS, mean of 4 seeds): 78.90 86.41 83.56/91.49 84.83/92.57 92.40/96.82 88.91/95.14 54.22/21.03 80.52
Multi2SPE (CS): 80.24 86.94 83.91/91.62 85.61/92.96 94.09/97.54 89.40/95.38 54.49/20.62 81.06
SciNCL (CS, their run): 79.59 88.63 85.05/92.18 87.13/93.72 93.45/97.27 91.68/96.46 55.03/21.09 81.77
Multi2SPE on SciNCL's data (CS): 80.73 88.51 85.02/92.18 87.36/93.84 92.73/96.90 91.46/96.33 54.69/20.32 81.67
SPECTER (medicine): ? ? ? ? ? ? ? ? ? ? ? ? 78.24
Multi2SPE (medicine): ? ? ? ? ? ? ? ? ? ? ? ? 79.71
SPECTER (multi-domain): ? ? ? ? ? ? ? ? ? ? ? ? 78.37
Multi2SPE (multi-domain): ? ? ? ? ? ? ? ? ? ? ? ? 79.97
SciNCL (multi-domain): ? ? ? ? ? ? ? ? ? ? ? ? 80.74
Multi2SPE on SciNCL's data (multi-domain): ? ? ? ? ? ? ? ? ? ? ? ? 80.9
"""

register_suite(
    "scidocs",
    tasks=TASKS,
    averages=(
        Average(name="Average", tasks=NAMES),
        Average(name="without recommendation", tasks=NAMES[:-1]),
    ),
    views={"without-recommend": NAMES[:-1]},
    published=(
        *parse_published("SPECTER and SciNCL papers", COLUMNS, SPECTER),
        *parse_published("Multi2SPE (Seoh et al., 2023), Table 4", COLUMNS, MULTI2SPE),
    ),
    reference=PAPER,
    remark="the citations that SPECTER was trained on overlap with its test; SciNCL also reports a model without",
)
