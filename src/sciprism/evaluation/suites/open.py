"""The open suite: tasks over freely available data, at least one for each protocol, format and group.

No test paper is in any training set (`datasets/split.py`). Tasks over one data set sample the same papers,
and a text is encoded once for all of them. `in_train`: whether training recipes use tasks of the kind, which
are fields of study and MeSH, citation counts, years, citations, authorship, and search by titles.
"""

from __future__ import annotations

from functools import partial

from sciprism.datasets.layouts.open.corpora import (
    CitingSentences,
    IrTestCollection,
    LinkedCorpus,
    SummaryToPaper,
    TitleToAbstract,
)
from sciprism.datasets.layouts.open.people import RatedReviewers, SplitMentions
from sciprism.datasets.layouts.open.pools import GradedPools, LinkedPools
from sciprism.datasets.layouts.signatures import AuthorMentions
from sciprism.evaluation.protocols.cluster import ClusterProtocol
from sciprism.evaluation.protocols.match import MatchProtocol
from sciprism.evaluation.protocols.rerank import RerankProtocol
from sciprism.evaluation.protocols.retrieve import RetrieveProtocol
from sciprism.evaluation.suites.open_classes import ARXIV, CLASSIFICATION, CONFERENCES, LABELS, REGRESSION
from sciprism.evaluation.suites.registry import register_suite
from sciprism.evaluation.task import Average, Task
from sciprism.formats import FORMATS

LINKED = RetrieveProtocol(metrics=("recall@20", "recall@50", "recall@100"))
ONE_RIGHT = RetrieveProtocol(metrics=("mrr@10", "recall@100"))
MENTIONS = AuthorMentions(
    signatures="author_disambiguation_robotics",
    papers="conference_papers",
    max_train=1000,
    max_dev=300,
    max_test=1200,
)

proximity = partial(
    Task,
    format="proximity",
    protocol=RerankProtocol(metrics=("map", "ndcg"), distance="encoder"),
    group="reranking",
    in_train=False,
)
PROXIMITY = (
    proximity(
        name="vis-citation",
        data=LinkedPools(data="citegraph_vis", link="citation"),
        in_train=True,
        reference="cited papers against papers that those cite and others (as SciDocs cite)",
        remark=(
            "in place of SciDocs' cite (1,000 queries of all fields): 300 queries of visualization, 30 candidates each"
        ),
    ),
    proximity(
        name="vis-co-citation",
        data=LinkedPools(data="citegraph_vis", link="co-citation"),
        in_train=False,  # only direct citations train
        reference="papers cited together at least twice (as SciDocs co-cite)",
        remark=(
            "in place of SciDocs' co-cite (1,000 queries of all fields): 300 queries of visualization, 30 candidates "
            "each"
        ),
    ),
    proximity(
        name="same-author",
        data=LinkedPools(data="conference_papers", link="same author", required_field="author_ids", queries=200),
        in_train=True,
        reference="papers that share an author identifier, against those of co-authors' co-authors",
        remark=(
            "in place of SciRepEval's same author (13,585 queries): 200 queries, most of robotics, 30 candidates each"
        ),
    ),
    proximity(
        name="shared-keywords",
        data=LinkedPools(data="conference_papers", link="shared keywords", required_field="keywords"),
        in_train=False,  # keywords are in no recipe
        reference="papers whose authors chose the same rare keywords",
        remark=(
            "in place of SciDocs' co-view and co-read, which need records of readers: 300 queries, 30 candidates each"
        ),
    ),
    proximity(
        name="acl-citation",
        data=LinkedPools(data="citegraph_acl", link="citation", min_links=3),
        in_train=False,  # citations of another field, known from sentences and too few to train
        reference="cited papers of computational linguistics (CL-SciSumm 2019)",
        remark="in place of SciDocs' cite: 148 queries of computational linguistics, about 29 candidates each",
    ),
    proximity(
        name="csfcube",
        protocol=RerankProtocol(metrics=("ndcg", "map"), distance="encoder"),
        data=GradedPools(path="ir_csfcube"),
        in_train=False,  # graded by people, for one facet
        reference="query by example, 50 papers and facets (Mysore et al. 2021)",
        remark="CSFCube itself: 50 queries, 6,242 graded pairs",
    ),
    proximity(
        name="vis-citation-retrieval",
        protocol=LINKED,
        data=LinkedCorpus(data="citegraph_vis", link="citation"),
        group="retrieval",
        in_train=True,
        reference="cited papers among all test papers (as SciMult's link prediction, the query left out)",
        remark="in place of SciMult's cite among 142,009 papers, and of its patients: 1,231 queries among 1,646 papers",
    ),
    proximity(
        name="vis-co-citation-retrieval",
        protocol=LINKED,
        data=LinkedCorpus(data="citegraph_vis", link="co-citation"),
        group="retrieval",
        reference="papers cited together among all test papers",
        remark=(
            "in place of SciMult's co-cite among 142,009 papers, and of its patients: 805 queries among 1,646 papers"
        ),
    ),
    proximity(
        name="cacm-links",
        protocol=LINKED,
        data=LinkedCorpus(data="ir_cacm", link="citation link", queries=500),
        group="retrieval",
        in_train=False,  # links of 1958-1979, often between titles alone
        reference="citation links of the CACM collection, direction not known",
        remark="in place of SciMult's links and patients: 500 queries among 3,204 records",
    ),
    proximity(
        name="reviewers",
        protocol=MatchProtocol(metrics=("pairwise",), best=3),
        data=RatedReviewers(path="reviewer_goldstandard", newest=20),
        group="matching",
        reference="expertise that reviewers stated themselves (Stelmakh et al. 2023), their 20 latest papers",
        remark=(
            "in place of SciRepEval's reviewer matching (1,729 pairs): 476 pairs of 58 reviewers and 462 submissions"
        ),
    ),
    proximity(
        name="author-disambiguation",
        protocol=ClusterProtocol(),
        data=SplitMentions(mentions=MENTIONS),
        group="clustering",
        numbers="first",  # the others say what the names alone and the features alone reach
        in_train=False,  # same-author pairs train, but not with names, and not the telling apart of namesakes
        reference="author mentions of ICRA and IROS in blocks of namesakes (as S2AND)",
        remark="in place of S2AND: 1,218 test mentions in 109 blocks, of robotics",
    ),
)

