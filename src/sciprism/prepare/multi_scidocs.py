"""Build Multi2SPE's benchmark from a corpus, and write what was read, written and dropped."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from itertools import chain
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import write_json, write_lines
from sciprism.papers.records import Paper
from sciprism.prepare.preparation import Count, CountTable, ExampleFolder, Positive, Preparation, Settings, Share
from sciprism.prepare.samplers.sampling import BEYOND_LIMIT, seeded_random
from sciprism.prepare.sources.citation_corpus import (
    MULTI_SCIDOCS,
    CitationCorpus,
    CitationGraph,
    CitationSources,
    build_corpus,
)
from sciprism.registry import Registry

Part = Literal["val", "test", "train"]
PARTS: tuple[Part, ...] = ("val", "test", "train")
SCORED_PARTS: tuple[Part, ...] = ("val", "test")

Groups = Mapping[str, Sequence[int]]  # field -> rows
FieldSplits = Mapping[Part, Groups]  # rows of each part by field, in random order


def group_by_every_field(rows: Sequence[int], fields: Sequence[tuple[str, ...]]) -> Groups:
    """Return every row under each of its fields (as the authors do: it may be in several parts)."""
    groups: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        for name in fields[row]:
            groups[name].append(row)
    return groups


def group_by_rarest_field(rows: Sequence[int], fields: Sequence[tuple[str, ...]]) -> Groups:
    """Return every row once, under its rarest field."""
    sizes = Counter(chain.from_iterable(fields[row] for row in rows))
    groups: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        groups[min(fields[row], key=lambda name: (sizes[name], name))].append(row)
    return groups


def split_by_field(groups: Groups, val: float, test: float, seed: int, *names: str) -> FieldSplits:
    """Return val and test with their shares of each field's rows, rounded, and train with the rest.

    names: that the random order depends on, with the seed and the field.
    """
    split: dict[Part, dict[str, list[int]]] = {part: {} for part in PARTS}
    for name in sorted(groups):
        rows = list(groups[name])
        seeded_random(seed, *names, name).shuffle(rows)
        first, second = round(len(rows) * val), round(len(rows) * (val + test))
        for part, part_rows in zip(PARTS, (rows[:first], rows[first:second], rows[second:]), strict=True):
            split[part][name] = part_rows
    return split


Relation = Literal["cite", "cocite"]
RELATIONS: tuple[Relation, ...] = ("cite", "cocite")  # named like their folders

PositiveChoice = tuple[list[int], set[int]]
"""The positives of a query, in the order sampled, and all rows that may not be its negatives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Construction:
    """How queries are split and pools are built.

    group: rows -> field -> rows, to split each field. max_queries: of a field, a part and a relation, by
    default, 0 for all. queries_alone: only papers that may be queries cite others; negatives are these and papers
    linked to them, and a query of co-citations must cite too. choose: relation -> function of the graph, the
    query's row, the maximum of positives and a random generator.
    """

    group: Callable[[Sequence[int], Sequence[tuple[str, ...]]], Groups]
    max_queries: int
    queries_alone: bool
    choose: Mapping[Relation, Callable[[CitationGraph, int, int, Random], PositiveChoice]]


constructions: Registry[Construction] = Registry("construction")


def count_co_citations(graph: CitationGraph, row: int) -> Counter[int]:
    """Count how many papers cite each other paper together with this one."""
    counts = Counter(chain.from_iterable(graph.cited[citing].tolist() for citing in graph.citing[row]))
    counts.pop(row, None)
    return counts


def _of_queries(graph: CitationGraph, rows: Sequence[int], relation: Relation) -> tuple[CitationGraph, list[int]]:
    """Return the citations by queries alone, and these with the papers linked to them, ascending."""
    asked = np.isin(np.arange(graph.size), rows) & (graph.cited.counts > 0)
    if relation == "cocite":
        asked &= graph.citing.counts > 0
    citing, cited = graph.edges
    by_queries = CitationGraph(graph.size, citing[asked[citing]], cited[asked[citing]])
    linked = asked | (by_queries.citing.counts > 0)
    if relation == "cocite":
        linked[citing[asked[cited]]] = True
    return by_queries, np.flatnonzero(linked).tolist()


def _published_cite(graph: CitationGraph, row: int, limit: int, random: Random) -> PositiveChoice:
    cited = graph.targets(row)
    return random.sample(cited, min(limit, len(cited))), {row, *cited}


def _published_cocite(graph: CitationGraph, row: int, limit: int, random: Random) -> PositiveChoice:
    """Sample from the `c` most often co-cited papers, c being the highest count.

    The authors add `most_common(f)` for f = c, c - 1, ... until they have enough entries; they mean papers
    with count f, but get the f first ones, so nothing after the first addition is new. Equal counts are in
    the order of the citing papers, then of the cited ones. Co-cited papers beyond these c may be negatives.
    """
    counts = count_co_citations(graph, row)
    pool = [other for other, _ in counts.most_common(max(counts.values()))]
    return random.sample(pool, min(limit, len(pool))), {row, *pool}


