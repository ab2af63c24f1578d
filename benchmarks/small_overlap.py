"""Measure which papers and labels of the `open` suite's tests are in the training sources of sciprism-small.

Reads the files that its recipe names, as `make small` prepares them, and compares their papers with the tests as
`sciprism overlap` does. A test's labels were seen where

- a file teaches the same field of other papers of its data set (their category, year, citations), or
- more than half of the names of its labels are labels of a file;

its source was seen where a twentieth of the papers of its data set are in the files. Five minutes, from the
repository root:

    SCIPRISM_DATA=... python benchmarks/small_overlap.py out/small/sources -o results/small/overlap.json
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from measurement import build_parser, provenance, write_result
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import LabelInput
from sciprism.datasets.open_data import OPEN_DATA_BY_NAME, UNNAMED
from sciprism.evaluation.overlap import TaskOverlap, find_overlap, read_test_papers
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import Task, to_declaration
from sciprism.files import sha256
from sciprism.papers.records import Label, Paper
from sciprism.prepare.open import TRAINING_SETS
from sciprism.prepare.pairs import shapes
from sciprism.training.examples import Example, read_examples
from sciprism.training.recipe import Recipe
from sciprism.training.recipe_file import read_recipe

OPEN = suites["open"]
RECIPE = Path(__file__).parent.parent / "recipes" / "sciprism-small.toml"
SOURCE_SHARE = 0.05
"""A data set is a source if the files have at least this share of its papers; others share papers by chance."""
LABEL_SHARE = 0.5
FIELDS = ("target", "terms", "link", "field")
"""What a layout calls the field of the data with the labels."""


@dataclass(slots=True)
class TrainingFile:
    """The distinct texts of one file of a recipe. excerpts: sentences, of papers with these ids."""

    examples: int = 0
    papers: dict[tuple[str, str, str], Paper] = field(default_factory=dict)
    excerpts: dict[str, None] = field(default_factory=dict)
    excerpt_ids: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)

    def add(self, example: Example, excerpts: bool) -> None:
        """Add the texts of an example; a title that is the query completes the abstracts that answer it."""
        self.examples += 1
        title = example.query if isinstance(example.query, str) else ""
        if excerpts:
            self.excerpts[title] = None
        for item in (example.query, *example.positives, *example.negatives):
            if isinstance(item, Label):
                self.labels.add(item.name.casefold())
            elif isinstance(item, Paper) and excerpts:
                self.excerpts[item.abstract] = None
                self.excerpt_ids.add(item.id)
            elif isinstance(item, Paper):
                paper = replace(item, title=item.title or title)
                self.papers.setdefault((paper.id, paper.title, paper.abstract), paper)


def read_files(recipe: Recipe) -> dict[Path, TrainingFile]:
    """Read every file of a recipe once."""
    specs = {spec.file: spec for stage in recipe.stages for spec in stage.sources}
    found = {path: TrainingFile() for path in specs}
    for path, spec in specs.items():
        excerpts = path.stem in shapes and shapes[path.stem].excerpts
        for example in read_examples(path, query=spec.query, candidate=spec.candidate):
            found[path].add(example, excerpts)
    return found


def list_data_sets(task: Task) -> tuple[str, ...]:
    """Return the open data sets that a task's declaration names."""

    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, str) and value in OPEN_DATA_BY_NAME:
            yield value
        elif isinstance(value, Mapping | list):
            for each in value.values() if isinstance(value, Mapping) else value:
                yield from walk(each)

    return tuple(dict.fromkeys(walk(to_declaration(task.data))))


def read_data_sets(data_root: DataRoot) -> dict[str, list[Paper]]:
    """Return all papers of each data set that the suite tests on, without year: some are no whole number."""
    names = dict.fromkeys(name for task in OPEN.tasks for name in list_data_sets(task))
    return {
        name: [
            replace(paper, year=None, id="" if paper.id == UNNAMED else paper.id)
            for _, paper, _ in OPEN_DATA_BY_NAME[name].read(data_root)
        ]
        for name in names
    }


def count_shared(papers: Iterable[Paper], data_sets: Mapping[str, list[Paper]]) -> dict[str, int]:
    """Return how many papers are in each data set, by id and title."""
    found = find_overlap(papers, data_sets, near_duplicates=None)
    return {each.task: each.training for each in found.tasks}


def describe_data_sets(data_sets: Mapping[str, list[Paper]], papers: Iterable[Paper]) -> dict[str, dict[str, Any]]:
    """Return how many papers each data set has, how many are in training, and whether it is a source."""
    shared = count_shared(papers, data_sets)
    return {
        name: {"papers": len(found), "training": shared[name], "source": shared[name] >= SOURCE_SHARE * len(found)}
        for name, found in data_sets.items()
    }