search = partial(
    Task,
    format="search",
    protocol=RetrieveProtocol(metrics=("ndcg@10", "recall@100")),
    group="search",
    numbers="first",
    in_train=False,
)
SEARCH = (
    search(
        name="scifact",
        data=IrTestCollection(path="ir_scifact", split="dev"),
        reference="claims and the abstracts that bear on them (Wadden et al. 2020); BEIR's test is this dev",
        remark=(
            "BEIR's SciFact itself: 300 claims, 5,183 abstracts; in INDUS's tables one of five sets in place of "
            "BEIR's twelve"
        ),
    ),
    search(
        name="cranfield",
        data=IrTestCollection(path="ir_cranfield", exclude="minus_one_documents.tsv"),
        reference="aerodynamics (Cleverdon 1967), without the papers that questions were made from",
        remark="one of five sets in place of BEIR's twelve: 225 questions, 1,400 abstracts",
    ),
    search(
        name="cacm",
        data=IrTestCollection(path="ir_cacm"),
        reference="questions about computing (Fox 1983); half of the records are titles alone",
        remark="one of five sets in place of BEIR's twelve: 52 questions, 3,204 records",
    ),
    search(
        name="npl",
        data=IrTestCollection(path="ir_npl"),
        reference="physics and electronics, short abstracts (Vaswani and Cameron 1970)",
        remark="one of five sets in place of BEIR's twelve: 93 questions, 11,426 abstracts",
    ),
    search(
        name="summary-to-paper",
        protocol=ONE_RIGHT,
        data=SummaryToPaper(data="conference_papers", field="tldr", sizes=CONFERENCES),
        in_train=False,  # written by authors to sum up, which no title does
        reference="one-sentence summaries by the authors, ICLR 2018 and CoRL",
        remark="in place of search by users (SciRepEval, SciMult): 582 summaries, 2,082 papers",
    ),
    search(
        name="title-to-abstract",
        protocol=ONE_RIGHT,
        data=TitleToAbstract(data="arxiv_multidomain", sizes=ARXIV),
        in_train=True,
        reference="titles of arXiv records of 2019, among abstracts alone",
        remark=(
            "in place of NASA-IR (398 questions of experts, one right paragraph among about 268,000), and one of "
            "five sets in place of BEIR's twelve: 1,500 titles, one right abstract among 1,500, no questions, no "
            "fillers; all-MiniLM-L6-v2 and INDUS's released retrievers trained on titles with abstracts, perhaps "
            "these"
        ),
    ),
    search(
        name="citing-sentence",
        protocol=ONE_RIGHT,
        data=CitingSentences(data="citegraph_acl"),
        in_train=False,  # a sentence about a paper in other people's words
        reference="sentences that cite papers of computational linguistics (CL-SciSumm 2019)",
        remark="in place of search by users (SciRepEval, SciMult): 500 sentences, 860 papers",
    ),
)

TASKS = (*CLASSIFICATION, *REGRESSION, *PROXIMITY, *SEARCH, *LABELS)
# Variants of other tasks are not averaged: their data would count twice.
VARIANTS = (
    "arxiv-categories-names-only",
    *(task.name for task in LABELS if task.name.endswith("names-first")),
)
COUNTED = tuple(task for task in TASKS if task.name not in VARIANTS)

KINDS: dict[str, tuple[Task, ...]] = {
    **{each.group: tuple(task for task in COUNTED if task.group == each.group) for each in COUNTED},
    **{f"format {name}": tuple(task for task in COUNTED if task.format == name) for name in FORMATS},
    "in-train": tuple(task for task in COUNTED if task.in_train),
    "out-of-train": tuple(task for task in COUNTED if not task.in_train),
    "all": COUNTED,
}

# Every format, group and protocol, with fewer than 9,000 distinct papers and 20,000 short texts.
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

OPEN = register_suite(
    "open",
    tasks=TASKS,
    averages=tuple(Average(name=name, tasks=tuple(task.name for task in kind)) for name, kind in KINDS.items()),
    views={"quick": QUICK},
    reference="protocols of SciRepEval, SciDocs and SciMult over data that are open",
    remark=(
        "open data in place of the papers': protocols and metrics are theirs, papers, labels and sizes are not, so no "
        "number but SciFact's compares with a published one; the open recipes train on other papers of the kinds that "
        "are in-train"
    ),
)
