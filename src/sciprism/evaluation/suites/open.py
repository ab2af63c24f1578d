"""The open suite: tasks over data that anyone can have, at least one for each protocol, format and group.

No test paper trains anything (`datasets/split.py`). Tasks over one data set draw the same papers, and a text
is encoded once for all of them. `in_train` says whether training recipes use tasks of the kind: fields of
study and MeSH, citation counts, years, who cites whom, who wrote what, and search by titles.
"""

from __future__ import annotations

from sciprism.datasets.layouts.open.corpora import (
    CitingSentences,
    Collection,
    LinkedCorpus,
    SummaryToPaper,
    TitleToAbstract,
)
from sciprism.datasets.layouts.open.people import RatedReviewers, SplitMentions
from sciprism.datasets.layouts.open.pools import JudgedPools, LinkedPools
from sciprism.datasets.layouts.signatures import AuthorMentions
from sciprism.evaluation.protocols.cluster import Cluster
from sciprism.evaluation.protocols.match import Match
from sciprism.evaluation.protocols.rerank import Rerank
from sciprism.evaluation.protocols.retrieve import Retrieve
from sciprism.evaluation.suites.open_classes import ARXIV, CLASSIFICATION, CONFERENCES, LABELS, REGRESSION
from sciprism.evaluation.suites.registry import suites
from sciprism.evaluation.task import Average, Suite, Task
from sciprism.formats import FORMATS

POOLS = Rerank(metrics=("map", "ndcg"), distance="encoder")
GRADED = Rerank(metrics=("ndcg", "map"), distance="encoder")
LINKED = Retrieve(metrics=("recall@20", "recall@50", "recall@100"))
WORDS = Retrieve(metrics=("ndcg@10", "recall@100"))
ONE_RIGHT = Retrieve(metrics=("mrr@10", "recall@100"))
MENTIONS = AuthorMentions(
    signatures="author_disambiguation_robotics",
    papers="conference_papers",
    max_train=1000,
    max_dev=300,
    max_test=1200,
)

PROXIMITY = (
    Task(
        name="vis-citation",
        format="proximity",
        protocol=POOLS,
        data=LinkedPools(data="citegraph_vis", link="citation"),
        group="reranking",
        in_train=True,
        reference="cited papers against papers that those cite and others (as SciDocs cite)",
    ),
    Task(
        name="vis-co-citation",
        format="proximity",
        protocol=POOLS,
        data=LinkedPools(data="citegraph_vis", link="co-citation"),
        group="reranking",
        in_train=False,  # only direct citations train
        reference="papers cited together at least twice (as SciDocs co-cite)",
    ),
    Task(
        name="same-author",
        format="proximity",
        protocol=POOLS,
        data=LinkedPools(data="conference_papers", link="same author", needs="author_ids", queries=200),
        group="reranking",
        in_train=True,
        reference="papers that share an author identifier, against those of co-authors' co-authors",
    ),
    Task(
        name="shared-keywords",
        format="proximity",
        protocol=POOLS,
        data=LinkedPools(data="conference_papers", link="shared keywords", needs="keywords"),
        group="reranking",
        in_train=False,  # keywords are in no recipe
        reference="papers whose authors chose the same rare keywords",
    ),
    Task(
        name="acl-citation",
        format="proximity",
        protocol=POOLS,
        data=LinkedPools(data="citegraph_acl", link="citation", least=3),
        group="reranking",
        in_train=False,  # citations of another field, known from sentences and too few to train
        reference="cited papers of computational linguistics (CL-SciSumm 2019)",
    ),
    Task(
        name="csfcube",
        format="proximity",
        protocol=GRADED,
        data=JudgedPools(path="ir_csfcube"),
        group="reranking",
        in_train=False,  # judged by people, for one facet
        reference="query by example, 50 papers and facets (Mysore et al. 2021)",
    ),
    Task(
        name="vis-citation-retrieval",
        format="proximity",
        protocol=LINKED,
        data=LinkedCorpus(data="citegraph_vis", link="citation"),
        group="retrieval",
        in_train=True,
        reference="cited papers among all test papers (as SciMult's link prediction, the query left out)",
    ),
    Task(
        name="vis-co-citation-retrieval",
        format="proximity",
        protocol=LINKED,
        data=LinkedCorpus(data="citegraph_vis", link="co-citation"),
        group="retrieval",
        in_train=False,
        reference="papers cited together among all test papers",
    ),
    Task(
        name="cacm-links",
        format="proximity",
        protocol=LINKED,
        data=LinkedCorpus(data="ir_cacm", link="citation link", queries=500),
        group="retrieval",
        in_train=False,  # links of 1958-1979, often between titles alone
        reference="citation links of the CACM collection, direction not known",
    ),
    Task(
        name="reviewers",
        format="proximity",
        protocol=Match(metrics=("pairwise",), best=3),
        data=RatedReviewers(path="reviewer_goldstandard", newest=20),
        group="matching",
        in_train=False,
        reference="expertise that reviewers stated themselves (Stelmakh et al. 2023), their 20 latest papers",
    ),
    Task(
        name="author-disambiguation",
        format="proximity",
        protocol=Cluster(),
        data=SplitMentions(mentions=MENTIONS),
        group="clustering",
        numbers="first",  # the others say what the names alone and the features alone reach
        in_train=False,  # same-author pairs train, but not with names, and not the telling apart of namesakes
        reference="author mentions of ICRA and IROS in blocks of namesakes (as S2AND)",
    ),
)

