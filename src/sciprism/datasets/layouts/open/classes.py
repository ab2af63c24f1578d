"""Classes, numbers and labels of papers in the open data: for probes, and for ranking a vocabulary."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sciprism.arrays import Doubles
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import LabelInput, ProbeInput, Target
from sciprism.datasets.layouts.open.sampling import (
    ALL,
    SampleSizes,
    build_probe_input,
    count_missing_data_sets,
    read_entries_with,
    sample_parts,
    to_rows,
)
from sciprism.datasets.open_data import PARTS, Part
from sciprism.datasets.split import SplitEntry, read_entries
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Label

Scale = Literal["as it is", "rank share", "deviation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperClasses:
    """Read the class of each paper, or all its classes where the field is a list.

    target: the field with the class. group: the field that names separate problems, such as topics of
    screening. positive: the positive class, where there are two.
    """

    data: str
    target: str
    sizes: SampleSizes = ALL
    group: str = ""
    positive: str = ""

    def read(self, data_root: DataRoot) -> ProbeInput:
        """Return the sampled papers with their classes; papers without a class are counted."""
        dropped = DropReport()
        labelled = read_entries_with(data_root, self.data, self.target, dropped)
        parts = sample_parts(labelled, self.sizes, dropped)

        def target(entry: SplitEntry) -> Target:
            value = entry.row[self.target]
            return tuple(dict.fromkeys(map(str, value))) if isinstance(value, list) else str(value)

        pairs = {part: [(entry, target(entry)) for entry in parts[part]] for part in PARTS}
        return build_probe_input(pairs, dropped, group=self.group, positive=self.positive)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperNumbers:
    """Read a number of each paper, as it is or relative to the papers of its venue and year.

    scale: "rank share" is (mean rank - 1/2) / n within the venue and year, near 0 for the smallest and near 1
    for the largest, so that years with more time to be cited are comparable; a logarithm would not change
    ranks. "deviation" is (value - mean) / standard deviation, for scores whose scales differ by venue and
    year. Both use all papers of the data set that have a value; a venue and year with fewer than `min_papers`
    of them is dropped and counted.
    """

    data: str
    target: str
    scale: Scale = "as it is"
    min_papers: int = 20
    sizes: SampleSizes = ALL

    def read(self, data_root: DataRoot) -> ProbeInput:
        """Return the sampled papers with their numbers; papers without a number are counted."""
        dropped = DropReport()
        labelled = read_entries_with(data_root, self.data, self.target, dropped)
        values = self.scale_numbers(labelled, dropped)
        parts = sample_parts([entry for entry in labelled if entry.paper.id in values], self.sizes, dropped)
        pairs: dict[Part, list[tuple[SplitEntry, Target]]] = {
            part: [(entry, values[entry.paper.id]) for entry in parts[part]] for part in PARTS
        }
        return build_probe_input(pairs, dropped)

    def scale_numbers(self, labelled: Sequence[SplitEntry], dropped: DropReport) -> Mapping[str, float]:
        """Return paper id -> number; dropped papers are counted."""
        if self.scale == "as it is":
            return {entry.paper.id: float(entry.row[self.target]) for entry in labelled}
        groups: dict[Any, list[SplitEntry]] = defaultdict(list)
        for entry in labelled:
            groups[entry.paper.venue, entry.paper.year].append(entry)
        scale = SCALES[self.scale]
        scaled: dict[str, float] = {}
        for (venue, year), group in groups.items():
            numbers = np.array([float(entry.row[self.target]) for entry in group])
            if len(group) < self.min_papers or not numbers.std():
                dropped.add(f"venue and year with fewer than {self.min_papers} papers", f"{venue} {year}")
                continue
            scaled |= dict(zip((entry.paper.id for entry in group), scale(numbers).tolist(), strict=True))
        return scaled


def compute_rank_shares(numbers: Doubles) -> Doubles:
    """Return (rank - 1/2) / n of each number; ties share their mean rank. (n,) -> (n,)."""
    _, groups, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    shares: Doubles = ((ends - counts / 2) / len(numbers))[groups]
    return shares


def compute_deviations(numbers: Doubles) -> Doubles:
    """Return (number - mean) / standard deviation. (n,) -> (n,)."""
    scaled: Doubles = (numbers - numbers.mean()) / numbers.std()
    return scaled


SCALES: Mapping[str, Callable[[Doubles], Doubles]] = {
    "rank share": compute_rank_shares,
    "deviation": compute_deviations,
}


OUTSIDE = "term outside the vocabulary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Headings:
    """Read test papers with their terms, and the vocabulary of these terms.

    terms: the papers' field. vocabulary: a name of `VOCABULARIES`, or "" for the lower-case terms of at least
    two of the papers. Terms outside the vocabulary are counted.
    """

    data: str
    terms: str
    vocabulary: str = ""
    sizes: SampleSizes = ALL

    def __post_init__(self) -> None:
        if self.vocabulary and self.vocabulary not in VOCABULARIES:
            raise InputError(f"unknown vocabulary {self.vocabulary!r}; known: {', '.join(VOCABULARIES)}")

    def read(self, data_root: DataRoot) -> LabelInput:
        """Return the sampled papers that have terms, and all labels."""
        dropped = DropReport()
        count_missing_data_sets(data_root, dropped)
        described = []
        for entry in read_entries(data_root, self.data):
            if entry.row.get(self.terms):
                described.append(entry)
            elif entry.own_part == "test":
                dropped.add(f"test paper without {self.terms}", entry.paper.id)
        entries = sample_parts(described, self.sizes, dropped)["test"]
        if self.vocabulary:
            labels, rows = VOCABULARIES[self.vocabulary](data_root)
        else:
            counts = Counter(term for entry in entries for term in {t.casefold() for t in entry.row[self.terms]})
            frequent = sorted(term for term, count in counts.items() if count > 1)
            labels = [Label(id=term, name=term) for term in frequent]
            rows = {term: row for row, term in enumerate(frequent)}
        terms = [[t if self.vocabulary else t.casefold() for t in entry.row[self.terms]] for entry in entries]
        return _build_input(entries, labels, terms, rows, OUTSIDE, dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassNames:
    """Read test papers with their class, and a readable name of each class, as a label.

    names: (class in the data, name). A paper may have several of the classes.
    """

    data: str
    target: str
    names: tuple[tuple[str, str], ...]
    sizes: SampleSizes = ALL

    def read(self, data_root: DataRoot) -> LabelInput:
        """Return the sampled test papers and the classes; classes without a name are counted."""
        dropped = DropReport()
        count_missing_data_sets(data_root, dropped)
        entries = sample_parts(read_entries(data_root, self.data), self.sizes, dropped)["test"]
        labels = [Label(id=key, name=name) for key, name in self.names]
        rows = {label.id: row for row, label in enumerate(labels)}
        values = [entry.row[self.target] for entry in entries]
        classes = [[str(key) for key in (value if isinstance(value, list) else [value])] for value in values]
        return _build_input(entries, labels, classes, rows, "class without a name", dropped)


def read_arxiv_categories(data_root: DataRoot) -> tuple[list[Label], dict[str, int]]:
    """Return arXiv's categories with their definitions, and id -> row, also for former ids."""
    records = list(data_root.records(data_root.local("labels_arxiv/categories.jsonl.gz")))
    current = [row for row in records if not row["alias_of"]]
    labels = [Label(id=row["id"], name=row["name"], definition=row["definition"] or "") for row in current]
    rows = {label.id: row for row, label in enumerate(labels)}
    rows |= {row["id"]: rows[row["alias_of"]] for row in records if row["alias_of"] in rows}
    return labels, rows


