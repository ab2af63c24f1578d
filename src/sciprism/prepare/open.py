"""Write the training sets of the open data, with a record of retained and dropped examples.

Papers that are dev or test in any open data set (`datasets/split.py`) are neither queries nor candidates of a
train file. Kinds of data that the open suite keeps out of train (`in_train` of its tasks) are not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import Part
from sciprism.datasets.split import SplitTable
from sciprism.errors import InputError
from sciprism.evaluation.suites import suites
from sciprism.formats import Format, Role
from sciprism.prepare.example_folder import MIN_DEV_EXAMPLES, PARTS, ExampleFolder, TrainingSource
from sciprism.prepare.open_builders import (
    ClassNames,
    OpenData,
    OpenPart,
    build_citations,
    build_class_answers,
    build_class_labels,
    build_clicks,
    build_number_answers,
    build_same_author,
    build_summaries,
    build_term_answers,
    build_term_labels,
    build_titles,
    build_triplets,
)
from sciprism.prepare.preparation import CountTable, Preparation, check_workers
from sciprism.prepare.samplers.sampling import Sampling
from sciprism.training.examples import Example

MAX_QUERIES = 20_000
"""Queries of a train file, so that no source dominates and a laptop can train on them."""
MAX_DEV_QUERIES = 1_000
WORDS = ("source", "format", "query", "candidate")
COUNTS = ("queries", "pairs", "hard", "dev")
"""Queries, positive pairs, those with a hard negative; queries of the dev file."""

Kind = Literal["labels", "classes", "numbers", "links", "searches"]
KINDS: dict[Kind, tuple[Format, Role, Role]] = {
    "labels": ("classification", "paper", "label"),
    "classes": ("classification", "paper", "paper"),
    "numbers": ("regression", "paper", "paper"),
    "links": ("proximity", "paper", "paper"),
    "searches": ("search", "query", "paper"),
}
"""Kind of training set -> format, role of queries, role of candidates; classes and numbers are for a head."""


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """A source of examples of one kind, from one data set. tasks: the tasks of the open suite of the same kind."""

    name: str
    kind: Kind
    data: str
    build: Callable[[OpenPart], Iterator[Example]]
    tasks: tuple[str, ...] = ()

    def find_obstacle(self, data_root: DataRoot) -> str:
        """Return why the set cannot be built, or "": its data are missing, or only for tests."""
        in_train = {task.name: task.in_train for task in suites["open"].tasks}
        if reserved := [name for name in self.tasks if not in_train[name]]:
            return f"the open suite keeps {reserved[0]} out of train"
        exists = ((data_root.folder or Path()) / self.data).is_dir()
        return "" if exists else f"the data set {self.data} does not exist"

    def source(self, open_data: OpenData) -> TrainingSource:
        """Return the training source."""

        def build(part: Part, sampling: Sampling) -> Iterator[Example]:
            return self.build(OpenPart(open_data, self.data, part, sampling))

        format, query, candidate = KINDS[self.kind]
        return TrainingSource(
            name=self.name,
            format=format,
            query=query,
            candidate=candidate,
            data=self.data,
            build=build,
            min_dev_examples=MIN_DEV_EXAMPLES,
        )


def class_names(name: str) -> ClassNames:
    """Return the classes of the open suite's task of this name, each with its readable name."""
    (names,) = (task.data.names for task in suites["open"].tasks if task.name == name)  # type: ignore[attr-defined]
    return names  # type: ignore[no-any-return]


ARXIV_FIELDS, MAG_FIELDS = class_names("arxiv-field-names"), class_names("mag-title-names")
ARXIV, MESH, MAG, VIS = "arxiv_multidomain", "xmc_pubmed_mesh", "cls_mag_titles", "citegraph_vis"
CONFERENCES, SAMPLES = "conference_papers", "scirepeval_samples"

arxiv_terms = partial(build_term_labels, terms="categories", vocabulary="arxiv")
mesh_terms = partial(build_term_labels, terms="mesh", vocabulary="mesh")
mesh_answers = partial(build_term_answers, terms="mesh", vocabulary="mesh")
arxiv_labels = partial(build_class_labels, target="field", names=ARXIV_FIELDS)
arxiv_answers = partial(build_class_answers, target="field", names=ARXIV_FIELDS)
mag_labels = partial(build_class_labels, target="label", names=MAG_FIELDS)
mag_answers = partial(build_class_answers, target="label", names=MAG_FIELDS)
years = partial(build_number_answers, target="year")
citation_counts = partial(build_number_answers, target="citation_count", scale="rank share")
same_author = partial(build_same_author, authors="author_ids")
summaries = partial(build_summaries, summary="tldr")
triplets = partial(build_triplets, file="specter_triplets.jsonl.gz")
clicks = partial(build_clicks, file="search.jsonl.gz")

