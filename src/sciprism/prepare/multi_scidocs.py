"""Build Multi2SPE's benchmark from a corpus, and write what was read, written and dropped."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sciprism.errors import InputError
from sciprism.files import write_json, write_lines
from sciprism.papers.records import Paper
from sciprism.prepare.multi_scidocs_pools import (
    PARTS,
    RELATIONS,
    BenchmarkSettings,
    Part,
    PoolSampler,
    QueryCounts,
    Relation,
)
from sciprism.prepare.preparation import CountTable, Preparation
from sciprism.prepare.samplers.fields import MAG_CLASSES
from sciprism.prepare.sources.citation_corpus import MULTI_SCIDOCS, CitationCorpus, CitationSources, build_corpus


def read_corpus(sources: CitationSources, texts: Path) -> CitationCorpus:
    """Read all papers once; memory holds ids, fields and citations, the file `texts` the texts, a line each.

    Papers without a title, an abstract or one of the sources' fields, and duplicates, are counted and dropped,
    with the citations of and by them. Raises InputError if none is left.
    """
    reader, dropped = sources.reader, sources.reader.dropped

    def papers() -> Iterator[Paper]:
        for paper in sources:
            fields = tuple(name for name in paper.fields if not sources.fields or name in sources.fields)
            yield replace(paper, fields=fields)
        for place in reader.unreadable():
            dropped.add("record that cannot be used", place)

    corpus = build_corpus(papers(), texts, _drop_reason, dropped, sources.read_edges())
    if not corpus.names:
        counts = ", ".join(f"{reason}: {count['count']:,}" for reason, count in dropped.to_json().items())
        files, field = ", ".join(map(str, sources.files)), f"the field {' or '.join(sources.fields)}"
        lacking = field if sources.fields else "a field of study"
        need = f"; {FIELDS_FROM}" if NO_FIELD in dropped.to_json() else ""
        raise InputError(f"{files}: no paper with a title, an abstract and {lacking} ({counts or 'none'}){need}")
    return corpus


def _drop_reason(paper: Paper) -> str:
    if any(character.isspace() for character in paper.id):
        return "id with white space"  # a file of judgements is separated by spaces
    if not paper.title:
        return "paper without title"
    if not paper.abstract:
        return "paper without abstract"
    return "" if paper.fields else NO_FIELD


NO_FIELD = "paper without field"
FIELDS_FROM = (
    "the papers are split by field of study, and fields are predicted. Records of OpenAlex, Semantic Scholar and arXiv "
    "have them; in a table they are a column `fields` (several: `Art; Law`), in JSON lines a key `fields`"
)


SCORED_PARTS: tuple[Part, ...] = ("val", "test")


class BenchmarkWriter:
    """Writes the files of one benchmark; a file that would be empty is deleted.

    texts: the file with the corpus' papers. counts: "cite/test" and so on -> its queries or papers. files: path
    below the output folder -> lines. not_written: file -> the reason. class_numbers: field -> number.
    """

    def __init__(self, sampler: PoolSampler, texts: Path, out: Path) -> None:
        self.counts: dict[str, QueryCounts] = {}
        self.files: dict[str, int] = {}
        self.not_written: dict[str, str] = {}
        self.class_numbers: dict[str, int] = {}
        self._sampler = sampler
        self._corpus, self._texts, self._out = sampler.corpus, texts, out

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
            self._write(f"{MULTI_SCIDOCS}/{relation}/{part}.qrel", lines)
        if not self.counts[f"{relation}/test"].rows:
            self.not_written[f"{relation}/test"] = "no query is left"

    def write_queries(self) -> None:
        """Write `{val,test}.txt`, the queries with a pool, and `train.txt`, possible queries."""
        for part in PARTS:
            if part in SCORED_PARTS:
                rows = sorted({row for name in RELATIONS for row in self.counts[f"{name}/{part}"].rows})
            else:
                rows = self._sampler.linked(part)
            self._write(f"{MULTI_SCIDOCS}/{part}.txt", (self._corpus.names[row] for row in rows))

    def write_classes(self) -> None:
        """Write `mag/{train,val,test}.csv` and the records of their papers, in SciDocs' folder."""
        classes: dict[Part, list[tuple[int, str]]] = {}
        for part in PARTS:
            counts = self.counts[f"mag/{part}"] = QueryCounts()
            classes[part] = list(self._sampler.classes(part, counts))
        names = {name for rows_of_part in classes.values() for _, name in rows_of_part}
        if not (classes["train"] and classes["test"]) or len(names) < 2:
            self.not_written["mag"] = "fewer than two fields, or no paper to train or to test on"
            names, classes = set(), {part: [] for part in PARTS}
            self.counts |= {f"mag/{part}": QueryCounts() for part in PARTS}
        numbers = self.class_numbers = _number_classes(names)
        for part in PARTS:
            rows = ((self._corpus.names[row], numbers[name]) for row, name in classes[part])
            self._write(f"{MULTI_SCIDOCS}/mag/{part}.csv", _table(rows) if names else ())
        labelled = {row for rows_of_part in classes.values() for row, _ in rows_of_part}
        self._write(f"{MULTI_SCIDOCS}/paper_metadata_mag_mesh.json", self._records(labelled))

    def write_papers(self) -> None:
        """Write `data_final.json`, the papers with citations of possible queries, and `paper_ids.json`."""
        corpus, graph = self._corpus, self._corpus.graph
        linked = {row for part in PARTS for row in self._sampler.linked(part)}

        def citations(row: int) -> Mapping[str, Any]:
            ends = {"cites": graph.cited[row], "cited_by": graph.citing[row]} if row in linked else {}
            return {name: [corpus.names[other] for other in rows] for name, rows in ends.items()}

        self._write(f"{MULTI_SCIDOCS}/data_final.json", self._records(range(graph.size), citations))
        ids = (f"{'[' if not row else ','}{json.dumps(name)}" for row, name in enumerate(corpus.names))
        self._write(f"{MULTI_SCIDOCS}/paper_ids.json", chain(ids, "]"))

    def _records(
        self, rows: Collection[int], extra: Callable[[int], Mapping[str, Any]] = lambda _: {}
    ) -> Iterator[str]:
        """Yield the lines of one JSON object keyed by id; none for no rows."""
        mark = "{"
        with self._texts.open(encoding="utf-8") as texts:
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
    for row in chain([("pid", "class_label")], rows):
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(row)
        yield line.getvalue()