SEARCH = (
    Task(
        name="scifact",
        format="search",
        protocol=WORDS,
        data=Collection(path="ir_scifact", split="dev"),
        group="search",
        numbers="first",
        in_train=False,
        reference="claims and the abstracts that bear on them (Wadden et al. 2020); BEIR's test is this dev",
    ),
    Task(
        name="cranfield",
        format="search",
        protocol=WORDS,
        data=Collection(path="ir_cranfield", without="minus_one_documents.tsv"),
        group="search",
        numbers="first",
        in_train=False,
        reference="aerodynamics (Cleverdon 1967), without the papers that questions were made from",
    ),
    Task(
        name="cacm",
        format="search",
        protocol=WORDS,
        data=Collection(path="ir_cacm"),
        group="search",
        numbers="first",
        in_train=False,
        reference="questions about computing (Fox 1983); half of the records are titles alone",
    ),
    Task(
        name="npl",
        format="search",
        protocol=WORDS,
        data=Collection(path="ir_npl"),
        group="search",
        numbers="first",
        in_train=False,
        reference="physics and electronics, short abstracts (Vaswani and Cameron 1970)",
    ),
    Task(
        name="summary-to-paper",
        format="search",
        protocol=ONE_RIGHT,
        data=SummaryToPaper(data="conference_papers", field="tldr", sizes=CONFERENCES),
        group="search",
        numbers="first",
        in_train=False,  # written by authors to sum up, which no title does
        reference="one-sentence summaries by the authors, ICLR 2018 and CoRL",
    ),
    Task(
        name="title-to-abstract",
        format="search",
        protocol=ONE_RIGHT,
        data=TitleToAbstract(data="arxiv_multidomain", sizes=ARXIV),
        group="search",
        numbers="first",
        in_train=True,
        reference="titles of arXiv records of 2019, among abstracts alone",
    ),
    Task(
        name="citing-sentence",
        format="search",
        protocol=ONE_RIGHT,
        data=CitingSentences(data="citegraph_acl"),
        group="search",
        numbers="first",
        in_train=False,  # a sentence about a paper in other people's words
        reference="sentences that cite papers of computational linguistics (CL-SciSumm 2019)",
    ),
)

TASKS = (*CLASSIFICATION, *REGRESSION, *PROXIMITY, *SEARCH, *LABELS)
# Other ways to score data that are there already would count twice.
VARIANTS = (
    "arxiv-categories-names-only",
    *(task.name for task in LABELS if task.name.endswith("names-first")),
)
COUNTED = tuple(task for task in TASKS if task.name not in VARIANTS)


GROUPS = tuple(dict.fromkeys(task.group for task in COUNTED))
KINDS: dict[str, tuple[Task, ...]] = {
    **{group: tuple(task for task in COUNTED if task.group == group) for group in GROUPS},
    **{f"format {name}": tuple(task for task in COUNTED if task.format == name) for name in FORMATS},
    "in-train": tuple(task for task in COUNTED if task.in_train),
    "out-of-train": tuple(task for task in COUNTED if not task.in_train),
    "all": COUNTED,
}

# Every format, group and protocol in under 9,000 distinct papers and 20,000 short texts.
QUICK = (
    "mag-titles",
    "biomimicry",
    "citation-intent",
    "vis-citation-count",
    "vis-citation",
    "vis-co-citation",
    "vis-citation-retrieval",
    "reviewers",
    "author-disambiguation",
    "cranfield",
    "vis-keywords",
    "vis-keywords-names-first",
    "mag-title-names",
)

OPEN = Suite(
    name="open",
    tasks=TASKS,
    averages=tuple(
        Average(name=name, tasks=tuple(task.name for task in kind)) for name, kind in KINDS.items()
    ),
    views={"quick": QUICK},
    reference="protocols of SciRepEval, SciDocs and SciMult over data that are open",
)
suites.register("open")(OPEN)
