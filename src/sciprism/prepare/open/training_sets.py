"""The training sets built from the open data, and those that cannot be built."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.open.classes import PaperNumbers, Scale
from sciprism.datasets.open_data import Part
from sciprism.evaluation.suites.open import OPEN
from sciprism.evaluation.suites.open_classes import ARXIV_FIELDS, MAG_FIELDS
from sciprism.formats import Format, Role
from sciprism.prepare.open.builders import (
    CitationBuilder,
    ClassAnswerBuilder,
    ClassLabelBuilder,
    ClickBuilder,
    ExampleBuilder,
    NumberAnswerBuilder,
    SameAuthorBuilder,
    SummaryBuilder,
    TermAnswerBuilder,
    TermLabelBuilder,
    TitleAbstractBuilder,
    TripletBuilder,
)
from sciprism.prepare.samplers.sampling import SampleReport


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSet:
    """A source of examples. tasks: the tasks of the open suite of the same kind."""

    name: str
    format: Format
    query: Role
    candidate: Role
    builder: ExampleBuilder[SampleReport]
    tasks: tuple[str, ...] = ()

    @property
    def roles(self) -> dict[str, str]:
        """Return the name, the format, and the roles of queries and candidates."""
        return {"name": self.name, "format": self.format, "query": self.query, "candidate": self.candidate}

    def file(self, part: Part) -> str:
        """Return the name of the file of one part."""
        return f"{part}/{self.name}.jsonl"

    def find_obstacle(self, data_root: DataRoot) -> str:
        """Return why the set cannot be built, or "": its data are missing, or only for tests."""
        kinds = {task.name: task.in_train for task in OPEN.tasks}
        if reserved := [name for name in self.tasks if not kinds[name]]:
            return f"the open suite keeps {reserved[0]} out of train"
        data = self.builder.data
        return "" if ((data_root.folder or Path()) / data).is_dir() else f"the data set {data} does not exist"


Kind = Literal["labels", "classes", "numbers", "links", "searches"]
KINDS: dict[Kind, tuple[Format, Role, Role]] = {
    "labels": ("classification", "paper", "label"),
    "classes": ("classification", "paper", "paper"),
    "numbers": ("regression", "paper", "paper"),
    "links": ("proximity", "paper", "paper"),
    "searches": ("search", "query", "paper"),
}
"""Kind of training set -> format, role of queries, role of candidates; classes and numbers are for a head."""


def declare(kind: Kind, name: str, builder: ExampleBuilder[SampleReport], *tasks: str) -> TrainingSet:
    """Return a training set of one kind."""
    format, query, candidate = KINDS[kind]
    return TrainingSet(name=name, format=format, query=query, candidate=candidate, builder=builder, tasks=tasks)


def declare_numbers(name: str, data: str, target: str, *, scale: Scale = "as it is") -> TrainingSet:
    """Return the training set of numbers for the task of this name."""
    numbers = PaperNumbers(data=data, target=target, scale=scale)
    return declare("numbers", f"{name}-numbers", NumberAnswerBuilder(numbers=numbers), name)


ARXIV_TERMS = TermLabelBuilder(data="arxiv_multidomain", terms="categories", vocabulary="arxiv")
ARXIV_CLASSES = ClassLabelBuilder(data="arxiv_multidomain", target="field", names=ARXIV_FIELDS)
ARXIV_ANSWERS = ClassAnswerBuilder(data="arxiv_multidomain", target="field", names=ARXIV_FIELDS)
MESH_TERMS = TermLabelBuilder(data="xmc_pubmed_mesh", terms="mesh", vocabulary="mesh")
MESH_ANSWERS = TermAnswerBuilder(data="xmc_pubmed_mesh", terms="mesh", vocabulary="mesh")
MAG_CLASSES = ClassLabelBuilder(data="cls_mag_titles", target="label", names=MAG_FIELDS)
MAG_ANSWERS = ClassAnswerBuilder(data="cls_mag_titles", target="label", names=MAG_FIELDS)
VIS_CITATIONS = CitationBuilder(data="citegraph_vis")
CONFERENCE_TITLES = TitleAbstractBuilder(data="conference_papers")
SAME_AUTHOR = SameAuthorBuilder(data="conference_papers", authors="author_ids")
SUMMARIES = SummaryBuilder(data="conference_papers", field="tldr")
TRIPLETS = TripletBuilder(data="scirepeval_samples", file="specter_triplets.jsonl.gz")
CLICKS = ClickBuilder(data="scirepeval_samples", file="search.jsonl.gz")

# Sets of one data set are next to each other, so that it is read once.
TRAINING_SETS = (
    declare("labels", "arxiv-categories", ARXIV_TERMS, "arxiv-categories"),
    declare("labels", "arxiv-categories-all", replace(ARXIV_TERMS, max_per_label=0), "arxiv-categories"),
    declare("labels", "arxiv-fields", ARXIV_CLASSES, "arxiv-field-names"),
    declare("classes", "arxiv-classes", ARXIV_ANSWERS, "arxiv-field"),
    declare_numbers("arxiv-year", "arxiv_multidomain", "year"),
    declare("searches", "arxiv-titles", TitleAbstractBuilder(data="arxiv_multidomain"), "title-to-abstract"),
    declare("labels", "mesh-headings", MESH_TERMS, "mesh-headings"),
    declare("labels", "mesh-headings-all", replace(MESH_TERMS, max_per_label=0), "mesh-headings"),
    declare("classes", "mesh-classes", MESH_ANSWERS, "mesh-headings"),
    declare("searches", "pubmed-titles", TitleAbstractBuilder(data="xmc_pubmed_mesh"), "title-to-abstract"),
    declare("labels", "mag-fields", MAG_CLASSES, "mag-title-names"),
    declare("classes", "mag-classes", MAG_ANSWERS, "mag-titles"),
    declare("links", "vis-citations", VIS_CITATIONS, "vis-citation", "vis-citation-retrieval"),
    declare_numbers("vis-citation-count", "citegraph_vis", "citation_count", scale="rank share"),
    declare("links", "same-author", SAME_AUTHOR, "same-author"),
    declare_numbers("citation-count", "conference_papers", "citation_count", scale="rank share"),
    declare_numbers("conference-year", "conference_papers", "year"),
    declare("searches", "conference-titles", CONFERENCE_TITLES, "title-to-abstract"),
    declare("searches", "summaries", SUMMARIES, "summary-to-paper"),
    declare("links", "specter-triplets", TRIPLETS),
    declare("searches", "search-clicks", CLICKS),
)
UNAVAILABLE_SETS = {
    "scifact-claims": "the evidence of SciFact's train claims are candidates of its test, "
    "so all its papers are test papers",
    "keywords": "the open suite keeps keywords out of train",
}
"""Training sets that do not exist, and why."""
