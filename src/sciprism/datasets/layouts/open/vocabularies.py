"""Papers and their labels: headings of a large vocabulary, or the names of a few classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import LabelInput
from sciprism.datasets.layouts.open.sampling import (
    ALL,
    SampleSizes,
    count_missing_data_sets,
    sample_parts,
    to_rows,
)
from sciprism.datasets.split import SplitEntry, read_entries
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Label

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
        known = []
        for entry in read_entries(data_root, self.data):
            if entry.row.get(self.terms):
                known.append(entry)
            elif entry.own_part == "test":
                dropped.add(f"test paper without {self.terms}", entry.paper.id)
        found = sample_parts(known, self.sizes, dropped)["test"]
        if self.vocabulary:
            labels, rows = VOCABULARIES[self.vocabulary](data_root)
        else:
            counts = Counter(term for entry in found for term in {t.casefold() for t in entry.row[self.terms]})
            frequent = sorted(term for term, count in counts.items() if count > 1)
            labels = [Label(id=term, name=term) for term in frequent]
            rows = {term: row for row, term in enumerate(frequent)}
        terms = [[t if self.vocabulary else t.casefold() for t in entry.row[self.terms]] for entry in found]
        return _build_input(found, labels, terms, rows, OUTSIDE, dropped)


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
        found = sample_parts(read_entries(data_root, self.data), self.sizes, dropped)["test"]
        labels = [Label(id=key, name=name) for key, name in self.names]
        rows = {label.id: row for row, label in enumerate(labels)}
        values = [entry.row[self.target] for entry in found]
        classes = [[str(key) for key in (value if isinstance(value, list) else [value])] for value in values]
        return _build_input(found, labels, classes, rows, "class without a name", dropped)


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
    found: Sequence[SplitEntry],
    labels: Sequence[Label],
    names: Sequence[Sequence[str]],
    rows: Mapping[str, int],
    unknown: str,
    dropped: DropReport,
) -> LabelInput:
    """Return the input; names: of each paper's labels; rows: name -> row of the label."""
    for name in (name for each in names for name in each if name not in rows):
        dropped.add(unknown, name)
    return LabelInput(
        paper_ids=[entry.paper.id for entry in found],
        papers=[entry.paper for entry in found],
        labels=labels,
        gold=[to_rows(sorted({rows[name] for name in each if name in rows})) for each in names],
        dropped=dropped,
    )
