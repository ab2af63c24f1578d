"""The training sets that the open data give, and those that they do not give."""

from __future__ import annotations

from dataclasses import dataclass

from sciprism.datasets.layouts.open.classes import Numbers, Scale
from sciprism.evaluation.suites.open import OPEN
from sciprism.evaluation.suites.open_classes import ARXIV_FIELDS, MAG_FIELDS
from sciprism.formats import Format, Role
from sciprism.prepare.open.making import (
    CitedBy,
    ClassAnswersOf,
    ClassOf,
    ClicksIn,
    Form,
    NumbersOf,
    SummariesOf,
    TermAnswersOf,
    TermsOf,
    TitlesOf,
    TripletsIn,
    WrittenBy,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSet:
    """One source of examples. tasks: those of the open suite that are of its kind, if any are."""

    name: str
    format: Format
    query: Role
    candidate: Role
    form: Form
    tasks: tuple[str, ...] = ()

    def out_of_train(self) -> str:
        """Name the task that the open suite wants no training for, or return ""."""
        kinds = {task.name: task.in_train for task in OPEN.tasks}
        return next((name for name in self.tasks if not kinds[name]), "")


def labels(name: str, form: Form, task: str) -> TrainingSet:
    """Return a set of papers and labels."""
    return TrainingSet(
        name=name, format="classification", query="paper", candidate="label", form=form, tasks=(task,)
    )


def links(name: str, form: Form, *tasks: str) -> TrainingSet:
    """Return a set of papers and linked papers."""
    return TrainingSet(
        name=name, format="proximity", query="paper", candidate="paper", form=form, tasks=tasks
    )


def searches(name: str, form: Form, *tasks: str) -> TrainingSet:
    """Return a set of words and papers."""
    return TrainingSet(name=name, format="search", query="query", candidate="paper", form=form, tasks=tasks)


def classes(name: str, form: Form, task: str) -> TrainingSet:
    """Return a set of papers and names of their classes, for a head."""
    return TrainingSet(
        name=name, format="classification", query="paper", candidate="paper", form=form, tasks=(task,)
    )


def numbers(name: str, data: str, target: str, *, scale: Scale = "as it is") -> TrainingSet:
    """Return a set of papers and numbers, for a head; the task of the same name asks for them."""
    form = NumbersOf(numbers=Numbers(data=data, target=target, scale=scale))
    return TrainingSet(
        name=f"{name}-numbers",
        format="regression",
        query="paper",
        candidate="paper",
        form=form,
        tasks=(name,),
    )


# Sets of one data set stand together: it is then read once.
SETS = (
    labels(
        "arxiv-categories",
        TermsOf(data="arxiv_multidomain", terms="categories", vocabulary="arxiv"),
        "arxiv-categories",
    ),
    labels(
        "arxiv-categories-all",
        TermsOf(data="arxiv_multidomain", terms="categories", vocabulary="arxiv", cap=0),
        "arxiv-categories",
    ),
    labels(
        "arxiv-fields",
        ClassOf(data="arxiv_multidomain", target="field", names=ARXIV_FIELDS),
        "arxiv-field-names",
    ),
    classes(
        "arxiv-classes",
        ClassAnswersOf(data="arxiv_multidomain", target="field", names=ARXIV_FIELDS),
        "arxiv-field",
    ),
    numbers("arxiv-year", "arxiv_multidomain", "year"),
    searches("arxiv-titles", TitlesOf(data="arxiv_multidomain"), "title-to-abstract"),
    labels(
        "mesh-headings", TermsOf(data="xmc_pubmed_mesh", terms="mesh", vocabulary="mesh"), "mesh-headings"
    ),
    labels(
        "mesh-headings-all",
        TermsOf(data="xmc_pubmed_mesh", terms="mesh", vocabulary="mesh", cap=0),
        "mesh-headings",
    ),
    classes(
        "mesh-classes",
        TermAnswersOf(data="xmc_pubmed_mesh", terms="mesh", vocabulary="mesh"),
        "mesh-headings",
    ),
    searches("pubmed-titles", TitlesOf(data="xmc_pubmed_mesh"), "title-to-abstract"),
    labels("mag-fields", ClassOf(data="cls_mag_titles", target="label", names=MAG_FIELDS), "mag-title-names"),
    classes(
        "mag-classes", ClassAnswersOf(data="cls_mag_titles", target="label", names=MAG_FIELDS), "mag-titles"
    ),
    links("vis-citations", CitedBy(data="citegraph_vis"), "vis-citation", "vis-citation-retrieval"),
    numbers("vis-citation-count", "citegraph_vis", "citation_count", scale="rank share"),
    links("same-author", WrittenBy(data="conference_papers", authors="author_ids"), "same-author"),
    numbers("citation-count", "conference_papers", "citation_count", scale="rank share"),
    numbers("conference-year", "conference_papers", "year"),
    searches("conference-titles", TitlesOf(data="conference_papers"), "title-to-abstract"),
    searches("summaries", SummariesOf(data="conference_papers", field="tldr"), "summary-to-paper"),
    links("specter-triplets", TripletsIn(data="scirepeval_samples", file="specter_triplets.jsonl.gz")),
    searches("search-clicks", ClicksIn(data="scirepeval_samples", file="search.jsonl.gz")),
)
LEFT_OUT = {
    "scifact-claims": "the abstracts that SciFact's train claims ask for are candidates of its test, "
    "so that all of its papers are test papers",
    "keywords": "the open suite keeps keywords out of train",
}
"""What one may look for here and not find, and why."""
