"""The files of SciDocs, and those of Multi-SciDocs beside them: qrels, class tables, metadata keyed by id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Labelled, Pools
from sciprism.datasets.layouts.item_tables import ItemTable, distinct, paper_of, text_of, year_of
from sciprism.datasets.layouts.judgements import of_file, pools, united
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.clicks import Click, Clicks
from sciprism.papers.records import Paper

OBTAIN = (
    "SciDocs is at s3://ai2-s2-research-public/specter/scidocs/ (aws s3 sync --no-sign-request "
    "s3://ai2-s2-research-public/specter/scidocs/ DATA/scidocs)"
)
STANDS_IN = "paper without a record, an empty text stands in"

Records = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SciDocsClasses:
    """Papers with one class each: `mag/` or `mesh/`, `train.csv`, `val.csv`, `test.csv`.

    A paper without a record is scored all the same, as published; there it has a zero vector, here it is an
    empty text. fold: the part that is scored, `test` or `val`.
    """

    classes: str
    folder: str = "scidocs"
    metadata: str = "paper_metadata_mag_mesh.json"
    fold: str = "test"
    obtain: str = OBTAIN

    def read(self, home: DataRoot) -> Labelled:
        """Return the papers of train, val and test, in this order."""
        tally = DropReport()
        parts = {part: list(self._table(home, part)) for part in ("train", "val", "test")}
        everything = [row for rows in parts.values() for row in rows]
        wanted = {name for name, _ in everything}
        records = read_records(home, home.local(f"{self.folder}/{self.metadata}", self.obtain), wanted)
        shelf = ItemTable(tally)
        for name in dict.fromkeys(name for name, _ in everything):
            if name not in records:
                tally.add(STANDS_IN, name)
            shelf.put(name, paper_of(records.get(name, {}), name))
        ends = np.cumsum([0, *map(len, parts.values())])
        rows = {part: np.arange(ends[i], ends[i + 1]) for i, part in enumerate(parts)}
        return Labelled(
            ids=distinct([name for name, _ in everything], tally),
            items=[shelf.items[shelf.row(name)] for name, _ in everything],
            targets=[label for _, label in everything],
            train=rows["train"],
            dev=rows["val"],
            test=rows[self.fold],
            tally=tally,
        )

    def _table(self, home: DataRoot, part: str) -> Iterator[tuple[str, str]]:
        path = home.local(f"{self.folder}/{self.classes}/{part}.csv", self.obtain)
        for number, row in enumerate(home.records(path), 2):
            name, label = as_id(row.get("pid")), text_of(row.get("class_label"))
            if not name or not label:
                raise InputError(f"{path}, line {number}: no pid or no class_label")
            yield name, label


@dataclass(frozen=True, slots=True, kw_only=True)
class SciDocsPools:
    """Papers with their judged candidates: `<relation>/<part>.qrel` of SciDocs or Multi-SciDocs.

    metadata: the records, one object keyed by id. Queries and candidates without a record are left out.
    """

    relation: str
    folder: str = "scidocs"
    metadata: str = "paper_metadata_view_cite_read.json"
    part: str = "test"
    obtain: str = OBTAIN

    def read(self, home: DataRoot) -> Pools:
        """Return the queries in the order of the judgements."""
        tally = DropReport()
        path = home.local(f"{self.folder}/{self.relation}/{self.part}.qrel", self.obtain)
        qrels = united(of_file(home, path), tally)
        wanted = set(qrels) | {name for mine in qrels.values() for name in mine}
        records = read_records(home, home.local(f"{self.folder}/{self.metadata}", self.obtain), wanted)
        shelf = ItemTable(tally)
        for name, record in records.items():
            shelf.put(name, paper_of(record, name))
        return pools(qrels, shelf, shelf, "paper", tally)


@dataclass(frozen=True, slots=True, kw_only=True)
class SciDocsClicks:
    """Clicks on recommended papers: `recomm/{train,val,test}.csv` and `propensity_scores.json`.

    A click on a paper that was not shown is left out; a paper without a record is an empty one.
    """

    folder: str = "scidocs"
    metadata: str = "paper_metadata_recomm.json"

    def read(self, home: DataRoot) -> Clicks:
        """Return the papers of all clicks, and the clicks of the three parts."""
        tally = DropReport()
        table = {part: list(self._table(home, part, tally)) for part in ("train", "val", "test")}
        order = dict.fromkeys(
            name for rows in table.values() for paper, _, shown in rows for name in (paper, *shown)
        )
        records = read_records(home, home.local(f"{self.folder}/{self.metadata}", OBTAIN), set(order))
        for name in order:
            if name not in records:
                tally.add(STANDS_IN, name)
        row = {name: number for number, name in enumerate(order)}
        clicks = {
            part: [
                Click(paper=row[p], shown=np.array([row[s] for s in shown], np.int64), clicked=row[c])
                for p, c, shown in rows
            ]
            for part, rows in table.items()
        }
        return Clicks(
            papers=[_full_paper(name, records.get(name, {})) for name in order],
            cited_by=[frozenset(map(as_id, records.get(name, {}).get("cited_by") or ())) for name in order],
            train=clicks["train"],
            dev=clicks["val"],
            test=clicks["test"],
            propensities=self._propensities(home),
            tally=tally,
        )

    def _table(
        self, home: DataRoot, part: str, tally: DropReport
    ) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        path = home.local(f"{self.folder}/recomm/{part}.csv", OBTAIN)
        for number, row in enumerate(home.records(path), 2):
            paper, clicked, listed, *_ = (*(text_of(value) for value in row.values()), "", "")
            shown = tuple(dict.fromkeys(name.strip() for name in listed.split(",") if name.strip()))
            if not paper or not clicked:
                raise InputError(f"{path}, line {number}: no pid or no clicked_pid")
            if clicked not in shown:
                tally.add("click on a paper that was not shown, left out", f"{part}, line {number}")
            else:
                yield paper, clicked, shown

    def _propensities(self, home: DataRoot) -> Any:
        path = home.local(f"{self.folder}/recomm/propensity_scores.json", OBTAIN)
        scores = dict(home.members(path)).get("scores")
        if not isinstance(scores, list) or not all(isinstance(s, int | float) and s > 0 for s in scores):
            raise InputError(f'{path}: expected {{"scores": [numbers above 0]}}')
        return np.array(scores, np.float64)


def read_records(home: DataRoot, path: Path, wanted: set[str]) -> Records:
    """Return the wanted records of an object keyed by id; the others pass by one at a time."""
    found: Records = {}
    for name, record in home.members(path):
        if name in wanted:
            if not isinstance(record, dict):
                raise InputError(f"{path}, {name}: expected an object, got {record!r:.60}")
            found.setdefault(name, record)
    return found


def _full_paper(name: str, record: dict[str, Any]) -> Paper:
    """Return a paper with what click prediction looks at: authors, year and references as well."""
    return Paper(
        id=name,
        title=text_of(record.get("title")),
        abstract=text_of(record.get("abstract")),
        authors=tuple(map(as_id, record.get("authors") or ())),
        year=year_of(record.get("year")),
        references=tuple(map(as_id, record.get("references") or ())),
    )
