"""Encode papers into a collection, shard by shard; an interrupted run can be resumed."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sciprism.encoders.languages import warn_of_other_languages
from sciprism.errors import InputError
from sciprism.files import lock_folder
from sciprism.papers.cleaning import is_blank
from sciprism.papers.identity import identify, is_same_paper
from sciprism.papers.languages import count_other_languages
from sciprism.papers.merging import merge_records
from sciprism.papers.records import Deletion, Paper
from sciprism.progress import Progress, show_nothing
from sciprism.store.collection import CollectionLayout, StoredCollection, check_folder, group_by_space, open_or_create
from sciprism.store.known_papers import KnownPapers, PaperStatus, explain_clash, hash_paper, quote_title
from sciprism.store.manifest import InputRecord
from sciprism.store.shard_files import hash64
from sciprism.store.writing import BATCH, PendingRow, ShardWriter, mark_deleted, remove_former

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

MAX_YEAR = 100_000
MAX_REASONS = 20


@dataclass(slots=True)
class EmbedReport:
    """Counts of the input's papers, and of the collection afterwards.

    Stored: new, changed (another text), updated (same text, other details; the vectors are reused). Not
    stored: unchanged, duplicates (same id and text again), bad. `reasons` explains the first bad ones. Replaced:
    of the changed and updated, those that took the place of another paper (`replace`). Pruned: stored before, and
    deleted because the input no longer has them. Deleted: stored papers that the input's deletions name
    (`corrections`); unknown_deletions name ids that are not stored. other_languages: of new
    and changed texts that are not in English, as guessed.
    """

    read: int = 0
    new: int = 0
    changed: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicates: int = 0
    bad: int = 0
    replaced: int = 0
    pruned: int = 0
    deleted: int = 0
    unknown_deletions: int = 0
    encoded: int = 0
    reasons: list[str] = field(default_factory=list)
    papers: int = 0
    missing_abstracts: int = 0
    superseded: int = 0
    other_languages: dict[str, int] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Count the papers of the input that are finished: encoded, or known to need no encoding."""
        return self.encoded + self.updated + self.unchanged + self.duplicates + self.bad


def embed(
    papers: Iterable[Paper | Deletion],
    encoder: Encoder,
    folder: Path | str,
    *,
    layout: CollectionLayout | None = None,
    skip_bad: bool = False,
    replace: bool = False,
    prune: bool = False,
    corrections: bool = False,
    progress: Progress = show_nothing,
) -> EmbedReport:
    """Store papers and their vectors; papers already stored with the same text are not encoded again.

    A record of a stored paper that comes from another file replaces it, but loses nothing that it has: `merge_records`.

    An interruption at any moment (even kill -9) leaves a valid collection of the finished shards, and the vectors that
    were computed up to 30 seconds ago. The same call resumes it, and ends with the same bytes as an uninterrupted run.

    skip_bad: count papers that cannot be used, and those whose id another paper has (`is_same_paper`); otherwise they
    are an InputError. replace: such a paper takes the place of one that was stored before. prune: as the last step,
    delete stored papers whose ids are not in the input; InputError where the input has none of them. corrections: a
    paper takes the place of any stored one of its id, and deletions delete stored papers in the last step; otherwise a
    deletion is an InputError. Give only the last record of each id then (`LastRecords`).
    """
    folder, layout = Path(folder), layout or CollectionLayout()
    check_folder(folder)
    group_by_space(encoder, layout.formats or ())  # refuses unknown formats before the folder is made
    with lock_folder(folder):
        run = _EmbeddingRun(open_or_create(folder, encoder, layout), encoder, progress)
        run.skip_bad, run.replace, run.prune, run.corrections = skip_bad, replace, prune, corrections
        rest = iter(papers)
        while batch := list(islice(rest, BATCH)):
            run.add(batch)
            run.show()
        return run.finish()


