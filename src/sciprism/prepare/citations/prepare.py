"""Sample triplets from papers and citations, and write them with the papers that they name."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from sciprism.datasets.split import names as names_of
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import said_plainly, sha256, write_json, write_lines
from sciprism.papers.records import Paper
from sciprism.prepare.citations.corpus import TESTED, Corpus, Gathering, text_fault
from sciprism.prepare.citations.samplers import Asked, samplers
from sciprism.prepare.citations.sources import Papers
from sciprism.prepare.samplers.domains import Balance, DomainTable
from sciprism.prepare.samplers.drawing import NONE, Draw, Sampled
from sciprism.training.paper_file import NAME

REPORT = "citations.json"
HoldOut = Literal["papers", "queries"]
HOLD_OUT: tuple[HoldOut, ...] = ("papers", "queries")
UNABLE = "query without a citation, tie or triplet"
NOT_ASKED = "query of another field or shard (a candidate alone)"
IN_CIRCLE = "paper in a circle of citations or between two (kept)"


@dataclass(frozen=True, slots=True)
class Settings:
    """How triplets are made.

    sampler: its name, options: of it. balance: of the queries among fields. dev: the share of papers that is
    held out, by hash. hold_out: "papers", no train triplet names one of them, or "queries", none asks about
    one of them, as published. abstracts: papers need one.
    """

    sampler: str = "specter"
    options: dict[str, Any] = field(default_factory=dict)
    balance: Balance = field(default_factory=Balance)
    dev: float = 0.05
    hold_out: HoldOut = "papers"
    abstracts: bool = False
    seed: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.dev < 1:
            raise InputError(f"a share of {self.dev} for dev; it must be 0 or more, and less than 1")
        if self.hold_out not in HOLD_OUT:
            raise InputError(f"hold out {self.hold_out!r}; known: {', '.join(HOLD_OUT)}")


@dataclass(frozen=True, slots=True)
class Part:
    """What was written of a part: the file, what the sampler did, the sample by fields."""

    file: Path
    report: Sampled
    table: DomainTable

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        named = {"file": self.file.name, "sha256": sha256(self.file)}
        return named | self.report.to_json() | {"domains": self.table.to_json()}


@dataclass(frozen=True, slots=True)
class Prepared:
    """papers, citations: that take part. dropped: those that do not. parts: train and dev."""

    papers: int
    citations: int
    dropped: DropReport
    parts: dict[str, Part]
    seconds: float


def prepare_citations(out: Path, papers: Papers, settings: Settings) -> Prepared:
    """Write `papers.jsonl`, `train.jsonl`, `dev.jsonl` and `citations.json` below `out`.

    A line of the parts is a triplet of ids. The same papers and settings give the same bytes with any number
    of workers. Files of an earlier call are replaced together, once all is made. Raises InputError where
    nothing can be sampled; then they stay.
    """
    began = time.monotonic()
    with said_plainly(out):
        out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".triplets-", dir=out) as folder:
        draft = Path(folder)
        whole = _gathered(draft / NAME, papers, settings)
        parts = {
            name: _part(draft / f"{name}.jsonl", corpus, rows, papers, settings)
            for name, corpus, rows in _divided(whole, settings, papers.read.dropped)
        }
        if not parts["train"].report.pairs:
            reasons = _reasons(papers.read.dropped, parts["train"])
            raise InputError(f"no triplet of {len(whole.names):,} papers: {reasons}")
        write_json(out / REPORT, {"finished": False})
        (out / "dev.jsonl").unlink(missing_ok=True)
        for name in (NAME, *(part.file.name for part in parts.values())):
            (draft / name).replace(out / name)
    parts = {name: replace(part, file=out / part.file.name) for name, part in parts.items()}
    counts = len(whole.names), len(whole.graph.cited.others)
    prepared = Prepared(*counts, papers.read.dropped, parts, time.monotonic() - began)
    write_json(out / REPORT, _facts(prepared, papers, settings))
    return prepared


def _gathered(path: Path, papers: Papers, settings: Settings) -> Corpus:
    """Write the papers that take part, and return them with their citations."""
    dropped = papers.read.dropped
    tested = {name for paper in papers.tested() for name in _all_names(paper)}

    def fault(paper: Paper) -> str:
        if tested and not tested.isdisjoint(_all_names(paper)):
            return TESTED
        return text_fault(paper, abstracts=settings.abstracts)

    whole = Gathering(fault, dropped).corpus(papers, path, papers.edges())
    for row in whole.graph.in_circles.tolist():
        dropped.add(IN_CIRCLE, whole.names[row])
    return whole


def _divided(
    whole: Corpus, settings: Settings, dropped: DropReport
) -> Iterator[tuple[str, Corpus, list[int]]]:
    """Yield each part's name, what its triplets may name, and the rows of that it may ask about."""
    out = whole.held_out(settings.dev, settings.seed)
    if settings.hold_out == "queries":
        yield "train", whole, np.flatnonzero(~out).tolist()
    else:
        train = whole.without(out, dropped)
        yield "train", train, list(range(len(train.names)))
    if settings.dev:
        yield "dev", whole, np.flatnonzero(out).tolist()


def _all_names(paper: Paper) -> list[str]:
    """Return the bare id too: a test may have the corpus' own ids."""
    return [paper.id, *names_of(paper)]


def _part(path: Path, corpus: Corpus, rows: Sequence[int], papers: Papers, settings: Settings) -> Part:
    report, table = Sampled(), DomainTable(corpus.fields)

    def queries(able: Iterable[int]) -> list[tuple[int, int]]:
        can, mine = {*able}, list[int]()
        for row in rows:
            reason = UNABLE if row not in can else "" if papers.asks(corpus.names[row]) else NOT_ASKED
            if reason:
                report.dropped.add(reason, corpus.names[row])
            else:
                mine.append(row)
        return settings.balance.queries(mine, corpus.fields, corpus.names, report.dropped)

    asked = Asked(papers=papers, options=settings.options, seed=settings.seed, workers=settings.workers)
    found = samplers[settings.sampler].draws(corpus, queries, asked, report)
    write_lines(path, _lines(corpus.names, found, table), errors="replace")
    return Part(path, report, table)


def _lines(names: Sequence[str], found: Iterable[tuple[int, Draw]], table: DomainTable) -> Iterator[str]:
    for row, draw in found:
        table.add(row, draw.positives, draw.negatives)
        negatives: list[int | None] = [*draw.negatives]
        negatives += [None] * (len(draw.positives) - len(negatives))
        for positive, negative, kind in zip(draw.positives, negatives, draw.kinds, strict=True):
            triplet = {"query": names[row], "positive": names[positive]}
            if negative is not None and kind != NONE:
                triplet |= {"negative": names[negative], "kind": kind}
            yield json.dumps(triplet, ensure_ascii=False)


def _facts(prepared: Prepared, papers: Papers, settings: Settings) -> dict[str, Any]:
    told = {key: value for key, value in asdict(settings).items() if key != "workers"}
    return {
        "version": version("sciprism"),
        "settings": told,
        "papers": prepared.papers,
        "citations": prepared.citations,
        "dropped": prepared.dropped.to_json(),
        **{name: part.to_json() for name, part in prepared.parts.items()},
        "data": papers.provenance(),
    }


def _reasons(dropped: DropReport, part: Part) -> str:
    tallies = (dropped, part.report.dropped)
    reasons = [(tally, reason) for tally in tallies for reason in tally.ids if not reason.endswith("(kept)")]
    found = [f"{reason} {tally.count(reason):,}" for tally, reason in reasons]
    return ", ".join(found) or "none of them cites another"
