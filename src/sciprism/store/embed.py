"""Encode papers into a collection, shard by shard; an interrupted run can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sciprism.errors import InputError
from sciprism.files import lock_folder
from sciprism.papers.records import Paper
from sciprism.store.collection import Collection
from sciprism.store.known_papers import hash_paper
from sciprism.store.layout import CollectionLayout, check_folder, open_or_create
from sciprism.store.manifest import InputRecord
from sciprism.store.shards import BATCH, PendingRow, ShardWriter, load_known_papers

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

MAX_YEAR = 100_000
MAX_REASONS = 20


@dataclass(slots=True)
class EmbedReport:
    """Counts of the input's papers, and of the collection afterwards.

    Stored: new, changed (another text), updated (same text, other details; the vectors are reused). Not
    stored: unchanged, duplicates (same id and text again), bad. `reasons` explains the first bad ones.
    """

    read: int = 0
    new: int = 0
    changed: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicates: int = 0
    bad: int = 0
    encoded: int = 0
    reasons: list[str] = field(default_factory=list)
    papers: int = 0
    missing_abstracts: int = 0
    superseded: int = 0

    @property
    def done(self) -> int:
        """Count the papers of the input that need no more work."""
        return self.encoded + self.updated + self.unchanged + self.duplicates + self.bad


def embed(
    papers: Iterable[Paper],
    encoder: Encoder,
    folder: Path | str,
    *,
    layout: CollectionLayout | None = None,
    skip_bad: bool = False,
    progress: Callable[[EmbedReport], None] | None = None,
) -> EmbedReport:
    """Store papers and their vectors; papers already stored with the same text are not encoded again.

    An interruption at any moment (even kill -9) leaves a valid collection of the finished shards. The same
    call resumes it and ends with the same bytes as an uninterrupted run. `progress` gets the counts every
    few seconds. A paper that cannot be used is an InputError; with `skip_bad` it is counted instead.
    """
    folder = Path(folder)
    check_folder(folder)
    with lock_folder(folder):
        run = _EmbeddingRun(open_or_create(folder, encoder, layout or CollectionLayout()), encoder, skip_bad, progress)
        rest = iter(papers)
        while batch := list(islice(rest, BATCH)):
            run.add(batch)
        return run.finish()


class _EmbeddingRun:
    """One pass over an input: classifies papers, and writes a shard whenever enough are pending."""

    def __init__(
        self,
        collection: Collection,
        encoder: Encoder,
        skip_bad: bool,
        progress: Callable[[EmbedReport], None] | None,
    ) -> None:
        self.report = EmbedReport()
        self._folder = collection.folder
        self._encoder = encoder
        self._skip_bad = skip_bad
        self._progress = progress or (lambda _report: None)
        self._stored = collection
        self._known = load_known_papers(collection)
        self._writer = ShardWriter(collection, encoder, self._encoded)
        self._pending: list[PendingRow] = []

    def add(self, papers: list[Paper]) -> None:
        """Classify papers; write a shard whenever one is full."""
        for paper, text in zip(papers, self._encoder.texts(papers, role="paper"), strict=True):
            self.report.read += 1
            if reason := find_problem(paper):
                self._bad(paper, reason)
            else:
                self._classify(paper, text)
            if len(self._pending) == self._writer.manifest.shard_size:
                self._store()
        self._progress(self.report)

    def finish(self) -> EmbedReport:
        """Write the last shard and record that the input was read completely."""
        if self._pending:
            self._store()
        report, manifest = self.report, self._writer.manifest
        record = InputRecord(read=report.read, duplicates=report.duplicates, bad=report.bad)
        if manifest.input != record:
            manifest.model_copy(update={"input": record}).write(self._folder)
        report.papers, report.superseded = manifest.papers, manifest.superseded
        report.missing_abstracts = manifest.missing_abstracts
        return report

    def _classify(self, paper: Paper, text: str) -> None:
        try:
            hashes = hash_paper(paper, text)
        except UnicodeEncodeError:
            self._bad(paper, "it holds a lone surrogate (half a character); correct the input's encoding")
            return
        status = self._known.classify(hashes)
        if status.kind == "changed":
            old = self._stored.papers([status.row])[0]
            if not may_be_same_paper(old, paper):
                self._bad(paper, f"its id is that of another paper, {old.title!r}; give each its own id")
                return
        if status.kind == "conflict":
            self._bad(paper, "its id came before with another text; give each paper its own id")
            return
        count = "duplicates" if status.kind == "duplicate" else status.kind
        setattr(self.report, count, getattr(self.report, count) + 1)
        if status.must_be_stored:
            self._pending.append(PendingRow(paper, hashes, status))

    def _store(self) -> None:
        self._writer.write(self._pending)
        self._pending = []

    def _encoded(self, count: int) -> None:
        self.report.encoded += count
        self._progress(self.report)

    def _bad(self, paper: Paper, reason: str) -> None:
        message = f"paper {paper.id!r} (number {self.report.read} of the input): {reason}"
        if not self._skip_bad:
            raise InputError(f"{message}; or skip such papers with --skip-bad")
        self.report.bad += 1
        if len(self.report.reasons) < MAX_REASONS:
            self.report.reasons.append(message)


def may_be_same_paper(old: Paper, new: Paper) -> bool:
    """Return whether two records with one id may be versions of one paper.

    Keys such as smith2020 recur in other bibliographies; without this check the second paper would replace
    the first. An identifier of another system decides, else an equal title, or equal year and first author.
    """
    for system in ("doi", "pmid", "arxiv", "openalex", "s2"):
        if system in old.ids and system in new.ids:
            return old.ids[system] == new.ids[system]
    same_title = old.title.casefold() == new.title.casefold()
    return same_title or (old.year, old.authors[:1]) == (new.year, new.authors[:1])


def find_problem(paper: Paper) -> str:
    """Return why a paper cannot be stored, or "" if it can."""
    if not paper.title.strip() and not paper.abstract.strip():
        return "it has no title and no abstract; add one"
    if paper.year is not None and abs(paper.year) > MAX_YEAR:
        return f"its year is {paper.year}; correct it"
    return ""
