"""Write the training sets of the open data, with a record of retained and dropped examples.

Papers that are dev or test in any open data set (`datasets/open_data.py`) are neither queries nor candidates of a
train file. Kinds of data that the open suite keeps out of train (`in_train` of its tasks) are not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import ceil
from pathlib import Path
from typing import Any, Literal

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.open_data import ELSEWHERE, OUTSIDE, VOCABULARIES, PaperNumbers, Scale
from sciprism.datasets.open_data import UNNAMED, Part, SplitEntry, SplitTable, list_paper_keys, read_entries, read_paper
from sciprism.drop_report import DropReport, count_noun
from sciprism.errors import InputError
from sciprism.evaluation.suites import suites
from sciprism.formats import Format, Role
from sciprism.papers.records import Label, Paper
from sciprism.prepare.preparation import MIN_DEV_EXAMPLES, PARTS, CountTable, ExampleFolder, Preparation, TrainingSource
from sciprism.prepare.samplers.examples import (
    MAX_PER_LABEL,
    ScoredList,
    most_frequent,
    pair_texts,
    sample_citation_triplets,
    sample_clicks,
    sample_label_pairs,
    sample_same_author,
)
from sciprism.prepare.samplers.sampling import QuerySample, Sampling
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example

ClassNames = tuple[tuple[str, str], ...]  # the value of each class, and its readable name
PaperAnswers = tuple[Paper, tuple[str | float, ...]]


ReadEntries = Callable[[DataRoot, str], list[SplitEntry]]
"""Returns the papers of a data set with their parts in the one split; those of the last one stay in memory."""


@dataclass(frozen=True, slots=True)
class OpenPart:
    """One part of a data set, and how its examples are sampled."""

    data_root: DataRoot
    read: ReadEntries
    data: str
    part: Part
    sampling: Sampling

    def entries(self, *more: Part, dropped: DropReport | None = None) -> list[SplitEntry]:
        """Return the papers of the part, and of more parts.

        Papers that the data set assigns to one of the parts, but another data set does not, are counted.
        """
        parts = (self.part, *more)
        of_data = self.read(self.data_root, self.data)
        for entry in of_data:
            if entry.own_part in parts and entry.part not in parts:
                (self.sampling.report.dropped if dropped is None else dropped).add(ELSEWHERE, entry.paper.id)
        return [entry for entry in of_data if entry.part in parts]

    def records(self, file: str) -> Iterator[dict[str, Any]]:
        """Yield the records of a file of the data set."""
        return self.data_root.records(self.data_root.local(f"{self.data}/{file}"))

    def find_part(self, paper: Paper, *data: str) -> Part | None:
        """Return the part of a paper, by its title and ids, those of `data` too; None if it is unknown."""
        return SplitTable.load(self.data_root).part(*list_paper_keys(paper, *data))

    def has_paper(self, paper: Paper) -> bool:
        """Return whether a paper, of data that no rule splits, is known and of the part; count it if not."""
        part = self.find_part(paper, self.data)
        if part != self.part:
            self.sampling.drop(ELSEWHERE if part else "paper without a title", paper.id)
        return part == self.part

    def select(self, papers: Sequence[PaperAnswers], limit: int) -> list[PaperAnswers]:
        """Return the papers whose ids have the lowest hashes, at most `limit`, 0 for all; count them."""
        rows = replace(self.sampling, limit=limit).select([paper.id for paper, _ in papers])
        self.sampling.report.queries += len(rows)
        return [papers[row] for row in rows]


def build_term_labels(
    source: OpenPart, *, terms: str, vocabulary: str, max_per_label: int = MAX_PER_LABEL
) -> Iterator[Example]:
    """Yield papers with their terms of a vocabulary, and terms of related papers as negatives."""
    labels, rows = VOCABULARIES[vocabulary](source.data_root)
    entries = source.entries()
    for entry in entries:
        for term in entry.row[terms] or ():
            if term not in rows:
                source.sampling.drop(OUTSIDE, term)
    paper_labels = [[rows[term] for term in entry.row[terms] or () if term in rows] for entry in entries]
    return _pair_labels(source, entries, labels, paper_labels, max_per_label)


def build_class_labels(source: OpenPart, *, target: str, names: ClassNames) -> Iterator[Example]:
    """Yield equally many papers of each class with its name, and classes of related papers as negatives."""
    labels = [Label(id=key, name=name) for key, name in names]
    rows = {label.id: row for row, label in enumerate(labels)}
    entries = source.entries()
    paper_labels = [[rows[key] for key in [str(entry.row[target])] if key in rows] for entry in entries]
    return _pair_labels(source, entries, labels, paper_labels, ceil(source.sampling.limit / len(labels)))


def _pair_labels(
    source: OpenPart,
    entries: Sequence[SplitEntry],
    labels: Sequence[Label],
    paper_labels: Sequence[Sequence[int]],
    max_per_label: int,
) -> Iterator[Example]:
    papers = [replace(entry.paper, authors=tuple(entry.row.get("authors") or ())) for entry in entries]
    return sample_label_pairs(papers, labels, paper_labels, source.sampling, max_per_label=max_per_label)


def build_class_answers(source: OpenPart, *, target: str, names: ClassNames) -> Iterator[Example]:
    """Yield equally many papers of each class with its name as the answer, in mixed order of classes."""
    name_of = dict(names)
    by_class: dict[str, list[PaperAnswers]] = {}
    for entry in source.entries():
        if (key := str(entry.row[target])) in name_of:
            by_class.setdefault(key, []).append((entry.paper, (name_of[key],)))
    limit = ceil(source.sampling.limit / len(names))
    selected = [paper for key in sorted(by_class) for paper in source.select(by_class[key], limit)]
    selected.sort(key=lambda row: random_fraction(source.sampling.seed, row[0].id))
    return (Example(paper, answers=answers) for paper, answers in selected)


def build_mesh_answers(source: OpenPart) -> Iterator[Example]:
    """Yield papers that have any of the most frequent MeSH terms of train, with all that they have."""
    labels, rows = VOCABULARIES["mesh"](source.data_root)
    train = replace(source, part="train").entries(dropped=DropReport())
    frequent = {*most_frequent(term for entry in train for term in entry.row["mesh"] or () if term in rows)}
    papers: list[PaperAnswers] = []
    for entry in source.entries():
        if frequent_terms := sorted(frequent.intersection(entry.row["mesh"] or ())):
            papers.append((entry.paper, tuple(labels[rows[term]].name for term in frequent_terms)))
        else:
            source.sampling.drop("no frequent term", entry.paper.id)
    return (Example(paper, answers=answers) for paper, answers in source.select(papers, source.sampling.limit))


def build_number_answers(source: OpenPart, *, target: str, scale: Scale = "as it is") -> Iterator[Example]:
    """Yield papers with a number, scaled like the task's and then to 0-1; papers without one are counted."""
    numbers = PaperNumbers(data=source.data, target=target, scale=scale)
    entries = [entry for entry in source.entries() if entry.row.get(target) is not None]
    values = numbers.scale_numbers(entries, source.sampling.report.dropped)
    low, high = min(values.values(), default=0.0), max(values.values(), default=1.0)
    width = (high - low) or 1.0
    papers: list[PaperAnswers] = [
        (entry.paper, (round((values[entry.paper.id] - low) / width, 6),))
        for entry in entries
        if entry.paper.id in values
    ]
    return (Example(paper, answers=answers) for paper, answers in source.select(papers, source.sampling.limit))


