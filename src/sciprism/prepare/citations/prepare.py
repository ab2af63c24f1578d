"""Sample triplets from papers and citations, and write them with the papers that they name."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

import numpy as np

from sciprism.datasets.split import list_paper_keys
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import explain_write_errors, sha256, write_json, write_lines
from sciprism.papers.records import Paper
from sciprism.prepare.citations.corpus import TEST_PAPER, CitationCorpus, CorpusBuilder, missing_text
from sciprism.prepare.citations.samplers import SamplerInputs, samplers
from sciprism.prepare.citations.sources import CitationSources
from sciprism.prepare.samplers.domains import DomainTable, FieldBalance
from sciprism.prepare.samplers.sampling import NONE, QuerySample, SampleReport
from sciprism.training.paper_lookup import PAPERS_FILE

REPORT = "citations.json"
HoldOut = Literal["papers", "queries"]
NO_LINK = "query without a citation, link or triplet"
CANDIDATE_ONLY = "paper of another field or shard (candidate only)"
RETAINED = "(retained)"


@dataclass(frozen=True, slots=True)
class CitationSettings:
    """How triplets are sampled.

    sampler: its name, options: of it. balance: of the queries among fields. dev: share of the papers that is
    held out, by hash. hold_out: "papers": no train triplet names one of them; "queries": none has one as its
    query, as published. require_abstract: drop papers without one.
    """

    sampler: str = "specter"
    options: dict[str, Any] = field(default_factory=dict)
    balance: FieldBalance = field(default_factory=FieldBalance)
    dev: float = 0.05
    hold_out: HoldOut = "papers"
    require_abstract: bool = False
    seed: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.dev < 1:
            raise InputError(f"a share of {self.dev} for dev; it must be 0 or more, and less than 1")
        if self.hold_out not in get_args(HoldOut):
            raise InputError(f"hold out {self.hold_out!r}; known: {', '.join(get_args(HoldOut))}")


@dataclass(frozen=True, slots=True)
class TripletFile:
    """A written part: the file, the sampler's report, the sample by fields."""

    file: Path
    report: SampleReport
    table: DomainTable

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        domains = {"domains": self.table.to_json()}
        return {"file": self.file.name, "sha256": sha256(self.file)} | self.report.to_json() | domains


@dataclass(frozen=True, slots=True)
class PreparedCitations:
    """What was written. papers, citations: retained. dropped: the others. parts: train and dev."""

    papers: int
    citations: int
    dropped: DropReport
    parts: dict[str, TripletFile]
    seconds: float


def prepare_citations(out: Path, sources: CitationSources, settings: CitationSettings) -> PreparedCitations:
    """Write `papers.jsonl`, `train.jsonl`, `dev.jsonl` and `citations.json` below `out`.

    A line of the parts is a triplet of ids. The same papers and settings give the same bytes with any number
    of workers. Files of an earlier call are replaced together at the end. Raises InputError if no triplet can
    be sampled; then they are left as they were.
    """
    began, dropped = time.monotonic(), sources.reader.dropped
    with explain_write_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".triplets-", dir=out) as folder:
        draft = Path(folder)
        whole = _build_corpus(draft / PAPERS_FILE, sources, settings)
        parts = {
            name: _write_part(draft / f"{name}.jsonl", corpus, rows, sources, settings)
            for name, corpus, rows in _split(whole, settings, dropped)
        }
        if not parts["train"].report.pairs:
            reports = (dropped, parts["train"].report.dropped)
            found = ((reason, report.count(reason)) for report in reports for reason in report.ids)
            reasons = [f"{reason} {count:,}" for reason, count in found if not reason.endswith(RETAINED)]
            why = ", ".join(reasons) or "none of them cites another"
            raise InputError(f"no triplet of {len(whole.names):,} papers: {why}")
        write_json(out / REPORT, {"finished": False})
        (out / "dev.jsonl").unlink(missing_ok=True)
        for name in (PAPERS_FILE, *(part.file.name for part in parts.values())):
            (draft / name).replace(out / name)
    parts = {name: replace(part, file=out / part.file.name) for name, part in parts.items()}
    counts = len(whole.names), len(whole.graph.cited.others)
    prepared = PreparedCitations(*counts, dropped, parts, time.monotonic() - began)
    write_json(out / REPORT, _report(prepared, sources, settings))
    return prepared