def _cite(graph: CitationGraph, row: int, limit: int, random: Random) -> PositiveChoice:
    """Sample as published; papers that cite the query or are co-cited with it are not negatives either."""
    positives, _ = _published_cite(graph, row, limit, random)
    return positives, graph.linked(row) | {*count_co_citations(graph, row)}


def _cocite(graph: CitationGraph, row: int, limit: int, random: Random) -> PositiveChoice:
    """Take the papers most often co-cited; ties are broken at random."""
    counts = count_co_citations(graph, row)
    order = sorted(counts)
    random.shuffle(order)
    order.sort(key=lambda other: -counts[other])
    return order[:limit], graph.linked(row) | {*counts}


constructions["published"] = Construction(
    group=group_by_every_field,
    max_queries=0,
    queries_alone=True,
    choose={"cite": _published_cite, "cocite": _published_cocite},
)
constructions["corrected"] = Construction(
    group=group_by_rarest_field, max_queries=500, queries_alone=False, choose={"cite": _cite, "cocite": _cocite}
)

NO_RELATION: Mapping[Relation, str] = {
    "cite": "query that cites no paper",
    "cocite": "query that is co-cited with no paper",
}
NO_NEGATIVE = "query without a negative"
SEVERAL_FIELDS = "paper of several fields"


class BenchmarkSettings(Settings):
    """How the benchmark is built. val, test: shares of each field's papers. positives, negatives: of a query,
    at most; within_fields: these have a field in common with their query. max_queries: of a field in a
    part and relation, and papers of a class in a part; 0 for all, None for the construction's default.
    """

    construction: str = "corrected"
    seed: Count = 321
    positives: Positive = 5
    negatives: Positive = 500
    within_fields: bool = False
    val: Share = 0.4
    test: Share = 0.4
    max_queries: Count | None = None

    @model_validator(mode="after")
    def _check(self) -> BenchmarkSettings:
        constructions[self.construction]  # an unknown name is an error now
        if not 0 < self.val + self.test <= 1:
            raise ValueError(
                f"shares of {self.val} for val and {self.test} for test; their sum must be above 0, at most 1"
            )
        return self