class _EmbeddingRun:
    """One pass over an input, by the rules of `embed`: classifies papers, and writes those to be stored in shards."""

    skip_bad = replace = prune = corrections = False

    def __init__(self, collection: StoredCollection, encoder: Encoder, progress: Progress) -> None:
        self.report = EmbedReport()
        self._folder, self._stored = collection.folder, collection
        self._encoder, self._progress = encoder, progress
        self._known = KnownPapers(StoredCollection(collection.folder, collection.manifest))  # whose caches go then
        self._kept: set[int] = set()  # hashes of ids of the input whose records cannot be used
        self._deleted = array("Q")  # hashes of ids that the input deletes
        self._writer = ShardWriter(collection, encoder, self._encoded)
        self._pending: list[PendingRow] = []  # of the shard that is not full
        self._first_pending = collection.manifest.rows
        self._other_languages = Counter[str]()

    def add(self, records: list[Paper | Deletion]) -> None:
        """Classify papers, and write each shard that is full."""
        texts = iter(self._encoder.texts([record for record in records if isinstance(record, Paper)], role="paper"))
        for paper in records:
            if isinstance(paper, Deletion):
                self._delete(paper)
                continue
            text = next(texts)
            self.report.read += 1
            if is_blank(paper.title) and is_blank(paper.abstract):
                self._bad(paper, "it has no title and no abstract; add one")
            elif paper.year is not None and abs(paper.year) > MAX_YEAR:
                self._bad(paper, f"its year is {paper.year}; correct it")
            else:
                self._classify(paper, text)
            if len(self._pending) == self._writer.manifest.shard_size:
                self._write_shard()

    def _write_shard(self) -> None:
        papers = [row.paper for row in self._pending if row.status.kind != "updated"]
        self._other_languages.update(count_other_languages([f"{each.title} {each.abstract}" for each in papers]))
        self._writer.write(self._pending)
        self._first_pending += len(self._pending)
        self._pending = []

    def finish(self) -> EmbedReport:
        """Write the last shard, and record what left and that the input was read completely."""
        if self._pending:
            self._write_shard()
        report, before = self.report, self._writer.manifest
        stored = StoredCollection(self._folder, before)
        deleted = self._known.find_unseen(np.array(self._deleted, np.uint64))
        gone = np.empty(0, np.int64)
        if self.prune:
            gone = np.setdiff1d(self._known.find_unseen(np.array([*self._kept], np.uint64), others=True), deleted)
        if len(gone) and not report.unchanged + report.changed + report.updated:
            raise InputError(
                f"the input has none of the {len(gone):,} papers of {self._folder}, and none was deleted: is it the "
                "input of this collection? `sciprism delete` deletes papers by their ids"
            )
        record = InputRecord(read=report.read, duplicates=report.duplicates, bad=report.bad)
        manifest = mark_deleted(stored, np.union1d(gone, deleted)).model_copy(update={"input": record})
        report.pruned, report.deleted = len(gone), len(deleted)
        report.unknown_deletions = len(self._deleted) - len(deleted)
        if manifest != before:
            manifest.write(self._folder)
            remove_former(stored, manifest)
        self._writer.unfinished.clear()
        if others := self._other_languages:
            report.other_languages = dict(others)
            warn_of_other_languages(self._encoder, others, report.new + report.changed, "papers")
        report.papers, report.superseded = manifest.papers, manifest.superseded
        report.missing_abstracts = StoredCollection(self._folder, manifest).count_missing_abstracts()
        return report

    def _delete(self, deletion: Deletion) -> None:
        if not self.corrections:
            raise InputError(f"{_locate(deletion)}: --corrections applies deletions, and later records of a paper")
        id = hash64(deletion.id, "surrogatepass")
        if self._known.is_seen(id):
            raise InputError(f"{_locate(deletion)} comes after the paper; give only the last records of ids")
        self._deleted.append(id)

    def _classify(self, paper: Paper, text: str) -> None:
        try:
            hashes = hash_paper(paper, text)
        except UnicodeEncodeError:
            self._bad(paper, "it holds a lone surrogate (half a character); correct the input's encoding")
            return
        status = self._known.compare(hashes)
        if status.kind == "unchanged" and self._has_more_places(paper, status):
            status = PaperStatus("updated", status.row, same_record=True)
        if status.row >= 0 and not status.same_record and not self._may_replace(paper, status):
            return
        if status.kind in ("changed", "updated") and (completed := self._complete(paper, status)) is not paper:
            paper = completed
            hashes = hash_paper(paper, self._encoder.texts([paper], role="paper")[0])
            status = self._known.compare(hashes)
        count = "duplicates" if status.kind == "duplicate" else status.kind
        setattr(self.report, count, getattr(self.report, count) + 1)
        if status.kind in ("new", "changed", "updated"):
            self._known.mark(hashes, self._first_pending + len(self._pending))
            self._pending.append(PendingRow(paper, hashes, status))
        elif status.kind == "unchanged":
            self._known.mark(hashes, status.row)

    def _may_replace(self, paper: Paper, status: PaperStatus) -> bool:
        """Return whether a record is of the same paper as the known one of its id; else it is bad."""
        of_this_input = status.kind in ("duplicate", "conflict")
        if self.corrections and not of_this_input:
            return True
        known_paper = self._known_paper(status.row)
        same = is_same_paper(identify(known_paper), identify(paper))
        if same and status.kind != "conflict":
            return True
        if self.replace and not of_this_input:
            self.report.replaced += 1
            return True
        self._bad(paper, explain_clash(paper, known_paper, same=same, of_this_input=of_this_input))
        return False

    def _complete(self, paper: Paper, status: PaperStatus) -> Paper:
        """Return a record completed with the stored one of the same paper, where that was read from another file.

        A file that has changed counts alone: what it lacks now was taken out of it.
        """
        known_paper = self._known_paper(status.row)
        places = paper.place, known_paper.place
        if self.replace or self.corrections or not (places[0] and places[1]):
            return paper
        if places[0].file == places[1].file and not places[1].others:
            return paper
        return merge_records([paper, known_paper])

    def _has_more_places(self, paper: Paper, status: PaperStatus) -> bool:
        """Return whether an unchanged record of several files is stored as that of fewer."""
        if paper.place is None or not paper.place.others:
            return False
        known = self._known_paper(status.row).place
        return known is None or not set(paper.place.list_all()) <= set(known.list_all())

    def _known_paper(self, row: int) -> Paper:
        if row >= self._first_pending:
            return self._pending[row - self._first_pending].paper
        if row >= self._stored.rows:
            self._stored = StoredCollection(self._folder, self._writer.manifest)
        return self._stored.papers([row])[0]

    def _encoded(self, count: int) -> None:
        self.report.encoded += count
        self.show()

    def show(self) -> None:
        """Show how many papers are done."""
        self._progress("embedding", "papers", self.report.done)

    def _bad(self, paper: Paper, reason: str) -> None:
        where = paper.place or f"number {self.report.read} of the input"
        message = f"{where}: paper {paper.id!r}, {quote_title(paper)}: {reason}"
        if not self.skip_bad:
            raise InputError(f"{message}; or skip such papers with --skip-bad")
        self.report.bad += 1
        with suppress(UnicodeEncodeError):  # an id that no stored paper has
            self._kept.add(hash64(paper.id))
        if len(self.report.reasons) < MAX_REASONS:
            self.report.reasons.append(message)


def _locate(deletion: Deletion) -> str:
    return f"{deletion.place or 'the input'}: the deletion of {deletion.id!r}"
