"""Papers of one's own with what is to be predicted of each: one table, or one for each part."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Labelled
from sciprism.datasets.layouts.tables import TableRow, find, needed, read_rows, read_shelf
from sciprism.datasets.sources import draw
from sciprism.drop_report import DropReport
from sciprism.errors import InputError

ID = ("id", "_id", "paper_id")
PART_NAMES = {
    "train": "train",
    "dev": "dev",
    "val": "dev",
    "valid": "dev",
    "validation": "dev",
    "test": "test",
}
"""How people call the parts -> our word."""
TEST_SHARE = 0.3
"""Of the papers of each class, where the data have no split."""

Targets = Mapping[str, str] | Mapping[str, tuple[str, ...]] | Mapping[str, float]


class _Told(NamedTuple):
    """What a table says of a paper; part: "" where it does not say."""

    row: TableRow
    part: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTable:
    """Read papers with a class, several classes or a number each.

    data: a table (CSV, TSV, JSON lines) of id, title, abstract and `label`, or a folder with `train`, `dev`
    and `test` tables, or with one called `labels` or `papers`. papers: files of any known format with the
    texts, if the table has none. label: the column to predict; a list, or a text with ";", is several
    classes. target: "number" where it is one. positive: the positive class of two. group: the column that
    divides the papers into problems of their own.

    A column `split` says train, dev or test. Without one each class gives `TEST_SHARE` of its papers to the
    test, drawn by a hash of their ids and `draw_seed`; papers of several classes, or with numbers, are drawn
    as one class.
    """

    data: str
    papers: tuple[str, ...] = ()
    label: str = "label"
    target: Literal["class", "number"] = "class"
    positive: str = ""
    group: str = ""
    draw_seed: int = 0

    def read(self, home: DataRoot) -> Labelled:  # noqa: ARG002 (the layouts' signature)
        """Return the papers that have a label. Raises InputError where nothing can be learnt or tested."""
        tally = DropReport()
        tables = self._tables()
        told = self._told(tables, tally)
        shelf = read_shelf(self.papers or [path for _, path in tables], tally)
        for name in [name for name in told if name not in shelf]:
            tally.add("label of a paper that is not there", name)
            del told[name]
        targets = self._targets(told)
        parts = self._parts(told, targets, tally)
        _check(parts, targets, self, tally)
        rows = {
            part: np.array([n for n, name in enumerate(told) if parts[name] == part], np.int64)
            for part in ("train", "dev", "test")
        }
        return Labelled(
            ids=list(told),
            items=[shelf.items[shelf.row(name)] for name in told],
            targets=list(targets.values()),  # type: ignore[arg-type]  # all of one type
            train=rows["train"],
            dev=rows["dev"],
            test=rows["test"],
            groups=[each.group for each in told.values()] if self.group else None,
            positive=self.positive,
            tally=tally,
        )

    def _tables(self) -> list[tuple[str, Path]]:
        """Return (part, or "" where the rows say it; path) of each table."""
        data = Path(self.data)
        if not data.is_dir():
            return [("", data)]
        parts = [(part, path) for name, part in PART_NAMES.items() for path in find(data, name)]
        return parts or [("", needed(data, "labels", "papers"))]

    def _told(self, tables: Sequence[tuple[str, Path]], tally: DropReport) -> dict[str, _Told]:
        told: dict[str, _Told] = {}
        for part, path in tables:
            for row in read_rows(path, tally):
                name = row.id(*ID)
                if not row.has(self.label):
                    row.need(self.label)  # which says what columns there are
                if row.get(self.label) is None:
                    tally.add(f"no {self.label}", name)
                    continue
                new = _Told(row, part or _part(row), row.id(self.group) if self.group else "")
                old = told.setdefault(name, new)
                if old.row.get(self.label) != row.get(self.label) or old.part != new.part:
                    raise row.error(f"paper {name} stands there again, with another {self.label} or split")
                if old is not new:
                    tally.add("repeated label of a paper", name)
        return told

    def _targets(self, told: Mapping[str, _Told]) -> Targets:
        if self.target == "number":
            return {name: each.row.number(self.label) for name, each in told.items()}
        lists = {name: each.row.several(self.label) for name, each in told.items()}
        values = [each.row.get(self.label) for each in told.values()]
        if any(isinstance(value, list) for value in values) or any(len(each) > 1 for each in lists.values()):
            return lists
        return {name: each.row.id(self.label) for name, each in told.items()}

    def _parts(self, told: Mapping[str, _Told], targets: Targets, tally: DropReport) -> dict[str, str]:
        if any(each.part for each in told.values()):
            lacking = next((each for each in told.values() if not each.part), None)
            if lacking is not None:
                raise lacking.row.error("no split, but other rows have one")
            return {name: each.part for name, each in told.items()}
        classes = {name: target if isinstance(target, str) else "" for name, target in targets.items()}
        parts = drawn_parts(classes, self.draw_seed)
        for name, part in parts.items():
            if part == "test":
                tally.add(
                    f"no split given: test paper drawn by a hash of its id, {TEST_SHARE:.0%} of a class", name
                )
        return parts


def drawn_parts(classes: Mapping[str, str], seed: int) -> dict[str, str]:
    """Return id -> "train" or "test", given id -> class: of each class those whose ids hash lowest are test.

    The order of the rows does not matter. A class of two papers or more has at least one in each part; a
    class of one is trained on.
    """
    together: defaultdict[str, list[str]] = defaultdict(list)
    for name in classes:
        together[classes[name]].append(name)
    tested: set[str] = set()
    for names in together.values():
        size = min(max(round(TEST_SHARE * len(names)), 1), len(names) - 1)
        tested.update(sorted(names, key=lambda name: (draw(name, seed), name))[:size])
    return {name: "test" if name in tested else "train" for name in classes}


def _part(row: TableRow) -> str:
    said = row.get("split")
    if said is None:
        return ""
    part = PART_NAMES.get(str(said).strip().lower())
    if part is None:
        raise row.error(f"the split is {said!r}; known: {', '.join(PART_NAMES)}")
    return part


def _check(parts: Mapping[str, str], targets: Targets, table: LabelledTable, tally: DropReport) -> None:
    """Make sure that there is something to learn and to test; count classes that are in one part alone."""
    sizes = Counter(parts.values())
    for part in ("train", "test"):
        if not sizes[part]:
            raise InputError(f"{table.data}: no {part} paper with a {table.label}")
    if table.target == "number":
        return
    classes = {
        part: Counter(label for name in parts if parts[name] == part for label in _classes(targets[name]))
        for part in ("train", "test")
    }
    if len(classes["train"]) < 2:
        named = ", ".join(classes["train"]) or "none"
        raise InputError(f"{table.data}: the training papers have one class ({named}); two are needed")
    if table.positive and table.positive not in classes["train"]:
        known = ", ".join(sorted(classes["train"]))
        raise InputError(
            f"{table.data}: no training paper has the positive class {table.positive!r}; known: {known}"
        )
    for label in sorted(classes["test"].keys() - classes["train"].keys()):
        tally.add("class of test papers without a training paper", label)
    for label in sorted(classes["train"].keys() - classes["test"].keys()):
        tally.add("class of training papers without a test paper", label)


def _classes(target: str | tuple[str, ...] | float) -> tuple[str, ...]:
    return target if isinstance(target, tuple) else (str(target),)