@dataclass(slots=True)
class QueryCounts:
    """The queries, or papers with a class, of a file.

    fields: a query counts for each of its fields, as in the paper's sizes. short: queries with fewer
    negatives than requested.
    """

    rows: list[int] = field(default_factory=list)
    fields: Counter[str] = field(default_factory=Counter)
    positives: int = 0
    negatives: int = 0
    short: int = 0

    def add(self, row: int, fields: Iterable[str]) -> None:
        """Count a query."""
        self.rows.append(row)
        self.fields.update(fields)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON values, fields in alphabetical order."""
        pairs = {"positives": self.positives, "negatives": self.negatives} if self.negatives else {}
        short = {"short of negatives": self.short} if self.short else {}
        by_field = {"sum over fields": self.fields.total(), "fields": dict(sorted(self.fields.items()))}
        return {"unique": len(self.rows), **by_field, **pairs, **short}


class Benchmark:
    """Splits a corpus, samples the queries and the papers with classes of each part, and writes the files.

    rows: the papers that may be queries. texts: the file with the corpus' papers. A file that would be empty is
    deleted. dropped: queries and papers, by file and reason. counts: "cite/test" and so on -> its queries or papers.
    files: path below the output folder -> lines. not_written: file -> the reason. class_numbers: field -> number.
    """

    def __init__(
        self, corpus: CitationCorpus, rows: Sequence[int], settings: BenchmarkSettings, texts: Path, out: Path
    ) -> None:
        self.counts: dict[str, QueryCounts] = {}
        self.files: dict[str, int] = {}
        self.not_written: dict[str, str] = {}
        self.class_numbers: dict[str, int] = {}
        self._texts, self._out = texts, out
        self.corpus = corpus
        self.settings = settings
        self.dropped = DropReport()
        self._construction = constructions[settings.construction]
        limit = settings.max_queries
        self._limit = (self._construction.max_queries if limit is None else limit) or None
        self._graphs: dict[Relation, CitationGraph] = dict.fromkeys(RELATIONS, corpus.graph)
        self._candidates: dict[Relation, Sequence[int]] = dict.fromkeys(RELATIONS, range(corpus.graph.size))
        if self._construction.queries_alone:
            for relation in RELATIONS:
                self._graphs[relation], self._candidates[relation] = _of_queries(corpus.graph, rows, relation)
        cites, graph = self._graphs["cite"].cited.counts > 0, self._graphs["cocite"]
        citing, cited = graph.edges
        co_cited = np.isin(np.arange(graph.size), cited[graph.cited.counts[citing] > 1])  # by any paper
        if self._construction.queries_alone:
            co_cited &= cites
        self._can_query: Mapping[Relation, NDArray[np.bool_]] = {"cite": cites, "cocite": co_cited}
        linked = cites | co_cited
        self._linked = self._split([row for row in rows if linked[row]], "linked")
        self._others = self._split([row for row in rows if not linked[row]], "others")

    def linked(self, part: Part) -> list[int]:
        """Return the papers of a part that can be queries because of citations, each once, ascending."""
        return sorted({*chain.from_iterable(self._linked[part].values())})

    def pools(self, relation: Relation, part: Part, counts: QueryCounts) -> Iterator[tuple[int, list[int], list[int]]]:
        """Yield the rows of the queries of a part, ascending, of their positives and negatives, and count them."""
        for row in self._queries(relation, part):
            positives, negatives = self._sample_pool(relation, row)
            if not negatives:
                self.dropped.add(f"{relation}/{part}: {NO_NEGATIVE}", self.corpus.names[row])
                continue
            counts.add(row, self.corpus.fields[row])
            counts.positives += len(positives)
            counts.negatives += len(negatives)
            counts.short += len(negatives) < self.settings.negatives
            yield row, positives, negatives

    def classes(self, part: Part, counts: QueryCounts) -> Iterator[tuple[int, str]]:
        """Yield the papers of a part with a single field, ascending, with that field, and count them."""
        selected: list[int] = []
        several: set[int] = set()
        for name in sorted({*self._linked[part], *self._others[part]}):
            rows = [*self._linked[part].get(name, ()), *self._others[part].get(name, ())]
            single = [row for row in rows if len(self.corpus.fields[row]) == 1]
            selected += self._first(single, f"mag/{part}")
            several.update(row for row in rows if len(self.corpus.fields[row]) > 1)
        for row in sorted(several):
            self.dropped.add(f"mag/{part}: {SEVERAL_FIELDS}", self.corpus.names[row])
        for row in sorted(selected):
            counts.add(row, self.corpus.fields[row])
            yield row, self.corpus.fields[row][0]

    def _split(self, rows: list[int], name: str) -> FieldSplits:
        groups = self._construction.group(rows, self.corpus.fields)
        return split_by_field(groups, self.settings.val, self.settings.test, self.settings.seed, name)

    def _queries(self, relation: Relation, part: Part) -> list[int]:
        can_query, selected = self._can_query[relation], set[int]()
        for rows in self._linked[part].values():
            for row in rows:
                if not can_query[row]:
                    self.dropped.add(f"{relation}/{part}: {NO_RELATION[relation]}", self.corpus.names[row])
            selected.update(self._first([row for row in rows if can_query[row]], f"{relation}/{part}"))
        return sorted(selected)

    def _sample_pool(self, relation: Relation, row: int) -> tuple[list[int], list[int]]:
        """Sample positives and negatives; sampling as many more rows as cannot be negatives always leaves enough."""
        random = seeded_random(self.settings.seed, relation, self.corpus.names[row])
        choose, limit = self._construction.choose[relation], self.settings.negatives
        positives, no_negatives = choose(self._graphs[relation], row, self.settings.positives, random)
        candidates = self._candidates[relation]
        if self.settings.within_fields:
            groups = [self._rows_of_field[relation].get(name, ()) for name in self.corpus.fields[row]]
            candidates = groups[0] if len(groups) == 1 else sorted({*chain.from_iterable(groups)})
        sampled = random.sample(candidates, min(len(candidates), limit + len(no_negatives)))
        return positives, [other for other in sampled if other not in no_negatives][:limit]

    @cached_property
    def _rows_of_field(self) -> Mapping[Relation, Groups]:
        return {name: group_by_every_field(rows, self.corpus.fields) for name, rows in self._candidates.items()}

    def _first(self, rows: list[int], where: str) -> list[int]:
        for row in rows[self._limit :] if self._limit else ():
            self.dropped.add(f"{where}: {BEYOND_LIMIT}", self.corpus.names[row])
        return rows[: self._limit]

    def write_judgements(self, relation: Relation) -> None:
        """Write `RELATION/{val,test}.qrel`: query, 0, paper, 1 or 0."""
        names = self.corpus.names
        for part in SCORED_PARTS:
            counts = self.counts[f"{relation}/{part}"] = QueryCounts()
            lines = (
                f"{names[row]} 0 {names[other]} {grade}"
                for row, positives, negatives in self.pools(relation, part, counts)
                for rows, grade in ((positives, 1), (negatives, 0))
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
                rows = self.linked(part)
            self._write(f"{MULTI_SCIDOCS}/{part}.txt", (self.corpus.names[row] for row in rows))

    def write_classes(self) -> None:
        """Write `mag/{train,val,test}.csv` and the records of their papers, in SciDocs' folder."""
        classes: dict[Part, list[tuple[int, str]]] = {}
        for part in PARTS:
            counts = self.counts[f"mag/{part}"] = QueryCounts()
            classes[part] = list(self.classes(part, counts))
        names = {name for rows_of_part in classes.values() for _, name in rows_of_part}
        if not (classes["train"] and classes["test"]) or len(names) < 2:
            self.not_written["mag"] = "fewer than two fields, or no paper to train or to test on"
            names, classes = set(), {part: [] for part in PARTS}
            self.counts |= {f"mag/{part}": QueryCounts() for part in PARTS}
        numbers = self.class_numbers = {name: number for number, name in enumerate(sorted(names))}
        for part in PARTS:
            rows = ((self.corpus.names[row], numbers[name]) for row, name in classes[part])
            table = StringIO()
            csv.writer(table, lineterminator="\n").writerows([("pid", "class_label"), *rows])
            self._write(f"{MULTI_SCIDOCS}/mag/{part}.csv", table.getvalue().splitlines() if names else ())
        labelled = {row for rows_of_part in classes.values() for row, _ in rows_of_part}
        self._write(f"{MULTI_SCIDOCS}/paper_metadata_mag_mesh.json", self._records(labelled))

    def write_papers(self) -> None:
        """Write `data_final.json`, the papers with citations of possible queries, and `paper_ids.json`."""
        corpus, graph = self.corpus, self.corpus.graph
        linked = {row for part in PARTS for row in self.linked(part)}

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


