"""Write the training sets of the open data, with a record of retained and dropped examples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.open.classes import PaperNumbers, Scale
from sciprism.datasets.open_data import Part
from sciprism.datasets.split import SplitTable
from sciprism.errors import InputError
from sciprism.evaluation.suites import suites
from sciprism.formats import Format, Role
from sciprism.prepare.example_folder import MIN_DEV_EXAMPLES, PARTS, ExampleFolder
from sciprism.prepare.open_builders import (
    CitationBuilder,
    ClassAnswerBuilder,
    ClassLabelBuilder,
    ClickBuilder,
    ExampleBuilder,
    NumberAnswerBuilder,
    OpenPrepareContext,
    SameAuthorBuilder,
    SummaryBuilder,
    TermAnswerBuilder,
    TermLabelBuilder,
    TitleAbstractBuilder,
    TripletBuilder,
)
from sciprism.prepare.preparation import CountTable, Preparation, check_workers
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
        kinds = {task.name: task.in_train for task in suites["open"].tasks}
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


def class_names(name: str) -> tuple[tuple[str, str], ...]:
    """Return the classes of the open suite's task of this name, each with its readable name."""
    (names,) = (task.data.names for task in suites["open"].tasks if task.name == name)  # type: ignore[attr-defined]
    return names  # type: ignore[no-any-return]


ARXIV_FIELDS, MAG_FIELDS = class_names("arxiv-field-names"), class_names("mag-title-names")
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

MAX_QUERIES = 20_000
"""Queries of a train file, so that no source dominates and a laptop can train on them."""
MAX_DEV_QUERIES = 1_000
WORDS = ("source", "format", "query", "candidate")
COUNTS = ("queries", "pairs", "hard", "dev")
"""Queries, positive pairs, those with a hard negative; queries of the dev file."""


def prepare_open(
    data_root: DataRoot, out: Path, *, seed: int = 0, max_queries: int = MAX_QUERIES, workers: int = 1
) -> Preparation:
    """Write `train/NAME.jsonl` and `dev/NAME.jsonl` of every set whose data exist, and `sources.json`.

    max_queries: of a train file, 0 for all. Runs with the same settings write the same bytes. Raises
    InputError where no set can be written.
    """
    check_workers(workers, seed=seed, max_queries=max_queries)
    context, folder = OpenPrepareContext(data_root, seed, max_queries, workers), ExampleFolder(out)
    done = Preparation(files=folder.counts, not_made=dict(UNAVAILABLE_SETS))
    rows: list[list[str | int]] = []
    sources: list[dict[str, Any]] = []
    for each in TRAINING_SETS:
        obstacle = each.find_obstacle(data_root)
        reports = {} if obstacle else _write_set(context, each, folder)
        folder.remove_unwritten(*map(each.file, PARTS))
        if each.file("train") in folder.counts:
            train, dev = reports["train"], reports["dev"].queries if each.file("dev") in folder.counts else 0
            rows.append([*each.roles.values(), train.queries, train.pairs, train.hard, dev])
            parts = {part: folder.describe(each.file(part)) | report.to_json() for part, report in reports.items()}
            sources.append({**each.roles, "data": each.builder.data, "parts": parts})
            done.dropped[each.name] = train.dropped
        else:
            done.not_made[each.name] = obstacle or "no example remains"
    if not sources:
        where = f"in {data_root.folder}" if data_root.folder else "here"
        wanted = ", ".join(dict.fromkeys(each.builder.data for each in TRAINING_SETS))
        raise InputError(
            f"no training set can be built: none of the data sets {wanted} is {where} "
            "with a train paper; set their folder with --data or SCIPRISM_DATA"
        )
    missing = SplitTable.load(data_root).missing
    done.warnings = [f"{data} is missing: these sources may hold papers of its test" for data in missing]
    done.tables = [CountTable(WORDS, COUNTS, rows)]
    record: dict[str, Any] = {"seed": seed, "max_queries": max_queries, "sources": sources}
    record |= {"skipped": done.not_made, "not_in_split": missing, "data": data_root.provenance()}
    done.record = folder.write_manifest("sources.json", record)
    return done


def _write_set(context: OpenPrepareContext, each: TrainingSet, folder: ExampleFolder) -> dict[Part, SampleReport]:
    """Write train and dev of a set; a file with too few queries is not retained."""
    reports: dict[Part, SampleReport] = {"train": SampleReport(), "dev": SampleReport()}
    sizes: dict[Part, tuple[int, int]] = {
        "train": (context.max_queries, 1),
        "dev": (MAX_DEV_QUERIES, MIN_DEV_EXAMPLES),
    }
    for part, (max_queries, min_queries) in sizes.items():
        examples = each.builder.examples(replace(context, max_queries=max_queries), part, reports[part])
        folder.write(each.file(part), examples, min_examples=min_queries)
    return reports
