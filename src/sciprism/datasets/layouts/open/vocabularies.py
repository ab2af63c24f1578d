"""Papers and the labels that they carry: headings of a large vocabulary, or the names of a few classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import LabelSpace
from sciprism.datasets.layouts.open.drawn import ALL, Sizes, as_rows, divide, note_missing
from sciprism.datasets.split import Entry, entries
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Label

OUTSIDE = "term outside the vocabulary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Headings:
    """Read test papers with their terms, and the vocabulary of these terms.

    terms: the papers' field. vocabulary: a name of `VOCABULARIES`, or "" to take the terms that at least two
    of the papers carry, as authors write them but for case. Terms outside of it are counted.
    """

    data: str
    terms: str
    vocabulary: str = ""
    sizes: Sizes = ALL

    def __post_init__(self) -> None:
        if self.vocabulary and self.vocabulary not in VOCABULARIES:
            raise InputError(f"unknown vocabulary {self.vocabulary!r}; known: {', '.join(VOCABULARIES)}")

    def read(self, home: DataRoot) -> LabelSpace:
        """Return the drawn papers that have terms, and all labels."""
        tally = DropReport()
        note_missing(home, tally)
        known = []
        for entry in entries(home, self.data):
            if entry.row.get(self.terms):
                known.append(entry)
            elif entry.own == "test":
                tally.add(f"test paper without {self.terms}", entry.paper.id)
        found = divide(known, self.sizes, tally)["test"]
        if self.vocabulary:
            labels, rows = VOCABULARIES[self.vocabulary](home)
        else:
            labels, rows = _carried_twice(entry.row[self.terms] for entry in found)
        gold = []
        for entry in found:
            terms = [term if self.vocabulary else term.casefold() for term in entry.row[self.terms]]
            gold.append(as_rows(sorted({rows[term] for term in terms if term in rows})))
            for term in terms:
                if term not in rows:
                    tally.add(OUTSIDE, term)
        return _space(found, labels, gold, tally)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassNames:
    """Read test papers with their class, and a readable name of each class, as a label.

    names: (class as the data write it, name). A paper with several of the classes keeps them all.
    """

    data: str
    target: str
    names: tuple[tuple[str, str], ...]
    sizes: Sizes = ALL

    def read(self, home: DataRoot) -> LabelSpace:
        """Return the drawn test papers and the classes; a class without a name is counted."""
        tally = DropReport()
        note_missing(home, tally)
        found = divide(entries(home, self.data), self.sizes, tally)["test"]
        labels = [Label(id=own, name=name) for own, name in self.names]
        rows = {label.id: row for row, label in enumerate(labels)}
        gold = []
        for entry in found:
            value = entry.row[self.target]
            classes = [str(own) for own in (value if isinstance(value, list) else [value])]
            gold.append(as_rows(sorted({rows[own] for own in classes if own in rows})))
            for own in classes:
                if own not in rows:
                    tally.add("class without a name", own)
        return _space(found, labels, gold, tally)


def arxiv_categories(home: DataRoot) -> tuple[list[Label], dict[str, int]]:
    """Return arXiv's categories with their definitions; the id of an old one leads to the one it became."""
    records = list(home.records(home.local("labels_arxiv/categories.jsonl.gz")))
    own = [row for row in records if not row["alias_of"]]
    labels = [Label(id=row["id"], name=row["name"], definition=row["definition"] or "") for row in own]
    rows = {label.id: row for row, label in enumerate(labels)}
    rows |= {row["id"]: rows[row["alias_of"]] for row in records if row["alias_of"] in rows}
    return labels, rows


def mesh_headings(home: DataRoot) -> tuple[list[Label], dict[str, int]]:
    """Return the MeSH descriptors and the row of each name."""
    labels = [
        Label(id=row["id"], name=row["name"], codes=tuple(row["tree_numbers"]))
        for row in home.records(home.local("labels_mesh/descriptors.jsonl.gz"))
    ]
    return labels, {label.name: row for row, label in enumerate(labels)}


Vocabulary = Callable[[DataRoot], tuple[list[Label], dict[str, int]]]
VOCABULARIES: Mapping[str, Vocabulary] = {"arxiv": arxiv_categories, "mesh": mesh_headings}


def _carried_twice(terms: Iterable[Sequence[str]]) -> tuple[list[Label], dict[str, int]]:
    counts = Counter(term for each in terms for term in {term.casefold() for term in each})
    kept = sorted(term for term, count in counts.items() if count > 1)
    return [Label(id=term, name=term) for term in kept], {term: row for row, term in enumerate(kept)}


def _space(
    found: Sequence[Entry], labels: Sequence[Label], gold: Sequence[Rows], tally: DropReport
) -> LabelSpace:
    return LabelSpace(
        paper_ids=[entry.paper.id for entry in found],
        papers=[entry.paper for entry in found],
        labels=labels,
        gold=gold,
        tally=tally,
    )