def read_mesh_headings(data_root: DataRoot) -> tuple[list[Label], dict[str, int]]:
    """Return the MeSH descriptors, and name -> row."""
    labels = [
        Label(id=row["id"], name=row["name"], codes=tuple(row["tree_numbers"]))
        for row in data_root.records(data_root.local("labels_mesh/descriptors.jsonl.gz"))
    ]
    return labels, {label.name: row for row, label in enumerate(labels)}


VOCABULARIES: Mapping[str, Callable[[DataRoot], tuple[list[Label], dict[str, int]]]] = {
    "arxiv": read_arxiv_categories,
    "mesh": read_mesh_headings,
}


def _build_input(
    entries: Sequence[SplitEntry],
    labels: Sequence[Label],
    names: Sequence[Sequence[str]],
    rows: Mapping[str, int],
    unknown: str,
    dropped: DropReport,
) -> LabelInput:
    """Return the input; names: of each paper's labels; rows: name -> row of the label."""
    for name in (name for own_names in names for name in own_names if name not in rows):
        dropped.add(unknown, name)
    return LabelInput(
        paper_ids=[entry.paper.id for entry in entries],
        papers=[entry.paper for entry in entries],
        labels=labels,
        gold=[to_rows(sorted({rows[name] for name in own_names if name in rows})) for own_names in names],
        dropped=dropped,
    )
