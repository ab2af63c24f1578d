"""SciRepEval: the released benchmark, and the tasks of the paper with its Feeds.

Citation prediction, which the lists count as a task, is for training and has no test of its own.
"""

from __future__ import annotations

from dataclasses import replace

from sciprism.datasets.layouts.s2and import S2andFolders
from sciprism.datasets.layouts.scirepeval import HubTexts, PaperLabels, RankedPapers, ReviewerPapers
from sciprism.evaluation.protocols.cluster_sources import ClusterSources
from sciprism.evaluation.protocols.match import Match
from sciprism.evaluation.protocols.probe import FewShot, Probe
from sciprism.evaluation.protocols.rerank import Rerank
from sciprism.evaluation.suites.printed import printed
from sciprism.evaluation.suites.registry import suites
from sciprism.evaluation.task import Average, Suite, Task
from sciprism.formats import Format, Role

PAPER = "SciRepEval (Singh et al., EMNLP 2023)"
NUMBERS = Probe(
    metric="kendall_tau", loss="epsilon_insensitive", grid=(1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
)
MACRO = Probe(metric="f1_macro")


def classes(name: str, config: str, probe: Probe, *, labels: str = "", positive: str = "") -> Task:
    """Return a task of one class per paper."""
    at = HubTexts(texts=config, labels=labels or config)
    return Task(
        name=name,
        format="classification",
        protocol=probe,
        data=PaperLabels(at=at, kind="class", positive=positive),
        group="classification",
        in_train=False,
        reference=f"{PAPER}, Table 1",
    )


def numbers(name: str, config: str, labels: str = "", *, in_train: bool = False) -> Task:
    """Return a task of one number per paper."""
    return Task(
        name=name,
        format="regression",
        protocol=NUMBERS,
        data=PaperLabels(at=HubTexts(texts=config, labels=labels or config), kind="number"),
        group="regression",
        in_train=in_train,
        reference=f"{PAPER}, Table 1",
    )


def ranked(name: str, config: str, metric: str, *, search: bool = False, in_train: bool = False) -> Task:
    """Return a task of queries with judged candidates."""
    role: Role = "query" if search else "paper"
    kind: Format = "search" if search else "proximity"
    return Task(
        name=name,
        format=kind,
        protocol=Rerank(metrics=(metric,)),
        data=RankedPapers(at=HubTexts(texts=config, labels=config), query=role),
        group=kind,
        in_train=in_train,
        reference=f"{PAPER}, Table 1",
    )


def scidocs(name: str, labels: str) -> Task:
    """Return a ranking task of SciDocs, which gives two numbers."""
    return Task(
        name=name,
        format="proximity",
        protocol=Rerank(metrics=("map", "ndcg")),
        data=RankedPapers(at=HubTexts(texts="scidocs_view_cite_read", labels=labels), simple=True),
        group="scidocs",
        in_train=False,
        numbers="each",
        reference=f"{PAPER}, Table 2, column SciDocs",
    )


MESH = replace(classes("mesh", "mesh_descriptors", MACRO), in_train=True)
FIELDS_OF_STUDY = Task(
    name="fos",
    format="classification",
    protocol=Probe(
        metric="f1_macro",
        loss="hinge",
        few_shot=(
            FewShot(size=10, iterations=50, per_label=True),
            FewShot(size=5, iterations=100, per_label=True),
        ),
    ),
    data=PaperLabels(at=HubTexts(texts="fos", labels="fos"), kind="classes"),
    group="classification",
    in_train=True,
    reference=f"{PAPER}, Table 1",
)
IN_TRAIN = (
    MESH,
    FIELDS_OF_STUDY,
    numbers("citation-count", "cite_count", in_train=True),
    numbers("publication-year", "pub_year", in_train=True),
    ranked("same-author", "same_author", "map", in_train=True),
    ranked("influential-citations", "high_influence_cite", "map", in_train=True),
    replace(
        ranked("search", "search", "ndcg", search=True, in_train=True),
        fields=("title", "abstract", "venue", "year"),
    ),
)
BIOMIMICRY = classes(
    "biomimicry",
    "biomimicry",
    Probe(metric="f1_binary", few_shot=(FewShot(size=64, iterations=50), FewShot(size=16, iterations=100))),
    positive="1",
)
DRSM = classes(
    "drsm",
    "drsm",
    Probe(metric="f1_macro", few_shot=(FewShot(size=64, iterations=50), FewShot(size=24, iterations=100))),
)
REVIEWERS = Task(
    name="reviewers",
    format="proximity",
    protocol=Match(),
    data=ReviewerPapers(at=HubTexts(texts="paper_reviewer_matching", labels="paper_reviewer_matching")),
    group="matching",
    in_train=False,
    reference=f"{PAPER}, Table 1",
)
# The paper's number is said to be the mean of all cells that S2AND's script prints; most of them are the grid
# of models of one source on each source. The union's are in the details of the result.
S2AND = Task(
    name="s2and",
    format="proximity",
    protocol=ClusterSources(metrics=("grid",)),
    data=S2andFolders(),
    group="disambiguation",
    in_train=False,
    reference=f"{PAPER}, Table 1; S2AND (Subramanian et al., JCDL 2021)",
)
OUT_OF_TRAIN = (
    BIOMIMICRY,
    DRSM,
    numbers("peer-review", "peer_review_score_hIndex", "peer_review_score"),
    numbers("max-h-index", "peer_review_score_hIndex", "hIndex"),
    numbers("tweets", "tweet_mentions"),
    REVIEWERS,
    S2AND,
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


def named(tasks: tuple[Task, ...]) -> tuple[str, ...]:
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
NEAR_SCIDOCS = named(SCIDOCS[2:])
LATER = named((*OUT_OF_TRAIN, *RELEASED, *SCIDOCS))
PROXIMITY = tuple(f"{name} (proximity)" for name in AVERAGED)

# SPECTER2's page has its own division: SciDocs belongs to the out-of-train numbers, 20 of 27 in all.
suites.register("scirepeval")(
    Suite(
        name="scirepeval",
        tasks=(*IN_TRAIN, *OUT_OF_TRAIN, *RELEASED, *SCIDOCS),
        averages=(
            Average(name="In-Train", tasks=named(IN_TRAIN)),
            Average(name="Out-of-Train", tasks=LATER),
            Average(name="Average", tasks=(*named(IN_TRAIN), *LATER)),
        ),
        views={
            "proximity-only": (*NEAR_IN, "reviewers", "s2and", "relish", *NEAR_SCIDOCS),
            "in-train": named(IN_TRAIN),
            "scidocs": named(SCIDOCS),
        },
        published=printed("SPECTER2's page", ("In-Train", "Out-of-Train", "Average"), SPECTER2),
        reference=f"{PAPER}; released task list of October 2023",
    )
)

# The average is the plain mean of 7 + 11 + 10 numbers, not of the three columns.
suites.register("scirepeval-paper")(
    Suite(
        name="scirepeval-paper",
        tasks=(*IN_TRAIN, *OUT_OF_TRAIN, *FEEDS, *SCIDOCS),
        averages=(
            Average(name="In-Train", tasks=named(IN_TRAIN)),
            Average(name="Out-of-Train", tasks=named((*OUT_OF_TRAIN, *FEEDS))),
            Average(name="SciDocs", tasks=named(SCIDOCS)),
            Average(name="Average", tasks=named((*IN_TRAIN, *OUT_OF_TRAIN, *FEEDS, *SCIDOCS))),
            Average(name=PROXIMITY[0], tasks=NEAR_IN),
            Average(name=PROXIMITY[1], tasks=NEAR_FURTHER),
            Average(name=PROXIMITY[2], tasks=NEAR_SCIDOCS),
            Average(name=PROXIMITY[3], tasks=(*NEAR_IN, *NEAR_FURTHER, *NEAR_SCIDOCS)),
        ),
        views={"proximity-only": (*NEAR_IN, *NEAR_FURTHER, *NEAR_SCIDOCS), "feeds": named(FEEDS)},
        published=(
            *printed(f"{PAPER}, Table 2", AVERAGED, TABLES),
            *printed(f"{PAPER}, Table 3", AVERAGED, OTHER_BASES),
            *printed("SciRepEval's code page", AVERAGED, CODE_PAGE),
            *printed(f"{PAPER}, comparison with ASPIRE", PROXIMITY, ASPIRE),
        ),
        reference=PAPER,
    )
)