def build_citations(source: OpenPart) -> Iterator[Example]:
    """Yield papers with those that they cite; references to papers of another part are counted.

    Candidates of dev queries include train papers.
    """
    entries = source.entries("train")
    edges = [(entry.paper.id, name) for entry in entries for name in entry.row["references"]]
    queries = [entry.paper.id for entry in entries if entry.part == source.part]
    return sample_citation_triplets([entry.paper for entry in entries], edges, source.sampling, queries=queries)


def build_same_author(source: OpenPart) -> Iterator[Example]:
    """Yield papers with others by their authors. Candidates of dev queries include train papers."""
    entries = []
    for entry in source.entries("train"):
        if any(entry.row["author_ids"] or ()):
            entries.append(entry)
        elif entry.part == source.part:
            source.sampling.drop("no author_ids", entry.paper.id)
    names = [[name for name in entry.row["author_ids"] if name] for entry in entries]
    queries = [entry.paper.id for entry in entries if entry.part == source.part]
    papers = [entry.paper for entry in entries]
    return sample_same_author(papers, names, source.sampling, queries=queries, positives=2)


def build_titles(source: OpenPart) -> Iterator[Example]:
    """Yield titles with their abstracts, which have no title."""
    papers = (entry.paper for entry in source.entries())
    return pair_texts(((p.title, Paper(id=p.id, abstract=p.abstract)) for p in papers), source.sampling)


