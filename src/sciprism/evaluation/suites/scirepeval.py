"""SciRepEval: the released benchmark, and the tasks of the paper with its Feeds.

Citation prediction, which the lists count as a task, is for training and has no test.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sciprism.datasets.layouts.s2and import S2andFolders
from sciprism.datasets.layouts.scirepeval import HubTexts, PaperLabels, RankedPapers, ReviewerPapers
from sciprism.evaluation.protocols.cluster_sources import ClusterSourcesProtocol
from sciprism.evaluation.protocols.match import MatchProtocol
from sciprism.evaluation.protocols.probe import FewShot, ProbeProtocol
from sciprism.evaluation.protocols.rerank import RerankProtocol
from sciprism.evaluation.suites.published import parse_published
from sciprism.evaluation.suites.registry import register_suite
from sciprism.evaluation.task import Average, Task

PAPER = "SciRepEval (Singh et al., EMNLP 2023)"
NUMBERS = ProbeProtocol(
    metric="kendall_tau", loss="epsilon_insensitive", grid=(1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
)
MACRO = ProbeProtocol(metric="f1_macro")

table_1 = partial(Task, in_train=False, reference=f"{PAPER}, Table 1")


def classes(name: str, config: str, probe: ProbeProtocol, *, labels: str = "", positive: str = "") -> Task:
    """Return a task of one class per paper."""
    data = PaperLabels(hub=HubTexts(texts=config, labels=labels or config), kind="class", positive=positive)
    return table_1(name=name, format="classification", protocol=probe, data=data, group="classification")


def numbers(name: str, config: str, labels: str = "", *, in_train: bool = False) -> Task:
    """Return a task of one number per paper."""
    data = PaperLabels(hub=HubTexts(texts=config, labels=labels or config), kind="number")
    return table_1(name=name, format="regression", protocol=NUMBERS, data=data, group="regression", in_train=in_train)


def ranked(name: str, config: str, metric: str, *, search: bool = False, in_train: bool = False) -> Task:
    """Return a task of queries with graded candidates."""
    return table_1(
        name=name,
        format="search" if search else "proximity",
        protocol=RerankProtocol(metrics=(metric,)),
        data=RankedPapers(hub=HubTexts(texts=config, labels=config), query="query" if search else "paper"),
        group="search" if search else "proximity",
        in_train=in_train,
    )


def scidocs(name: str, labels: str) -> Task:
    """Return a ranking task of SciDocs, which gives two numbers."""
    return Task(
        name=name,
        format="proximity",
        protocol=RerankProtocol(metrics=("map", "ndcg")),
        data=RankedPapers(hub=HubTexts(texts="scidocs_view_cite_read", labels=labels), simple=True),
        group="scidocs",
        in_train=False,
        numbers="each",
        reference=f"{PAPER}, Table 2, column SciDocs",
    )


IN_TRAIN = (
    replace(classes("mesh", "mesh_descriptors", MACRO), in_train=True),
    table_1(
        name="fos",
        format="classification",
        protocol=ProbeProtocol(
            metric="f1_macro",
            loss="hinge",
            few_shot=(
                FewShot(size=10, iterations=50, per_label=True),
                FewShot(size=5, iterations=100, per_label=True),
            ),
        ),
        data=PaperLabels(hub=HubTexts(texts="fos", labels="fos"), kind="classes"),
        group="classification",
        in_train=True,
    ),
    numbers("citation-count", "cite_count", in_train=True),
    numbers("publication-year", "pub_year", in_train=True),
    ranked("same-author", "same_author", "map", in_train=True),
    ranked("influential-citations", "high_influence_cite", "map", in_train=True),
    replace(
        ranked("search", "search", "ndcg", search=True, in_train=True),
        fields=("title", "abstract", "venue", "year"),
    ),
)
OUT_OF_TRAIN = (
    classes(
        "biomimicry",
        "biomimicry",
        ProbeProtocol(metric="f1_binary", few_shot=(FewShot(size=64, iterations=50), FewShot(size=16, iterations=100))),
        positive="1",
    ),
    classes(
        "drsm",
        "drsm",
        ProbeProtocol(metric="f1_macro", few_shot=(FewShot(size=64, iterations=50), FewShot(size=24, iterations=100))),
    ),
    numbers("peer-review", "peer_review_score_hIndex", "peer_review_score"),
    numbers("max-h-index", "peer_review_score_hIndex", "hIndex"),
    numbers("tweets", "tweet_mentions"),
    table_1(
        name="reviewers",
        format="proximity",
        protocol=MatchProtocol(),
        data=ReviewerPapers(hub=HubTexts(texts="paper_reviewer_matching", labels="paper_reviewer_matching")),
        group="matching",
    ),
    # The paper's number is the mean of all cells that S2AND's script prints; most of them are the grid
    # of models of one source on each source. The union's are in the details of the result.
    Task(
        name="s2and",
        format="proximity",
        protocol=ClusterSourcesProtocol(metrics=("grid",)),
        data=S2andFolders(),
        group="disambiguation",
        in_train=False,
        reference=f"{PAPER}, Table 1; S2AND (Subramanian et al., JCDL 2021)",
    ),
    ranked("trec-covid", "trec_covid", "ndcg", search=True),
)
RELEASED = (
    replace(ranked("relish", "relish", "ndcg"), reference="SciRepEval's released list of October 2023"),
    replace(
        ranked("nfcorpus", "nfcorpus", "ndcg", search=True),
        reference="SciRepEval's released list of October 2023",
    ),
)
FEEDS = (
    ranked("feeds-1", "feeds_1", "map"),
    ranked("feeds-m", "feeds_m", "map"),
    ranked("feeds-title", "feeds_title", "map", search=True),
)
SCIDOCS = (
    *(
        replace(
            classes(f"scidocs-{name}", "scidocs_mag_mesh", MACRO, labels=f"scidocs_{name}"),
            group="scidocs",
            reference=f"{PAPER}, Table 2, column SciDocs",
        )
        for name in ("mag", "mesh")
    ),
    scidocs("scidocs-cite", "scidocs_cite"),
    scidocs("scidocs-co-view", "scidocs_view"),
    scidocs("scidocs-co-cite", "scidocs_cocite"),
    scidocs("scidocs-co-read", "scidocs_read"),
)


def task_names(tasks: tuple[Task, ...]) -> tuple[str, ...]:
    """Return the names of tasks."""
    return tuple(task.name for task in tasks)


AVERAGED = ("In-Train", "Out-of-Train", "SciDocs", "Average")
TABLES = """
SciBERT: 51.2/52.6/69.0/58.1
SPECTER: 54.3/57.4/89.1/67.9
SciNCL: 55.3/57.8/90.8/69.0
SciNCL + MTL CLS: 59.8/56.7/89.6/69.2
SciNCL + MTL CTRL: 61.6/57.7/89.9/70.2
SciNCL + Adapters: 61.4/58.8/90.3/70.7
SciNCL + PALs: 61.9/58.3/90.0/70.5
SciNCL + Adapter Fusion: 61.5/58.5/89.9/70.5
SciNCL + Adapters + MTL CTRL: 62.2/58.8/90.7/71.0
"""
OTHER_BASES = """
SciBERT + MTL CLS: 59.0/57.2/88.9/69.0
SciBERT + MTL CTRL: 61.9/57.9/89.5/70.2
SciBERT + Adapters: 62.1/57.9/90.1/70.4
SciBERT + Adapters + MTL CTRL: 62.6/58.5/90.4/70.9
SPECTER + MTL CLS: 59.6/56.6/89.0/68.9
SPECTER + MTL CTRL: 61.4/57.9/89.4/70.0
SPECTER + Adapters: 61.1/58.6/89.6/70.3
SPECTER + Adapters + MTL CTRL: 61.8/58.9/89.9/70.7
"""
CODE_PAGE = """
SciBERT: 51.5/52.5/69.0/58.2
SPECTER: 54.7/57.4/89.1/68.0
SciNCL: 55.6/57.8/90.8/69.0
SciNCL + MTL CLS: 60.1/56.6/89.6/69.3
SciNCL + MTL CTRL: 62.1/57.7/89.9/70.3
SciNCL + PALs: 62.3/58.4/90.0/70.7
SciNCL + Adapters: 61.9/59.0/90.3/70.9
SciNCL + Adapter Fusion: 62.0/58.6/89.9/70.6
SciNCL + Adapters + MTL CTRL: 62.5/58.9/90.7/71.2
"""
ASPIRE = """
SciNCL + MTL CTRL: 66.9/66.9/91.1/80.7
SciNCL + Adapters: 67.0/67.5/91.5/81.1
TS ASPIRE CS: 65.0/65.2/91.3/79.9
TS ASPIRE Bio: ?
OT ASPIRE CS: ?
OT ASPIRE Bio: ?
"""
SPECTER2 = """
SPECTER: 54.7/72.0/67.5
SciNCL: 55.6/73.4/68.8
SciRepEval-Adapters: 61.9/73.8/70.7
SPECTER2 base: 56.3/73.6/69.1
SPECTER2 adapters: 62.3/74.1/71.1
"""
NEAR_IN = ("same-author", "influential-citations")
NEAR_FURTHER = ("reviewers", "s2and", "feeds-1", "feeds-m")
NEAR_SCIDOCS = task_names(SCIDOCS[2:])
LATER = task_names((*OUT_OF_TRAIN, *RELEASED, *SCIDOCS))
PROXIMITY = tuple(f"{name} (proximity)" for name in AVERAGED)

# SPECTER2's page has its own division: SciDocs belongs to the out-of-train numbers, 20 of 27 in all.
register_suite(
    "scirepeval",
    tasks=(*IN_TRAIN, *OUT_OF_TRAIN, *RELEASED, *SCIDOCS),
    averages=(
        Average(name="In-Train", tasks=task_names(IN_TRAIN)),
        Average(name="Out-of-Train", tasks=LATER),
        Average(name="Average", tasks=(*task_names(IN_TRAIN), *LATER)),
    ),
    views={
        "proximity-only": (*NEAR_IN, "reviewers", "s2and", "relish", *NEAR_SCIDOCS),
        "in-train": task_names(IN_TRAIN),
        "scidocs": task_names(SCIDOCS),
    },
    published=parse_published("SPECTER2's page", ("In-Train", "Out-of-Train", "Average"), SPECTER2),
    reference=f"{PAPER}; released task list of October 2023",
)

# The average is the plain mean of 7 + 11 + 10 numbers, not of the three columns.
register_suite(
    "scirepeval-paper",
    tasks=(*IN_TRAIN, *OUT_OF_TRAIN, *FEEDS, *SCIDOCS),
    averages=(
        Average(name="In-Train", tasks=task_names(IN_TRAIN)),
        Average(name="Out-of-Train", tasks=task_names((*OUT_OF_TRAIN, *FEEDS))),
        Average(name="SciDocs", tasks=task_names(SCIDOCS)),
        Average(name="Average", tasks=task_names((*IN_TRAIN, *OUT_OF_TRAIN, *FEEDS, *SCIDOCS))),
        Average(name=PROXIMITY[0], tasks=NEAR_IN),
        Average(name=PROXIMITY[1], tasks=NEAR_FURTHER),
        Average(name=PROXIMITY[2], tasks=NEAR_SCIDOCS),
        Average(name=PROXIMITY[3], tasks=(*NEAR_IN, *NEAR_FURTHER, *NEAR_SCIDOCS)),
    ),
    views={"proximity-only": (*NEAR_IN, *NEAR_FURTHER, *NEAR_SCIDOCS), "feeds": task_names(FEEDS)},
    published=(
        *parse_published(f"{PAPER}, Table 2", AVERAGED, TABLES),
        *parse_published(f"{PAPER}, Table 3", AVERAGED, OTHER_BASES),
        *parse_published("SciRepEval's code page", AVERAGED, CODE_PAGE),
        *parse_published(f"{PAPER}, Table 7", PROXIMITY, ASPIRE),
    ),
    reference=PAPER,
)
