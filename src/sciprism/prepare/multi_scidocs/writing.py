"""Write the files of a benchmark as `sciprism evaluate --suite multi-scidocs` reads them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from sciprism.evaluation.suites.multi_scidocs import FOLDER
from sciprism.files import write_lines
from sciprism.prepare.multi_scidocs.constructions import RELATIONS, Relation
from sciprism.prepare.multi_scidocs.pools import PoolSampler, QueryCounts
from sciprism.prepare.multi_scidocs.splits import PARTS, Part
from sciprism.prepare.scimult.fields import MAG_CLASSES

SCORED_PARTS: tuple[Part, ...] = ("val", "test")


class BenchmarkWriter:
    """Writes the files of one benchmark; a file that would be empty is deleted.

    counts: "cite/test" and so on -> its queries or papers. files: path below the output folder -> lines.
    not_written: file -> the reason. class_numbers: field -> number.
    """

    def __init__(self, sampler: PoolSampler, out: Path) -> None:
        self.counts: dict[str, QueryCounts] = {}
        self.files: dict[str, int] = {}
        self.not_written: dict[str, str] = {}
        self.class_numbers: dict[str, int] = {}
        self._sampler = sampler
        self._corpus = sampler.corpus
        self._out = out

    def write(self) -> None:
        """Write judgements, queries, classes and records."""
        for relation in RELATIONS:
            self.write_judgements(relation)
        self.write_queries()
        self.write_classes()
        self.write_papers()

    def write_judgements(self, relation: Relation) -> None:
        """Write `RELATION/{val,test}.qrel`: query, 0, paper, 1 or 0."""
        names = self._corpus.names
        for part in SCORED_PARTS:
            counts = self.counts[f"{relation}/{part}"] = QueryCounts()
            lines = (
                f"{names[pool.row]} 0 {names[other]} {grade}"
                for pool in self._sampler.pools(relation, part, counts)
                for rows, grade in ((pool.positives, 1), (pool.negatives, 0))
                for other in rows
            )
            self._write(f"{FOLDER}/{relation}/{part}.qrel", lines)
        if not self.counts[f"{relation}/test"].rows:
            self.not_written[f"{relation}/test"] = "no query is left"

    def write_queries(self) -> None:
        """Write `{val,test}.txt`, the queries with a pool, and `train.txt`, possible queries."""
        for part in PARTS:
            if part in SCORED_PARTS:
                rows = sorted({row for name in RELATIONS for row in self.counts[f"{name}/{part}"].rows})
            else:
                rows = self._sampler.linked(part)
            self._write(f"{FOLDER}/{part}.txt", (self._corpus.names[row] for row in rows))

    def write_classes(self) -> None:
        """Write `mag/{train,val,test}.csv` and the records of their papers, in SciDocs' folder."""
        classes: dict[Part, list[tuple[int, str]]] = {}
        for part in PARTS:
            counts = self.counts[f"mag/{part}"] = QueryCounts()
            classes[part] = list(self._sampler.classes(part, counts))
        names = {name for own in classes.values() for _, name in own}
        if not (classes["train"] and classes["test"]) or len(names) < 2:
            self.not_written["mag"] = "fewer than two fields, or no paper to train or to test on"
            names, classes = set(), {part: [] for part in PARTS}
            self.counts |= {f"mag/{part}": QueryCounts() for part in PARTS}
        numbers = self.class_numbers = _number_classes(names)
        for part in PARTS:
            rows = ((self._corpus.names[row], numbers[name]) for row, name in classes[part])
            self._write(f"{FOLDER}/mag/{part}.csv", _table(rows) if names else ())
        labelled = {row for own in classes.values() for row, _ in own}
        self._write(f"{FOLDER}/paper_metadata_mag_mesh.json", self._records(labelled))

    def write_papers(self) -> None:
        """Write `data_final.json`, the papers with citations of possible queries, and `paper_ids.json`."""
        corpus, graph = self._corpus, self._corpus.graph
        linked = {row for part in PARTS for row in self._sampler.linked(part)}

        def citations(row: int) -> Mapping[str, Any]:
            ends = {"cites": graph.cited[row], "cited_by": graph.citing[row]} if row in linked else {}
            return {name: [corpus.names[other] for other in rows] for name, rows in ends.items()}

        self._write(f"{FOLDER}/data_final.json", self._records(range(graph.size), citations))
        ids = (f"{'[' if not row else ','}{json.dumps(name)}" for row, name in enumerate(corpus.names))
        self._write(f"{FOLDER}/paper_ids.json", chain(ids, "]"))

    def _records(
        self, rows: Collection[int], extra: Callable[[int], Mapping[str, Any]] = lambda _: {}
    ) -> Iterator[str]:
        """Yield the lines of one JSON object keyed by id; none for no rows."""
        mark = "{"
        with self._corpus.texts.open(encoding="utf-8") as texts:
            for row, line in enumerate(texts):
                if row in rows:
                    paper = json.loads(line)
                    record = {"paper_id": paper["id"], "title": paper["title"], "abstract": paper["abstract"]}
                    yield f"{mark}{json.dumps(paper['id'])}: {json.dumps(record | dict(extra(row)))}"
                    mark = ","
        if mark == ",":
            yield "}"

    def _write(self, name: str, lines: Iterable[str]) -> None:
        if count := write_lines(self._out / name, lines, errors="replace"):
            self.files[name] = count
        else:
            (self._out / name).unlink()


def _number_classes(names: Collection[str]) -> dict[str, int]:
    """Return field -> number: SciDocs' numbers if it has all fields, else in alphabetical order."""
    folded = {name.casefold() for name in names}
    as_scidocs = len(folded) == len(names) and folded <= {*MAG_CLASSES}
    order = MAG_CLASSES if as_scidocs else sorted(names)
    return {name: order.index(name.casefold() if as_scidocs else name) for name in sorted(names)}


def _table(rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    """Yield the lines of a CSV table of papers and classes, with its head."""
    for row in chain([("pid", "class_label")], rows):
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(row)
        yield line.getvalue()