def build_summaries(source: OpenPart) -> Iterator[Example]:
    """Yield summaries with their papers; papers without a summary are skipped."""
    rows = ((entry.row["tldr"], entry.paper) for entry in source.entries() if entry.row["tldr"])
    return pair_texts(rows, source.sampling)


def build_clicks(source: OpenPart) -> Iterator[Example]:
    """Yield queries with clicked and other shown papers; papers of other parts are dropped."""
    lists = []
    for row in source.records("search.jsonl.gz"):
        if source.find_part(Paper(id=UNNAMED, title=row["query"])) not in (None, source.part):
            source.sampling.drop("query that is the title of a paper of another part", row["query"])
            continue
        candidates = [(parse_s2_paper(record), record["score"]) for record in row["candidates"]]
        shown = [(paper, score) for paper, score in candidates if source.has_paper(paper)]
        lists.append(ScoredList(row["query"], [paper for paper, _ in shown], [score for _, score in shown]))
    return sample_clicks(lists, source.sampling)


def build_triplets(source: OpenPart) -> Iterator[Example]:
    """Yield the published triplets whose papers are all of the part."""
    for row in source.records("specter_triplets.jsonl.gz"):
        query, positive, negative = (parse_s2_paper(row[key]) for key in ("query", "pos", "neg"))
        if all(source.has_paper(paper) for paper in (query, positive, negative)):
            source.sampling.report.add(QuerySample((0,), (0,), ("as published",)))
            yield Example(query, (positive,), (negative,))


def parse_s2_paper(row: dict[str, Any]) -> Paper:
    """Return a paper of a SciRepEval training example, with its Semantic Scholar id."""
    paper = next(read_paper(row))
    return paper if paper.id == UNNAMED else replace(paper, ids={**paper.ids, "s2": paper.id})