def describe_files(
    recipe: Recipe, files: Mapping[Path, TrainingFile], sources: Path, data_sets: Mapping[str, list[Paper]]
) -> dict[str, dict[str, Any]]:
    """Return of each file its size, the data sets of its papers, and how each stage uses it."""
    by_id = {paper.id: paper for each in files.values() for paper in each.papers.values()}
    found = {}
    for path, each in files.items():
        uses = [
            {"stage": stage.name, "format": spec.format, "objective": stage.objective_of(spec)["name"]}
            for stage in recipe.stages
            for spec in stage.sources
            if spec.file == path
        ]
        papers = each.papers.values() if each.papers else [by_id[name] for name in sorted(each.excerpt_ids)]
        shared = count_shared(papers, data_sets)
        found[path.relative_to(sources).as_posix()] = {
            "sha256": sha256(path),
            "examples": each.examples,
            "papers": len(papers),
            "labels": len(each.labels),
            "data": {name: count for name, count in shared.items() if count >= SOURCE_SHARE / 5 * len(papers)},
            "uses": list({tuple(use.items()): use for use in uses}.values()),
        }
    return found


def find_teachers(recipe: Recipe) -> dict[str, list[str]]:
    """Return the training sets that teach the labels of each task: those of the task, or of the same field."""
    uses = [(spec.file.stem, stage.objective_of(spec)) for stage in recipe.stages for spec in stage.sources]
    used = {name for name, objective in uses if objective["name"] != "vectors"}
    fields = {task.name: field_of(task) for task in OPEN.tasks}
    taught = {each.name: {fields[name] for name in each.tasks} for each in TRAINING_SETS if each.name in used}
    return {task: [name for name, some in taught.items() if own in some] for task, own in fields.items()}


def field_of(task: Task) -> tuple[str, ...]:
    """Return where a task's labels are: its data sets, and the field or else the layout."""
    names = [str(getattr(task.data, name)) for name in FIELDS if hasattr(task.data, name)]
    return (*list_data_sets(task), *(names or [type(task.data).__name__]))


def describe_task(
    task: Task, overlap: TaskOverlap, data_root: DataRoot, labels: set[str], data: Mapping[str, Any], by: list[str]
) -> dict[str, Any]:
    """Return what a task shares with training, and whether that is labels, their source alone, or neither."""
    read = task.data.read(data_root)
    gold = {row for rows in read.gold for row in rows.tolist()} if isinstance(read, LabelInput) else set()
    names = {read.labels[row].name.casefold() for row in gold}
    seen, names_of = len(names & labels), list_data_sets(task)
    taught = bool(by) or seen > LABEL_SHARE * len(names)
    source = any(data[name]["source"] for name in names_of)
    return {
        "data": names_of,
        "seen": "labels" if taught else "source" if source else "neither",
        "files": by,
        "labels": len(names),
        "labels_in_training": seen,
        "papers": overlap.tested,
        "papers_in_training": overlap.found,
        "reasons": dict(overlap.reasons),
        "examples": [[each.test, each.train] for each in overlap.examples],
    }


def measure(sources: Path, data_root: DataRoot, near_duplicates: float) -> dict[str, Any]:
    """Return what the result file says, without its provenance."""
    recipe = read_recipe(RECIPE, sources=sources)
    files = read_files(recipe)
    papers = {key: paper for each in files.values() for key, paper in each.papers.items()}
    excerpts = {text: Paper(id="", title=text) for each in files.values() for text in each.excerpts}
    tests, unread = read_test_papers(data_root, OPEN.tasks)
    if unread:
        raise SystemExit(f"not read: {unread}")
    found = find_overlap([*papers.values(), *excerpts.values()], tests, near_duplicates=near_duplicates)
    data_sets = read_data_sets(data_root)
    data = describe_data_sets(data_sets, papers.values())
    trained = {name: data_sets[name] for name, each in data.items() if each["source"]}
    labels, teachers = set().union(*(each.labels for each in files.values())), find_teachers(recipe)
    overlaps = {each.task: each for each in found.tasks}
    describe = partial(describe_task, data_root=data_root, labels=labels, data=data)
    return {
        "near_duplicates": near_duplicates,
        "papers": len(papers),
        "sentences": len(excerpts),
        "in_tests": found.training,
        "files": describe_files(recipe, files, sources, trained),
        "data": data,
        "tasks": {task.name: describe(task, overlaps[task.name], by=teachers[task.name]) for task in OPEN.tasks},
    }


def main() -> None:
    parser = build_parser(__doc__, data=True)
    parser.add_argument("sources", type=Path, help="the folder of prepared sources")
    args = parser.parse_args()
    found = measure(args.sources, DataRoot(args.data), 0.8)
    write_result(args.output, provenance(["sciprism", "numpy"], **found))


if __name__ == "__main__":
    main()
