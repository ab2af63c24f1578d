"""Encode papers into a collection, shard by shard, so that any stop can be continued."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sciprism.errors import InputError
from sciprism.files import only_writer
from sciprism.papers.records import Paper
from sciprism.store.collection import Collection
from sciprism.store.known_papers import hashes_of
from sciprism.store.layout import Layout, begin, check_folder
from sciprism.store.manifest import InputRecord
from sciprism.store.shards import SLICE, NewRow, ShardWriter, load_known

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

MAX_YEAR = 100_000
REASONS = 20


@dataclass(slots=True)
class EmbedReport:
    """What became of every paper of the input, and what the collection then holds.

    new, changed (another text) and updated (same text, other details; vectors kept) were stored;
    unchanged, duplicates (same id and text again) and bad were not. `reasons` names the first bad ones.
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
    layout: Layout | None = None,
    skip_bad: bool = False,
    progress: Callable[[EmbedReport], None] | None = None,
) -> EmbedReport:
    """Store papers and their vectors; a paper that is there already, with the same text, is left as it is.

    A stop at any moment (even kill -9) leaves a whole collection of the shards so far; the same call then
    continues, and ends with the bytes of a run that was never stopped. `progress` is told the counts so
    far, every few seconds. A paper that cannot be used is an InputError, or counted with `skip_bad`.
    """
    folder = Path(folder)
    check_folder(folder)
    with only_writer(folder):
        run = _Run(begin(folder, encoder, layout or Layout()), encoder, skip_bad, progress)
        for batch in _batches(papers):
            run.take(batch)
        return run.finish()


class _Run:
    """One pass over an input."""

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
        self._progress = progress or _no_progress
        self._stored = collection
        self._known = load_known(collection)
        self._writer = ShardWriter(collection, encoder, self._encoded)
        self._waiting: list[NewRow] = []

    def take(self, papers: list[Paper]) -> None:
        """Sort papers into what must be stored and what need not; store each shard as it fills."""
        for paper, text in zip(papers, self._encoder.texts(papers, role="paper"), strict=True):
            self.report.read += 1
            reason = unusable(paper)
            if reason:
                self._bad(paper, reason)
            else:
                self._judge(paper, text)
            if len(self._waiting) == self._writer.manifest.shard_size:
                self._store()
        self._progress(self.report)

    def finish(self) -> EmbedReport:
        """Store what is left and note that the input was read to its end."""
        if self._waiting:
            self._store()
        report, manifest = self.report, self._writer.manifest
        seen = InputRecord(read=report.read, duplicates=report.duplicates, bad=report.bad)
        if manifest.input != seen:
            manifest.model_copy(update={"input": seen}).write(self._folder)
        report.papers, report.superseded = manifest.papers, manifest.superseded
        report.missing_abstracts = manifest.missing_abstracts
        return report

    def _judge(self, paper: Paper, text: str) -> None:
        try:
            hashes = hashes_of(paper, text)
        except UnicodeEncodeError:
            self._bad(paper, "it holds half a character (a lone surrogate); correct the input's encoding")
            return
        judgement = self._known.judge(hashes)
        if judgement.verdict == "changed":
            old = self._stored.papers([judgement.row])[0]
            if not may_be_one(old, paper):
                self._bad(paper, f"its id is that of another paper, {old.title!r}; give each its own id")
                return
        match judgement.verdict:
            case "conflict":
                self._bad(paper, "its id came before with another text; give each paper its own id")
            case "duplicate":
                self.report.duplicates += 1
            case "unchanged":
                self.report.unchanged += 1
            case "new":
                self.report.new += 1
            case "changed":
                self.report.changed += 1
            case "updated":
                self.report.updated += 1
        if judgement.must_be_stored:
            self._waiting.append(NewRow(paper, hashes, judgement))

    def _store(self) -> None:
        self._writer.write(self._waiting)
        self._waiting = []

    def _encoded(self, count: int) -> None:
        self.report.encoded += count
        self._progress(self.report)

    def _bad(self, paper: Paper, reason: str) -> None:
        message = f"paper {paper.id!r} (number {self.report.read} of the input): {reason}"
        if not self._skip_bad:
            raise InputError(f"{message}; or leave such papers out with --skip-bad")
        self.report.bad += 1
        if len(self.report.reasons) < REASONS:
            self.report.reasons.append(message)


def may_be_one(old: Paper, new: Paper) -> bool:
    """Say whether two papers of one id may be two states of one paper, or must be two papers.

    Keys such as smith2020 recur from bibliography to bibliography; without this the second would replace
    the first. An identifier of another system decides, else an equal title or equal year and first author.
    """
    for system in ("doi", "pmid", "arxiv", "openalex", "s2"):
        if system in old.ids and system in new.ids:
            return old.ids[system] == new.ids[system]
    if old.title.casefold() == new.title.casefold():
        return True
    return (old.year, old.authors[:1]) == (new.year, new.authors[:1])


def unusable(paper: Paper) -> str:
    """Say why a paper cannot be stored, or nothing."""
    if not paper.title.strip() and not paper.abstract.strip():
        return "it has no title and no abstract; add one"
    if paper.year is not None and abs(paper.year) > MAX_YEAR:
        return f"its year is {paper.year}; correct it"
    return ""


def _no_progress(_: EmbedReport) -> None:
    """Tell nobody."""


def _batches(papers: Iterable[Paper]) -> Iterator[list[Paper]]:
    rest = iter(papers)
    while batch := list(islice(rest, SLICE)):
        yield batch
