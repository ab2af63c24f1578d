"""User papers, each with its target: one table, or one for each part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import ProbeInput
from sciprism.datasets.layouts.item_tables import (
    TableRow,
    check_references,
    find_files,
    read_item_table,
    read_rows,
    require_file,
)
from sciprism.datasets.open_data import PARTS
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.seeding import random_fraction

ID_COLUMNS = ("id", "_id", "paper_id")
PART_NAMES = {"train": "train", **dict.fromkeys(("dev", "val", "valid", "validation"), "dev"), "test": "test"}
"""Name in a file -> our name of the part."""
TEST_SHARE = 0.3  # share of each class that is test, where the data have no split

Targets = Mapping[str, str] | Mapping[str, tuple[str, ...]] | Mapping[str, float]


class _LabelledRow(NamedTuple):
    """A row of a table; part: "" where the table has no split."""

    row: TableRow
    part: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTable:
    """Read papers with a class, several classes or a number each.

    data: a table (CSV, TSV, JSON lines) of id, title, abstract and `label`, or a folder with `train`, `dev`
    and `test` tables, or with one named `labels` or `papers`. papers: files of any known format with the
    texts, if the table has none. label: the column to predict; a list, or a text with ";", is several
    classes. target: "class" or "number". positive: the positive class of two. group: the column that divides
    the papers into separate problems.

    A column `split` says train, dev or test. Without one, `TEST_SHARE` of each class is test, sampled by a
    hash of the ids and `draw_seed`; papers with several classes or with numbers are sampled as one class.
    allow_missing: score although many labelled papers have no text in `papers` (`references`).
    """

    data: str
    papers: tuple[str, ...] = ()
    label: str = "label"
    target: Literal["class", "number"] = "class"
    positive: str = ""
    group: str = ""
    draw_seed: int = 0
    allow_missing: bool = False

    def read(self, data_root: DataRoot) -> ProbeInput:  # noqa: ARG002 (the signature of layouts)
        """Return the papers that have a label. Raises InputError where train or test would be empty."""
        dropped = DropReport(keep_all=True)
        data = Path(self.data)
        tables = [("", data)]  # the part, "" where each row has its own, and the path
        if data.is_dir():
            tables = [(part, path) for name, part in PART_NAMES.items() for path in find_files(data, name)]
            tables = tables or [("", require_file(data, "labels", "papers"))]
        labelled = self._read_labels(tables, dropped)
        table = read_item_table(self.papers or [path for _, path in tables], dropped)
        unknown = [name for name in labelled if name not in table]
        check_references("labelled papers", unknown, len(labelled), table.ids, self.allow_missing)
        dropped.add_all("label of an unknown paper", unknown)
        labelled = {name: row for name, row in labelled.items() if name in table}
        targets = self._targets(labelled)
        parts = self._parts(labelled, targets, dropped)
        _check_classes(parts, targets, self, dropped)
        rows = {part: np.flatnonzero([parts[name] == part for name in labelled]) for part in PARTS}
        return ProbeInput(
            ids=list(labelled),
            items=[table.items[table.row(name)] for name in labelled],
            targets=list(targets.values()),  # type: ignore[arg-type]  # all of one type
            **rows,
            groups=[row.group for row in labelled.values()] if self.group else None,
            positive=self.positive,
            dropped=dropped,
        )

    def _read_labels(self, tables: Sequence[tuple[str, Path]], dropped: DropReport) -> dict[str, _LabelledRow]:
        labelled: dict[str, _LabelledRow] = {}
        for part, path in tables:
            for row in read_rows(path, dropped):
                name = row.id(*ID_COLUMNS)
                if not row.has(self.label):
                    row.need(self.label)  # raises an error that lists the columns
                if row.get(self.label) is None:
                    dropped.add(f"no {self.label}", name)
                    continue
                new = _LabelledRow(row, part or parse_part(row), row.id(self.group) if self.group else "")
                old = labelled.setdefault(name, new)
                if old.row.get(self.label) != row.get(self.label) or old.part != new.part:
                    raise row.error(f"paper {name} occurs again with another {self.label} or split")
                if old is not new:
                    dropped.add("duplicate label of a paper", name)
        return labelled

    def _targets(self, labelled: Mapping[str, _LabelledRow]) -> Targets:
        if self.target == "number":
            return {name: row.row.number(self.label) for name, row in labelled.items()}
        lists = {name: row.row.several(self.label) for name, row in labelled.items()}
        values = [row.row.get(self.label) for row in labelled.values()]
        if any(isinstance(value, list) for value in values) or any(len(row) > 1 for row in lists.values()):
            return lists
        return {name: row.row.id(self.label) for name, row in labelled.items()}

    def _parts(self, labelled: Mapping[str, _LabelledRow], targets: Targets, dropped: DropReport) -> dict[str, str]:
        if any(row.part for row in labelled.values()):
            missing = next((row for row in labelled.values() if not row.part), None)
            if missing is not None:
                raise missing.row.error("no split, but other rows have one")
            return {name: row.part for name, row in labelled.items()}
        classes = {name: target if isinstance(target, str) else "" for name, target in targets.items()}
        parts = split_by_hash(classes, self.draw_seed)
        for name, part in parts.items():
            if part == "test":
                dropped.add(f"no split: {TEST_SHARE:.0%} of a class sampled as test by a hash of the id", name)
        return parts


def split_by_hash(classes: Mapping[str, str], seed: int) -> dict[str, str]:
    """Return id -> "train" or "test", given id -> class: in each class, the ids with lowest hash are test.

    The order of the rows does not matter. A class of two papers or more has at least one in each part; a
    class of one is train.
    """
    by_class: defaultdict[str, list[str]] = defaultdict(list)
    for name in classes:
        by_class[classes[name]].append(name)
    test: set[str] = set()
    for names in by_class.values():
        size = min(max(round(TEST_SHARE * len(names)), 1), len(names) - 1)
        test.update(sorted(names, key=lambda name: (random_fraction(seed, name), name))[:size])
    return {name: "test" if name in test else "train" for name in classes}


def parse_part(row: TableRow) -> str:
    """Return the part in a row's column `split`, "" where it is empty. Raises InputError for another name."""
    value = row.get("split")
    if value is None:
        return ""
    if part := PART_NAMES.get(str(value).strip().lower()):
        return part
    raise row.error(f"unknown split {value!r}; known: {', '.join(PART_NAMES)}")


def _check_classes(parts: Mapping[str, str], targets: Targets, table: LabelledTable, dropped: DropReport) -> None:
    """Raise InputError where train or test cannot be used; count the classes that are in one of them only."""
    for part in ("train", "test"):
        if part not in parts.values():
            raise InputError(f"{table.data}: no {part} paper with a {table.label}")
    if table.target == "number":
        return
    classes: dict[str, set[str]] = defaultdict(set)
    for name, target in targets.items():
        classes[parts[name]].update(target if isinstance(target, tuple) else (str(target),))
    train, test = classes["train"], classes["test"]
    if len(train) < 2:
        raise InputError(
            f"{table.data}: the training papers have one class ({', '.join(train) or 'none'}); two are needed"
        )
    if table.positive and table.positive not in train:
        known = ", ".join(sorted(train))
        raise InputError(f"{table.data}: no training paper has the positive class {table.positive!r}; known: {known}")
    for label in sorted(test - train):
        dropped.add("class of test papers without a training paper", label)
    for label in sorted(train - test):
        dropped.add("class of training papers without a test paper", label)
