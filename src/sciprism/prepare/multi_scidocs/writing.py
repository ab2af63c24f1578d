"""The files of a benchmark, as `sciprism evaluate --suite multi-scidocs` reads them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from sciprism.files import write_lines
from sciprism.prepare.multi_scidocs.constructions import RELATIONS, Relation
from sciprism.prepare.multi_scidocs.divide import PARTS, Part
from sciprism.prepare.multi_scidocs.pools import Counted, Drawing
from sciprism.prepare.scimult.fields import MAG_CLASSES

FOLDER = "multi-scidocs"
JUDGED: tuple[Part, ...] = ("val", "test")

More = Callable[[int], Mapping[str, Any]]


@dataclass(slots=True)
class Written:
    """What was written. counts: "cite/test" and so on -> its queries or papers.

    files: paths below the output folder. left_out: what could not be made, and why. labels: field -> number.
    """

    counts: dict[str, Counted] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)


def write_files(drawing: Drawing, out: Path) -> Written:
    """Write judgements, queries, classes and records; what is empty is not written, an earlier one goes."""
    done = _Writing(drawing, out)
    for relation in RELATIONS:
        done.judgements(relation)
    done.queries()
    done.classes()
    done.records()
    return done.written


class _Writing:
    """One benchmark on its way to the disk."""

    def __init__(self, drawing: Drawing, out: Path) -> None:
        self.written = Written()
        self._drawing = drawing
        self._corpus = drawing.corpus
        self._out = out

    def judgements(self, relation: Relation) -> None:
        """Write `RELATION/{val,test}.qrel`: query, 0, paper, 1 or 0."""
        for part in JUDGED:
            counted = self.written.counts[f"{relation}/{part}"] = Counted()
            self._write(f"{FOLDER}/{relation}/{part}.qrel", self._pairs(relation, part, counted))
        if not self.written.counts[f"{relation}/test"].rows:
            self.written.left_out[f"{relation}/test"] = "no query is left of it"

    def queries(self) -> None:
        """Write `{val,test}.txt`, the queries that have a pool, and `train.txt`, those that could."""
        counts = self.written.counts
        for part in PARTS:
            asked = [counts[f"{relation}/{part}"].rows for relation in RELATIONS if part in JUDGED]
            rows = sorted({row for mine in asked for row in mine}) if asked else self._drawing.linked(part)
            self._write(f"{FOLDER}/{part}.txt", (self._corpus.names[row] for row in rows))

    def classes(self) -> None:
        """Write `mag/{train,val,test}.csv` and the records of their papers, in SciDocs' folder."""
        found: dict[Part, list[tuple[int, str]]] = {}
        for part in PARTS:
            counted = self.written.counts[f"mag/{part}"] = Counted()
            found[part] = list(self._drawing.classes(part, counted))
        names = {name for mine in found.values() for _, name in mine}
        if not (found["train"] and found["test"]) or len(names) < 2:
            self.written.left_out["mag"] = "fewer than two fields, or none to train or to test on"
            names, found = set(), {part: [] for part in PARTS}
            self.written.counts |= {f"mag/{part}": Counted() for part in PARTS}
        self.written.labels = _numbers(names)
        for part in PARTS:
            table = _table(self._classed(found[part])) if names else ()
            self._write(f"{FOLDER}/mag/{part}.csv", table)
        rows = {row for mine in found.values() for row, _ in mine}
        self._write(f"{FOLDER}/paper_metadata_mag_mesh.json", self._records(rows))

    def records(self) -> None:
        """Write `data_final.json`, all papers with what they cite if they may be queries, and their ids."""
        corpus, graph = self._corpus, self._corpus.graph
        asks = {row for part in PARTS for row in self._drawing.linked(part)}

        def cited(row: int) -> Mapping[str, Any]:
            ends = {"cites": graph.cited[row], "cited_by": graph.citing[row]} if row in asks else {}
            return {name: [corpus.names[other] for other in rows] for name, rows in ends.items()}

        self._write(f"{FOLDER}/data_final.json", self._records(range(graph.size), cited))
        ids = (f"{'[' if not row else ','}{json.dumps(name)}" for row, name in enumerate(corpus.names))
        self._write(f"{FOLDER}/paper_ids.json", chain(ids, "]"))

    def _pairs(self, relation: Relation, part: Part, counted: Counted) -> Iterator[str]:
        names = self._corpus.names
        for query in self._drawing.pools(relation, part, counted):
            for rows, grade in ((query.positives, 1), (query.negatives, 0)):
                yield from (f"{names[query.row]} 0 {names[other]} {grade}" for other in rows)

    def _classed(self, found: Iterable[tuple[int, str]]) -> Iterator[tuple[str, int]]:
        return ((self._corpus.names[row], self.written.labels[name]) for row, name in found)

    def _records(self, rows: Collection[int], more: More = lambda _: {}) -> Iterator[str]:
        """Yield the lines of one JSON object keyed by id; none for no rows."""
        mark = "{"
        with self._corpus.texts.open(encoding="utf-8") as texts:
            for row, line in enumerate(texts):
                if row in rows:
                    paper = json.loads(line)
                    record = {"paper_id": paper["id"], "title": paper["title"], "abstract": paper["abstract"]}
                    yield f"{mark}{json.dumps(paper['id'])}: {json.dumps(record | dict(more(row)))}"
                    mark = ","
        if mark == ",":
            yield "}"

    def _write(self, place: str, lines: Iterable[str]) -> None:
        if write_lines(self._out / place, lines, errors="replace"):
            self.written.files.append(place)
        else:
            (self._out / place).unlink()


def _numbers(names: Collection[str]) -> dict[str, int]:
    """Return field -> number: SciDocs' own where it has them all, else in alphabetical order."""
    plain = {name.casefold() for name in names}
    of_scidocs = len(plain) == len(names) and plain <= {*MAG_CLASSES}
    order = MAG_CLASSES if of_scidocs else sorted(names)
    return {name: order.index(name.casefold() if of_scidocs else name) for name in sorted(names)}


def _table(rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    """Yield the lines of a CSV table of papers and classes, below its head."""
    for row in chain([("pid", "class_label")], rows):
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(row)
        yield line.getvalue()