# Sets of one data set are next to each other, so that it is read once.
TRAINING_SETS = (
    TrainingSet("arxiv-categories", "labels", ARXIV, arxiv_terms, ("arxiv-categories",)),
    TrainingSet("arxiv-categories-all", "labels", ARXIV, partial(arxiv_terms, max_per_label=0), ("arxiv-categories",)),
    TrainingSet("arxiv-fields", "labels", ARXIV, arxiv_labels, ("arxiv-field-names",)),
    TrainingSet("arxiv-classes", "classes", ARXIV, arxiv_answers, ("arxiv-field",)),
    TrainingSet("arxiv-year-numbers", "numbers", ARXIV, years, ("arxiv-year",)),
    TrainingSet("arxiv-titles", "searches", ARXIV, build_titles, ("title-to-abstract",)),
    TrainingSet("mesh-headings", "labels", MESH, mesh_terms, ("mesh-headings",)),
    TrainingSet("mesh-headings-all", "labels", MESH, partial(mesh_terms, max_per_label=0), ("mesh-headings",)),
    TrainingSet("mesh-classes", "classes", MESH, mesh_answers, ("mesh-headings",)),
    TrainingSet("pubmed-titles", "searches", MESH, build_titles, ("title-to-abstract",)),
    TrainingSet("mag-fields", "labels", MAG, mag_labels, ("mag-title-names",)),
    TrainingSet("mag-classes", "classes", MAG, mag_answers, ("mag-titles",)),
    TrainingSet("vis-citations", "links", VIS, build_citations, ("vis-citation", "vis-citation-retrieval")),
    TrainingSet("vis-citation-count-numbers", "numbers", VIS, citation_counts, ("vis-citation-count",)),
    TrainingSet("same-author", "links", CONFERENCES, same_author, ("same-author",)),
    TrainingSet("citation-count-numbers", "numbers", CONFERENCES, citation_counts, ("citation-count",)),
    TrainingSet("conference-year-numbers", "numbers", CONFERENCES, years, ("conference-year",)),
    TrainingSet("conference-titles", "searches", CONFERENCES, build_titles, ("title-to-abstract",)),
    TrainingSet("summaries", "searches", CONFERENCES, summaries, ("summary-to-paper",)),
    TrainingSet("specter-triplets", "links", SAMPLES, triplets),
    TrainingSet("search-clicks", "searches", SAMPLES, clicks),
)
UNAVAILABLE_SETS = {
    "scifact-claims": "the evidence of SciFact's train claims are candidates of its test, "
    "so all its papers are test papers",
    "keywords": "the open suite keeps keywords out of train",
}
"""Training sets that do not exist, and why."""


def prepare_open(
    data_root: DataRoot, out: Path, *, seed: int = 0, max_queries: int = MAX_QUERIES, workers: int = 1
) -> Preparation:
    """Write `train/NAME.jsonl` and `dev/NAME.jsonl` of every set whose data exist, and `sources.json`.

    max_queries: of a train file, 0 for all. Runs with the same settings write the same bytes. Raises
    InputError where no set can be written.
    """
    check_workers(workers, seed=seed, max_queries=max_queries)
    open_data, folder = OpenData(data_root), ExampleFolder(out)
    limits: dict[Part, int] = {"train": max_queries, "dev": MAX_DEV_QUERIES}
    done = Preparation(files=folder.counts, not_made=dict(UNAVAILABLE_SETS))
    rows, records = list[list[str | int]](), list[dict[str, Any]]()
    for training_set in TRAINING_SETS:
        obstacle, samplings = training_set.find_obstacle(data_root), dict[Part, Sampling]()
        for part, limit in () if obstacle else limits.items():
            samplings[part] = Sampling(limit=limit, seed=seed, workers=workers)
        source = training_set.source(open_data)
        if source.write(folder, samplings):
            train, dev = (samplings[part].report for part in PARTS)
            counts = train.queries, train.pairs, train.hard, dev.queries if source.file("dev") in folder.counts else 0
            rows.append([source.name, source.format, source.query, source.candidate, *counts])
            records.append(source.to_json(folder, samplings))
            done.dropped[source.name] = train.dropped
        else:
            done.not_made[source.name] = obstacle or "no example remains"
    if not records:
        where = f"in {data_root.folder}" if data_root.folder else "here"
        wanted = ", ".join(dict.fromkeys(entry.data for entry in TRAINING_SETS))
        raise InputError(
            f"no training set can be built: none of the data sets {wanted} is {where} "
            "with a train paper; set their folder with --data or SCIPRISM_DATA"
        )
    missing = SplitTable.load(data_root).missing
    done.warnings = [f"{data} is missing: these sources may hold papers of its test" for data in missing]
    done.tables = [CountTable(WORDS, COUNTS, rows)]
    record = {"seed": seed, "max_queries": max_queries, "sources": records}
    record |= {"skipped": done.not_made, "not_in_split": missing, "data": data_root.provenance()}
    done.record = folder.write_manifest("sources.json", record)
    return done