REPORT = "multi-scidocs.json"
HEADS = ("cite: val", "test", "co-cite: val", "test", "class: val", "test", "train")


def prepare_multi_scidocs(out: Path, sources: CitationSources, settings: BenchmarkSettings) -> Preparation:
    """Write `multi-scidocs/` and `multi-scidocs.json` below `out`.

    A later call with the same corpus and settings writes the same bytes, whatever PYTHONHASHSEED is. Raises
    InputError if no query and no class is left.
    """
    with TemporaryDirectory() as folder:
        texts = Path(folder) / "papers.jsonl"
        corpus = read_corpus(sources, texts)
        rows = [row for row, name in enumerate(corpus.names) if sources.is_query(name)]
        sampler = PoolSampler(corpus, rows, settings)
        write_json(out / REPORT, {"finished": False})
        writer = BenchmarkWriter(sampler, texts, out)
        for relation in RELATIONS:
            writer.write_judgements(relation)
        writer.write_queries()
        writer.write_classes()
        writer.write_papers()
    record = _record(sampler, writer, sources)
    write_json(out / REPORT, record)
    if not any(counts.rows for counts in writer.counts.values()):
        raise InputError(f"no query and no class is left; {out / REPORT} says what was dropped and why")
    return Preparation(
        files=writer.files,
        record=record,
        dropped={"papers and citations": sources.reader.dropped, "queries and classes": sampler.dropped},
        not_made=writer.not_written,
        tables=[_count_by_field(writer.counts.values())],
        notes=[f"{record['papers']:,} papers, {record['citations']:,} citations among them"],
        warnings=[
            f"{name}: {counts.short:,} queries with fewer than {settings.negatives:,} negatives; "
            f"the least is {counts.fewest:,}"
            for name, counts in writer.counts.items()
            if counts.short
        ],
    )


def _record(sampler: PoolSampler, writer: BenchmarkWriter, sources: CitationSources) -> dict[str, Any]:
    corpus = sampler.corpus
    return {
        "version": version("sciprism"),
        "settings": asdict(sampler.settings),
        "fields": list(sources.fields) or "all",
        "read": sources.reader.to_json(),
        "edges": sources.data_root.provenance(),
        "papers": corpus.graph.size,
        "citations": len(corpus.graph.cited.others),
        "counts": {name: counts.to_json() for name, counts in writer.counts.items()},
        "classes": writer.class_numbers,
        "files": list(writer.files),
        "not_written": writer.not_written,
        "dropped": {"papers and citations": sources.reader.dropped.to_json(), "queries": sampler.dropped.to_json()},
    }


def _count_by_field(counts: Collection[QueryCounts]) -> CountTable:
    """Return a row for each field, one for their sum, and one of distinct papers."""
    fields = sorted({name for counted in counts for name in counted.fields})
    rows: list[list[str | int]] = [[name, *(counted.fields[name] for counted in counts)] for name in fields]
    rows.append(["sum over fields", *(counted.fields.total() for counted in counts)])
    return CountTable(("field",), HEADS, [*rows, ["unique", *(len(counted.rows) for counted in counts)]])