MAX_QUERIES = 20_000  # queries of a train file, so that no source dominates and a laptop can train on them
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

    def source(self, data_root: DataRoot, read: ReadEntries) -> TrainingSource:
        """Return the training source."""
        format, query, candidate = KINDS[self.kind]
        return TrainingSource(
            name=self.name,
            format=format,
            query=query,
            candidate=candidate,
            data=self.data,
            build=lambda part, sampling: self.build(OpenPart(data_root, read, self.data, part, sampling)),
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
arxiv_labels = partial(build_class_labels, target="field", names=ARXIV_FIELDS)
arxiv_answers = partial(build_class_answers, target="field", names=ARXIV_FIELDS)
mag_labels = partial(build_class_labels, target="label", names=MAG_FIELDS)
mag_answers = partial(build_class_answers, target="label", names=MAG_FIELDS)
years = partial(build_number_answers, target="year")
citation_counts = partial(build_number_answers, target="citation_count", scale="rank share")

# Sets of one data set are next to each other, so that it is read once. SciFact's claims have none: their evidence
# is in its test; nor have keywords, which the open suite keeps out of train.
TRAINING_SETS = (
    TrainingSet("arxiv-categories", "labels", ARXIV, arxiv_terms, ("arxiv-categories",)),
    TrainingSet("arxiv-categories-all", "labels", ARXIV, partial(arxiv_terms, max_per_label=0), ("arxiv-categories",)),
    TrainingSet("arxiv-fields", "labels", ARXIV, arxiv_labels, ("arxiv-field-names",)),
    TrainingSet("arxiv-classes", "classes", ARXIV, arxiv_answers, ("arxiv-field",)),
    TrainingSet("arxiv-year-numbers", "numbers", ARXIV, years, ("arxiv-year",)),
    TrainingSet("arxiv-titles", "searches", ARXIV, build_titles, ("title-to-abstract",)),
    TrainingSet("mesh-headings", "labels", MESH, mesh_terms, ("mesh-headings",)),
    TrainingSet("mesh-headings-all", "labels", MESH, partial(mesh_terms, max_per_label=0), ("mesh-headings",)),
    TrainingSet("mesh-classes", "classes", MESH, build_mesh_answers, ("mesh-headings",)),
    TrainingSet("pubmed-titles", "searches", MESH, build_titles, ("title-to-abstract",)),
    TrainingSet("mag-fields", "labels", MAG, mag_labels, ("mag-title-names",)),
    TrainingSet("mag-classes", "classes", MAG, mag_answers, ("mag-titles",)),
    TrainingSet("vis-citations", "links", VIS, build_citations, ("vis-citation", "vis-citation-retrieval")),
    TrainingSet("vis-citation-count-numbers", "numbers", VIS, citation_counts, ("vis-citation-count",)),
    TrainingSet("same-author", "links", CONFERENCES, build_same_author, ("same-author",)),
    TrainingSet("citation-count-numbers", "numbers", CONFERENCES, citation_counts, ("citation-count",)),
    TrainingSet("conference-year-numbers", "numbers", CONFERENCES, years, ("conference-year",)),
    TrainingSet("conference-titles", "searches", CONFERENCES, build_titles, ("title-to-abstract",)),
    TrainingSet("summaries", "searches", CONFERENCES, build_summaries, ("summary-to-paper",)),
    TrainingSet("specter-triplets", "links", SAMPLES, build_triplets),
    TrainingSet("search-clicks", "searches", SAMPLES, build_clicks),
)


def prepare_open(data_root: DataRoot, out: Path, *, seed: int = 0, max_queries: int = MAX_QUERIES) -> Preparation:
    """Write `train/NAME.jsonl` and `dev/NAME.jsonl` of every set whose data exist, and `sources.json`.

    max_queries: of a train file, 0 for all. Runs with the same settings write the same bytes. Raises
    InputError where no set can be written.
    """
    read, folder = lru_cache(maxsize=1)(read_entries), ExampleFolder(out)
    limits: dict[Part, int] = {"train": max_queries, "dev": MAX_DEV_QUERIES}
    done = Preparation(files=folder.counts)
    rows, records = list[list[str | int]](), list[dict[str, Any]]()
    for training_set in TRAINING_SETS:
        obstacle = training_set.find_obstacle(data_root)
        parts = {} if obstacle else limits
        samplings = {part: Sampling(limit=limit, seed=seed) for part, limit in parts.items()}
        source = training_set.source(data_root, read)
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
    if missing:
        names = f"{', '.join(missing[:3])}{', ...' if len(missing) > 3 else ''} (not_in_split in sources.json)"
        done.warnings = [
            f"{count_noun(len(missing), 'data set')} missing: these sources may hold papers of their tests: {names}"
        ]
    done.tables = [CountTable(WORDS, COUNTS, rows)]
    record = {"seed": seed, "max_queries": max_queries, "sources": records}
    record |= {"skipped": done.not_made, "not_in_split": missing, "data": data_root.provenance()}
    done.record = folder.write_manifest("sources.json", record)
    return done