REPORT = "multi-scidocs.json"
HEADS = ("cite: val", "test", "co-cite: val", "test", "class: val", "test", "train")


def prepare_multi_scidocs(out: Path, sources: CitationSources, settings: BenchmarkSettings) -> Preparation:
    """Write `multi-scidocs/` and `multi-scidocs.json` below `out`.

    Papers are read once; memory holds ids, fields and citations. Those without a title, an abstract or a field, and
    duplicates, are counted and dropped, with the citations of and by them. A later call with the same corpus and
    settings writes the same bytes, whatever PYTHONHASHSEED is. Raises InputError if no query and no class is left.
    """
    dropped = sources.reader.dropped
    with TemporaryDirectory() as folder:
        texts = Path(folder) / "papers.jsonl"
        corpus = build_corpus(sources, texts, _drop_reason, dropped, sources.read_edges())
        dropped.add_all("record that cannot be used", sources.reader.unreadable())
        if not corpus.names:
            files, need = ", ".join(map(str, sources.files)), f"; {FIELDS_FROM}" if NO_FIELD in dropped.ids else ""
            reasons = str(dropped) or "none"
            raise InputError(f"{files}: no paper with a title, an abstract and a field of study ({reasons}){need}")
        queries = [row for row, name in enumerate(corpus.names) if sources.is_query(name)]
        made = Benchmark(corpus, queries, settings, texts, out)
        write_json(out / REPORT, {"finished": False})
        for relation in RELATIONS:
            made.write_judgements(relation)
        made.write_queries()
        made.write_classes()
        made.write_papers()
    record = {
        "settings": settings.model_dump(),
        "read": sources.reader.to_json(),
        "edges": sources.data_root.provenance(),
        "papers": corpus.graph.size,
        "citations": len(corpus.graph.cited.others),
        "counts": {name: counts.to_json() for name, counts in made.counts.items()},
        "classes": made.class_numbers,
        "files": list(made.files),
        "not_written": made.not_written,
        "dropped": {"papers and citations": dropped.to_json(), "queries": made.dropped.to_json()},
    }
    record = ExampleFolder(out).write_manifest(REPORT, record)
    if not any(counts.rows for counts in made.counts.values()):
        raise InputError(f"no query and no class is left; {out / REPORT} says what was dropped and why")
    counts = made.counts.values()
    fields = sorted({name for counted in counts for name in counted.fields})
    rows: list[list[str | int]] = [[name, *(counted.fields[name] for counted in counts)] for name in fields]
    rows.append(["sum over fields", *(counted.fields.total() for counted in counts)])
    rows.append(["unique", *(len(counted.rows) for counted in counts)])
    return Preparation(
        files=made.files,
        record=record,
        dropped={"papers and citations": dropped, "queries and classes": made.dropped},
        not_made=made.not_written,
        tables=[CountTable(("field",), HEADS, rows)],
        notes=[f"{record['papers']:,} papers, {record['citations']:,} citations among them"],
        warnings=[
            f"{name}: {counts.short:,} queries with fewer than {settings.negatives:,} negatives"
            for name, counts in made.counts.items()
            if counts.short
        ],
    )
