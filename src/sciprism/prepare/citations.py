"""Sample triplets from papers and citations, balanced among fields, and write them with the papers that they name."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from sciprism.datasets.data_root import DataRoot, as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import create_work_folder, write_json
from sciprism.papers.read import read_papers
from sciprism.papers.records import Paper
from sciprism.prepare.filters import TEST_PAPER, list_names, read_excluded
from sciprism.prepare.preparation import (
    CountTable,
    DevShare,
    ExampleFolder,
    Preparation,
    Settings,
    Share,
)
from sciprism.prepare.samplers.sampling import SampleReport
from sciprism.prepare.samplers.triplets import SamplerInputs, Samples, TripletSampler, samplers
from sciprism.prepare.sources.citation_corpus import CitationCorpus, CitationSources, build_corpus
from sciprism.prepare.sources.records import require_field
from sciprism.seeding import random_fraction
from sciprism.training.examples import PAPERS_FILE
from sciprism.training.recipe_file import parse_value

Fields = Sequence[Sequence[str]]  # the fields of each paper, by row
NO_FIELD = "no field"
SINGLE_FIELD = "query of a single field"
BEYOND_LIMIT = "beyond the number of its field"


class FieldBalance(Settings):
    """How many queries each field has.

    sampling_exponent: a field's weight is its share of papers to this power; 1 keeps the shares, 0 makes all
    fields equal, the published code has 0.7. A field with too few papers has some of them as queries several
    times. min_multi_field: least share of queries with several fields; queries of a single field are dropped for
    it, of all fields alike, and 1 drops all of them.
    """

    sampling_exponent: Share = 1.0
    min_multi_field: Share = 0.0
    seed: int = 0

    def select(
        self, rows: Sequence[int], fields: Fields, names: Sequence[str], dropped: DropReport
    ) -> list[tuple[int, int]]:
        """Return (row, turn) of the queries in the order of the rows; turn counts a row's repetitions from 0.

        rows: papers that can be queries. A paper of several fields counts for one of them, chosen by hash.
        The defaults change nothing: papers without a field are queries too.
        """
        if self.sampling_exponent == 1 and not self.min_multi_field:
            return [(row, 0) for row in rows]
        members = self._members(rows, fields, names, dropped)
        total = sum(map(len, members.values()))
        weights = {field: (len(field_rows) / total) ** self.sampling_exponent for field, field_rows in members.items()}
        scale = total / sum(weights.values()) if weights else 0.0
        queries: list[tuple[int, int]] = []
        for field, field_rows in members.items():
            turns, rest = divmod(round(weights[field] * scale), len(field_rows))
            queries += [(row, turn) for turn in range(turns) for row in field_rows]
            queries += [(row, turns) for row in field_rows[:rest]]
            for row in field_rows[rest:] if not turns else ():
                dropped.add(BEYOND_LIMIT, names[row])
        queries.sort()
        if not self.min_multi_field:
            return queries
        single = [(row, turn) for row, turn in queries if len({*fields[row]}) < 2]
        several = len(queries) - len(single)
        single.sort(key=lambda query: random_fraction(self.seed, "crossing", names[query[0]], query[1]))
        out = {*single[int(several / self.min_multi_field) - several :]}  # until those of several have their share
        for row, _ in sorted(out):
            dropped.add(SINGLE_FIELD, names[row])
        return [query for query in queries if query not in out]

    def _members(
        self, rows: Sequence[int], fields: Fields, names: Sequence[str], dropped: DropReport
    ) -> dict[str, list[int]]:
        """Return field -> its queries, ordered by hash."""
        members: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            choices = sorted({*fields[row]})
            if choices:
                members[choices[int(random_fraction(self.seed, "field", names[row]) * len(choices))]].append(row)
            else:
                dropped.add(NO_FIELD, names[row])
        for of_field in members.values():
            of_field.sort(key=lambda row: random_fraction(self.seed, "query", names[row]))
        return dict(sorted(members.items()))


class DomainTable:
    """A sample counted by fields: a paper of several fields counts in each of them.

    Percentages are of the queries of all fields, as in Multi2SPE, Table 5: their sum, not the distinct queries.
    across_fields: triplets whose query and positive have fields, but none in common.
    """

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._queries: set[int] = set()
        self._papers: set[int] = set()
        self.triplets = 0
        self.across_fields = 0
        self._triplets: Counter[str] = Counter()

    def add(self, row: int, positives: Iterable[int], negatives: Iterable[int]) -> None:
        """Count the sample of one query; a query may come several times."""
        linked = list(positives)
        fields = {*self._fields[row]}
        self._queries.add(row)
        self.triplets += len(linked)
        self._papers |= {row, *linked, *negatives}
        for field in fields or {NO_FIELD}:
            self._triplets[field] += len(linked)
        for other in linked:
            theirs = self._fields[other]
            self.across_fields += bool(fields and theirs and fields.isdisjoint(theirs))

    def rows(self) -> Mapping[str, Mapping[str, int]]:
        """Return field -> its distinct queries, triplets and distinct papers, that with the most queries first."""
        papers, queries = self._by_field(self._papers), self._by_field(self._queries)
        names = sorted(papers, key=lambda field: (-queries[field], -papers[field], field))
        return {
            name: {"queries": queries[name], "triplets": self._triplets[name], "papers": papers[name]} for name in names
        }

    def _by_field(self, rows: Iterable[int]) -> Counter[str]:
        return Counter(field for row in rows for field in {*self._fields[row]} or {NO_FIELD})

    def count_table(self, name: str) -> CountTable:
        """Return a row for each field, one for the triplets across fields, and one for all."""
        found = self.rows()
        total = sum(row["queries"] for row in found.values()) or 1
        rows: list[tuple[str | int, ...]] = [
            (field, row["queries"], f"{100 * row['queries'] / total:.1f}", row["triplets"], row["papers"])
            for field, row in found.items()
        ]
        rows.append(("across fields", "", "", self.across_fields, ""))
        rows.append(("all", len(self._queries), "", self.triplets, ""))
        return CountTable((name,), ("queries", "%", "triplets", "papers"), rows)

    def to_json(self) -> dict[str, object]:
        """Return the table as JSON values."""
        return {
            "queries": len(self._queries),
            "triplets": self.triplets,
            "papers": len(self._papers),
            "across_fields": self.across_fields,
            "fields": self.rows(),
        }


REPORT = "citations.json"
NO_LINK = "query without a citation, link or triplet"


def _parse_options(given: Any) -> Any:
    """Return the options of KEY=VALUE words; a value is TOML, or else text."""
    if not isinstance(given, list):
        return given
    return {key: parse_value(text) for key, _, text in (word.partition("=") for word in given)}


class CitationSettings(Settings):
    """How triplets are sampled.

    sampler: its name, options: of it. balance: of the queries among fields. dev: share of the papers that is
    held out, by hash. hold_out: "papers": no train triplet names one of them; "queries": none has one as its
    query, as published. require_abstract: drop papers without one.
    """

    sampler: str = "specter"
    options: Annotated[dict[str, Any], BeforeValidator(_parse_options)] = Field(default_factory=dict)
    balance: FieldBalance = FieldBalance()
    dev: DevShare = 0.05
    hold_out: Literal["papers", "queries"] = "papers"
    require_abstract: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class TripletPart:
    """Train or dev: the papers of its triplets, the rows that may be queries; the report, the counts by field."""

    corpus: CitationCorpus
    rows: Sequence[int]
    report: SampleReport
    table: DomainTable


def prepare_citations(out: Path, sources: CitationSources, settings: CitationSettings) -> Preparation:
    """Write `papers.jsonl`, `train.jsonl`, `dev.jsonl` and `citations.json` below `out`.

    A line of the parts is a triplet of ids. The same papers and settings give the same bytes with any number
    of processes. Files of an earlier call are replaced together at the end. Raises InputError if no triplet can
    be sampled; then they are left as they were.
    """
    began, dropped = time.monotonic(), sources.reader.dropped
    sampler = samplers[settings.sampler](**{"seed": settings.seed} | settings.options)
    with create_work_folder(out, ".triplets-") as work:
        draft = ExampleFolder(work)
        whole = _build_corpus(draft.path / PAPERS_FILE, sources, settings)
        parts = dict(_split(whole, settings, dropped))
        for name, part in parts.items():
            samples = _sample(part, sampler, sources, settings)
            draft.write_triplets(f"{name}.jsonl", part.corpus.names, samples)
        if not parts["train"].report.pairs:
            reasons = filter(None, map(str, (dropped, parts["train"].report.dropped)))
            why = ", ".join(reasons) or "none of them cites another"
            links = whole.graph.edges[0].size or sources.edges or sources.link_strengths or sources.triplets
            advice = "" if links else "; no paper has references: name a table of citations with --edges"
            raise InputError(f"no triplet of {len(whole.names):,} papers: {why}{advice}")
        write_json(out / REPORT, {"finished": False})
        for name in (PAPERS_FILE, *draft.counts):
            (draft.path / name).replace(out / name)
    folder, papers, citations = ExampleFolder(out), len(whole.names), len(whole.graph.cited.others)
    folder.counts = draft.counts | {PAPERS_FILE: papers}
    record: dict[str, Any] = {
        "settings": settings.model_dump(),
        "papers": papers,
        "citations": citations,
        "dropped": dropped.to_json(),
    }
    for name, part in parts.items():
        domains = {"domains": part.table.to_json()}
        record[name] = folder.describe(f"{name}.jsonl") | part.report.to_json() | domains
    by_part, seconds = {name: part.report.dropped for name, part in parts.items()}, time.monotonic() - began
    done = f"{papers:,} papers and {citations:,} citations in {seconds:,.0f} s, {papers / seconds:,.0f} papers/s"
    return Preparation(
        files=folder.counts,
        record=folder.write_manifest(REPORT, record | {"data": sources.provenance()}),
        dropped={"papers and citations": dropped, **by_part, "papers of tests": sources.excluded.dropped},
        read=[*sources.reader.report.files, *sources.excluded.report.files],
        tables=[part.table.count_table(name) for name, part in parts.items() if part.rows],
        notes=[done],
    )


def _build_corpus(path: Path, sources: CitationSources, settings: CitationSettings) -> CitationCorpus:
    dropped = sources.reader.dropped
    excluded = read_excluded(sources.exclude, sources.excluded)

    def drop_reason(paper: Paper) -> str:
        if excluded and not excluded.isdisjoint(list_names(paper)):
            return TEST_PAPER
        if settings.require_abstract and not paper.abstract:
            return "no abstract"
        return "" if paper.title or paper.abstract else "neither title nor abstract"

    return build_corpus(sources, path, drop_reason, dropped, sources.read_edges())


def _split(whole: CitationCorpus, settings: CitationSettings, dropped: DropReport) -> Iterator[tuple[str, TripletPart]]:
    """Yield train and dev, which is empty where its share is 0."""
    held_out = np.array([random_fraction(settings.seed, "dev", name) < settings.dev for name in whole.names], bool)
    if settings.hold_out == "queries":
        train, rows = whole, np.flatnonzero(~held_out).tolist()
    else:
        train = whole.without(held_out, dropped)
        rows = [*range(len(train.names))]
    yield "train", TripletPart(train, rows, SampleReport(), DomainTable(train.fields))
    yield "dev", TripletPart(whole, np.flatnonzero(held_out).tolist(), SampleReport(), DomainTable(whole.fields))


def _sample(
    part: TripletPart, sampler: TripletSampler, sources: CitationSources, settings: CitationSettings
) -> Samples:
    names, dropped = part.corpus.names, part.report.dropped

    def select_queries(linked: Iterable[int]) -> list[tuple[int, int]]:
        linked, queries = {*linked}, list[int]()
        for row in part.rows:
            if row in linked and sources.is_query(names[row]):
                queries.append(row)
            else:
                dropped.add(
                    "paper of another field or shard (candidate only)" if row in linked else NO_LINK, names[row]
                )
        return settings.balance.select(queries, part.corpus.fields, names, dropped)

    inputs = SamplerInputs(sources, select_queries, part.report)
    for row, sample in sampler.sample(part.corpus, inputs):
        part.table.add(row, sample.positives, sample.negatives)
        yield row, sample


def count_sample_by_field(folder: Path) -> DomainTable:
    """Count the triplets of ids in `train.jsonl` by the fields of their papers in `papers.jsonl`.

    Raises InputError if a file is missing, or if a triplet names an unknown paper.
    """
    papers = list(read_papers(folder / PAPERS_FILE, reader="jsonl"))
    rows = {paper.id: row for row, paper in enumerate(papers)}
    table = DomainTable([paper.fields for paper in papers])
    for where, triplet in DataRoot().located_records(folder / "train.jsonl"):
        names = [as_id(require_field(triplet, key, where)) for key in ("query", "positive")]
        names += [as_id(triplet["negative"])] if "negative" in triplet else []
        if unknown := [name for name in names if name not in rows]:
            raise InputError(f"{where}: {unknown[0]!r} is not a paper of {PAPERS_FILE}; prepare the triplets again")
        query, positive, *negatives = (rows[name] for name in names)
        table.add(query, [positive], negatives)
    return table
