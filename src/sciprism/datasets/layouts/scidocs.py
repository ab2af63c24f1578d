"""The files of SciDocs and of Multi-SciDocs: qrels, class tables, metadata keyed by id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Click, ClickLog, ProbeInput, RerankInput, concatenate
from sciprism.datasets.layouts.beir import build_rerank_input, list_ids, merge_judgements, read_judgements
from sciprism.datasets.layouts.item_tables import ItemTable, clean_text, number_duplicates, parse_paper, parse_year
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper

OBTAIN = (
    "SciDocs is at s3://ai2-s2-research-public/specter/scidocs/ (aws s3 sync --no-sign-request "
    "s3://ai2-s2-research-public/specter/scidocs/ DATA/scidocs)"
)
NO_RECORD = "paper without a record, an empty text is used"


@dataclass(frozen=True, slots=True, kw_only=True)
class SciDocsClasses:
    """Papers with one class each: `mag/` or `mesh/`, `train.csv`, `val.csv`, `test.csv`.

    A paper without a record is scored, as published, where it has a zero vector; here it is an empty text.
    fold: the part that is scored, `test` or `val`.
    """

    classes: str
    folder: str = "scidocs"
    metadata: str = "paper_metadata_mag_mesh.json"
    fold: str = "test"
    obtain: str = OBTAIN

    def read(self, data_root: DataRoot) -> ProbeInput:
        """Return the papers of train, val and test, in this order."""
        dropped = DropReport()
        parts = {part: list(self._table(data_root, part)) for part in ("train", "val", "test")}
        everything, rows = concatenate(parts)
        names = [name for name, _ in everything]
        records = read_records(data_root, f"{self.folder}/{self.metadata}", set(names), self.obtain)
        table = ItemTable(dropped)
        for name in dict.fromkeys(names):
            if name not in records:
                dropped.add(NO_RECORD, name)
            table.add(name, parse_paper(records.get(name, {}), name))
        return ProbeInput(
            ids=number_duplicates(names, dropped),
            items=[table.items[table.row(name)] for name in names],
            targets=[label for _, label in everything],
            train=rows["train"],
            dev=rows["val"],
            test=rows[self.fold],
            dropped=dropped,
        )

    def _table(self, data_root: DataRoot, part: str) -> Iterator[tuple[str, str]]:
        path = data_root.local(f"{self.folder}/{self.classes}/{part}.csv", self.obtain)
        for where, row in data_root.located_records(path):
            name, label = as_id(row.get("pid")), clean_text(row.get("class_label"))
            if not name or not label:
                raise InputError(f"{where}: no pid or no class_label")
            yield name, label


@dataclass(frozen=True, slots=True, kw_only=True)
class SciDocsPools:
    """Papers with their graded candidates: `<relation>/<part>.qrel` of SciDocs or Multi-SciDocs.

    metadata: the records, one object keyed by id. Queries and candidates without a record are dropped.
    """

    relation: str
    folder: str = "scidocs"
    metadata: str = "paper_metadata_view_cite_read.json"
    part: str = "test"
    obtain: str = OBTAIN

    def read(self, data_root: DataRoot) -> RerankInput:
        """Return the queries in the order of the judgements."""
        dropped = DropReport()
        path = data_root.local(f"{self.folder}/{self.relation}/{self.part}.qrel", self.obtain)
        qrels = merge_judgements(read_judgements(data_root, path), dropped)
        records = read_records(data_root, f"{self.folder}/{self.metadata}", list_ids(qrels), self.obtain)
        table = ItemTable(dropped)
        for name, record in records.items():
            table.add(name, parse_paper(record, name))
        return build_rerank_input(qrels, table, table, "paper", dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class SciDocsClicks:
    """Clicks on recommended papers: `recomm/{train,val,test}.csv` and `propensity_scores.json`.

    A click on a paper that was not shown is dropped; a paper without a record is empty.
    """

    folder: str = "scidocs"
    metadata: str = "paper_metadata_recomm.json"

    def read(self, data_root: DataRoot) -> ClickLog:
        """Return the papers of all clicks, and the clicks of the three parts."""
        dropped = DropReport()
        table = {part: list(self._table(data_root, part, dropped)) for part in ("train", "val", "test")}
        order = dict.fromkeys(name for rows in table.values() for paper, _, shown in rows for name in (paper, *shown))
        records = read_records(data_root, f"{self.folder}/{self.metadata}", set(order), OBTAIN)
        for name in order:
            if name not in records:
                dropped.add(NO_RECORD, name)
        row = {name: number for number, name in enumerate(order)}

        def clicks(part: str) -> list[Click]:
            shown_rows = ((p, c, np.array([row[s] for s in shown], np.int64)) for p, c, shown in table[part])
            return [Click(paper=row[p], shown=shown, clicked=row[c]) for p, c, shown in shown_rows]

        path = data_root.local(f"{self.folder}/recomm/propensity_scores.json", OBTAIN)
        scores = dict(data_root.members(path)).get("scores")
        if not isinstance(scores, list) or not all(isinstance(s, int | float) and s > 0 for s in scores):
            raise InputError(f'{path}: expected {{"scores": [numbers above 0]}}')
        return ClickLog(
            papers=[_parse_click_paper(name, records.get(name, {})) for name in order],
            cited_by=[frozenset(map(as_id, records.get(name, {}).get("cited_by") or ())) for name in order],
            train=clicks("train"),
            dev=clicks("val"),
            test=clicks("test"),
            propensities=np.array(scores, np.float64),
            dropped=dropped,
        )

    def _table(self, data_root: DataRoot, part: str, dropped: DropReport) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        path = data_root.local(f"{self.folder}/recomm/{part}.csv", OBTAIN)
        for where, row in data_root.located_records(path):
            paper, clicked, listed, *_ = (*(clean_text(value) for value in row.values()), "", "")
            shown = tuple(dict.fromkeys(name.strip() for name in listed.split(",") if name.strip()))
            if not paper or not clicked:
                raise InputError(f"{where}: no pid or no clicked_pid")
            if clicked not in shown:
                dropped.add("click on a paper that was not shown, dropped", f"{part}, {where.rpartition(', ')[2]}")
            else:
                yield paper, clicked, shown


def read_records(data_root: DataRoot, name: str, wanted: set[str], obtain: str) -> dict[str, dict[str, Any]]:
    """Return the wanted records of a JSON object keyed by id, which is streamed."""
    path = data_root.local(name, obtain)
    records: dict[str, dict[str, Any]] = {}
    for key, record in data_root.members(path):
        if key in wanted:
            if not isinstance(record, dict):
                raise InputError(f"{path}, {key}: expected an object, got {record!r:.60}")
            records.setdefault(key, record)
    return records


def _parse_click_paper(name: str, record: dict[str, Any]) -> Paper:
    """Return a paper with the fields of click prediction: also authors, year and references."""
    return Paper(
        id=name,
        title=clean_text(record.get("title")),
        abstract=clean_text(record.get("abstract")),
        authors=tuple(map(as_id, record.get("authors") or ())),
        year=parse_year(record.get("year")),
        references=tuple(map(as_id, record.get("references") or ())),
    )