def _build_corpus(path: Path, sources: CitationSources, settings: CitationSettings) -> CitationCorpus:
    """Write the retained papers, and return them with their citations."""
    dropped = sources.reader.dropped
    excluded = {name for paper in sources.read_excluded() for name in _all_names(paper)}

    def drop_reason(paper: Paper) -> str:
        if excluded and not excluded.isdisjoint(_all_names(paper)):
            return TEST_PAPER
        return missing_text(paper, require_abstract=settings.require_abstract)

    corpus = CorpusBuilder(drop_reason, dropped).build(sources, path, sources.read_edges())
    for row in corpus.graph.in_cycles.tolist():
        dropped.add(f"paper in a citation cycle or between two {RETAINED}", corpus.names[row])
    return corpus


def _split(
    whole: CitationCorpus, settings: CitationSettings, dropped: DropReport
) -> Iterator[tuple[str, CitationCorpus, list[int]]]:
    """Yield each part's name, the corpus of its triplets, and the rows that may be its queries."""
    held_out = whole.held_out(settings.dev, settings.seed)
    if settings.hold_out == "queries":
        yield "train", whole, np.flatnonzero(~held_out).tolist()
    else:
        train = whole.without(held_out, dropped)
        yield "train", train, list(range(len(train.names)))
    if settings.dev:
        yield "dev", whole, np.flatnonzero(held_out).tolist()


def _all_names(paper: Paper) -> list[str]:
    """Return the keys of a paper and its bare id: a test may have the corpus' own ids."""
    return [paper.id, *list_paper_keys(paper)]


def _write_part(
    path: Path,
    corpus: CitationCorpus,
    rows: Sequence[int],
    sources: CitationSources,
    settings: CitationSettings,
) -> TripletFile:
    report, table = SampleReport(), DomainTable(corpus.fields)

    def select_queries(linked: Iterable[int]) -> list[tuple[int, int]]:
        linked, queries = {*linked}, list[int]()
        for row in rows:
            name = corpus.names[row]
            if row in linked and sources.is_query(name):
                queries.append(row)
            else:
                report.dropped.add(CANDIDATE_ONLY if row in linked else NO_LINK, name)
        return settings.balance.select(queries, corpus.fields, corpus.names, report.dropped)

    inputs = SamplerInputs(sources, settings.options, settings.seed, settings.workers, select_queries, report)
    samples = samplers[settings.sampler].sample(corpus, inputs)
    write_lines(path, _lines(corpus.names, samples, table), errors="replace")
    return TripletFile(path, report, table)


def _lines(names: Sequence[str], samples: Iterable[tuple[int, QuerySample]], table: DomainTable) -> Iterator[str]:
    for row, sample in samples:
        table.add(row, sample.positives, sample.negatives)
        for positive, negative, kind in zip_longest(sample.positives, sample.negatives, sample.kinds):
            triplet = {"query": names[row], "positive": names[positive]}
            if negative is not None and kind != NONE:
                triplet |= {"negative": names[negative], "kind": kind}
            yield json.dumps(triplet, ensure_ascii=False)


def _report(prepared: PreparedCitations, sources: CitationSources, settings: CitationSettings) -> dict[str, Any]:
    return {
        "version": version("sciprism"),
        "settings": {key: value for key, value in asdict(settings).items() if key != "workers"},
        "papers": prepared.papers,
        "citations": prepared.citations,
        "dropped": prepared.dropped.to_json(),
        **{name: part.to_json() for name, part in prepared.parts.items()},
        "data": sources.provenance(),
    }
