"""Encode papers, or all papers of files, into a collection, shard by shard; an interrupted run can be resumed."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.encoders.languages import warn_of_other_languages
from sciprism.errors import InputError
from sciprism.files import lock_folder
from sciprism.papers.cleaning import is_blank
from sciprism.papers.identity import MergedPaper, MergedRecords, hash_text, identify, is_same_paper, merge_records
from sciprism.papers.input_file import ReadOptions
from sciprism.papers.input_paths import InputPart, Paths
from sciprism.papers.languages import count_other_languages
from sciprism.papers.read import AbstractCompletion, ReadReport, read_changes
from sciprism.papers.records import Deletion, Paper
from sciprism.parallel import Progress, show_each, show_nothing
from sciprism.store.collection import (
    CollectionLayout,
    InputRecord,
    StoredCollection,
    check_folder,
    group_by_space,
    is_collection,
    open_or_create,
)
from sciprism.store.shard_files import hash64
from sciprism.store.writing import (
    BATCH,
    KnownPapers,
    PaperStatus,
    PendingRow,
    ShardWriter,
    explain_clash,
    hash_paper,
    mark_deleted,
    quote_title,
    remove_former,
)

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


BUCKETS = 16  # ids are sorted in groups, so that sorting needs little additional memory
MAX_VERSION = 127
_GROUP_BITS = np.uint64(60)


class LastRecords:
    """Select the last record of each id from an input that is read twice, to be made here and to `select` from.

    Where the source numbers the versions of a paper (`Place.version`), the last record of the highest version is
    selected, unless that version is deleted. Memory: 9 bytes a record while they are read, then one.

    papers, deletions: how many are selected. outdated: the records that a later one of their id corrects, deletes or
    adds again.

    >>> from sciprism.papers.records import Deletion, Paper
    >>> records = [Paper(id="a", title="Wrong"), Paper(id="b", title="B"), Paper(id="a", title="A"), Deletion("b")]
    >>> list(LastRecords(records).select(records))
    [Paper(id='a', title='A', ...), Deletion(id='b')]
    """

    def __init__(self, records: Iterable[Paper | Deletion]) -> None:
        hashes, numbers = array("Q"), bytearray()  # numbers: of each twice its version, and 1 for a deletion
        for record in records:
            version = record.place.version if record.place else None
            hashes.append(hash_text(record.id))
            numbers.append(min(version or 1, MAX_VERSION) << 1 | isinstance(record, Deletion))
        ids, marks = np.asarray(hashes, np.uint64), np.frombuffer(numbers, np.uint8)
        self._selected = np.zeros(len(ids), bool)
        groups = (ids >> _GROUP_BITS).astype(np.uint8)
        for group in range(BUCKETS):
            rows = np.flatnonzero(groups == group)
            self._selected[rows[_find_last(ids[rows], marks[rows])]] = True
        self.deletions = int((self._selected & (marks & 1).astype(bool)).sum())
        self.papers = int(self._selected.sum()) - self.deletions
        self.outdated = len(ids) - self.papers - self.deletions

    def select(self, records: Iterable[Paper | Deletion]) -> Iterator[Paper | Deletion]:
        """Yield the last records, in the order of the input; InputError where it has more or fewer records now."""
        number = 0
        for number, record in enumerate(records, 1):
            if number <= len(self._selected) and self._selected[number - 1]:
                yield record
        if number != len(self._selected):
            raise InputError(
                f"the input had {len(self._selected):,} records when it was first read, and then {number:,}: a file "
                "changed meanwhile; run the same command again"
            )


def _find_last(ids: NDArray[np.uint64], marks: NDArray[np.uint8]) -> Rows:
    """Return the records that count, of some with these hashes of ids and marks, both (n,), in the input's order."""
    versions, deleted = marks >> 1, marks & 1
    rows = np.lexsort((versions, ids))  # stable: records of one version stay in their order
    rows = rows[_find_ends(ids[rows], versions[rows])]
    rows = rows[np.lexsort((versions[rows], deleted[rows] == 0, ids[rows]))]
    last: Rows = rows[_find_ends(ids[rows])]
    return last


def _find_ends(*keys: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return where runs of equal keys end."""
    ends = np.ones(len(keys[0]), bool)
    ends[:-1] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return ends


Record = TypeVar("Record")
Read = Callable[[ReadReport], Iterator[Paper | Deletion]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedInput:
    """Files of papers, and how they are read.

    abstracts, missing_abstract: files of abstracts, and what becomes of a paper without one. skip_bad: skip and count
    records that cannot be used. part: read only this part.
    """

    paths: Paths
    reader: str = ""
    options: ReadOptions = field(default_factory=ReadOptions)
    abstracts: Sequence[str] = ()
    missing_abstract: str = "title"
    skip_bad: bool = False
    part: InputPart | None = None

    @property
    def is_piped(self) -> bool:
        """Return whether a file is standard input or a pipe, which can be read only once."""
        paths = [self.paths] if isinstance(self.paths, str | Path) else self.paths
        return any(str(path) == "-" or Path(str(path)).is_fifo() for path in paths)

    def read(self, report: ReadReport | None = None) -> Iterator[Paper | Deletion]:
        """Yield the records of all files, or of a part of them. Raises InputError at once for a missing file."""
        return read_changes(
            self.paths, reader=self.reader, options=self.options, skip_bad=self.skip_bad, report=report, part=self.part
        )


@dataclass(slots=True)
class FilesReport:
    """What became of the records of files: as they were read, completed with abstracts, and stored.

    merged: papers of which several records were one. duplicates: records that `deduplicate` merged into others.
    containers: ids that are of no paper (`find_containers`). outdated: records of papers of which a later one counts.
    deletions: those that the input asks for.
    """

    read: ReadReport
    completion: AbstractCompletion
    stored: EmbedReport
    merged: list[MergedPaper] = field(default_factory=list)
    duplicates: int = 0
    containers: int = 0
    outdated: int = 0
    deletions: int = 0

    def explain_nothing(self) -> str:
        """Return why no record could be used; "" where one could."""
        stored = self.stored
        if stored.read > stored.bad or stored.deleted + stored.unknown_deletions:
            return ""
        skipped = self.read.skipped_count + stored.bad + self.completion.report.skipped
        only = f", and {self.deletions:,} deletions are of no collection" if self.deletions else ""
        return f"no paper of the input can be used: {skipped:,} skipped{only}; `sciprism inspect` says what files hold"


def check_input(source: EmbedInput, folder: Path, *, corrections: bool) -> None:
    """Raise InputError for a folder of other things, a missing file, or options that exclude each other."""
    check_folder(folder)
    if corrections and source.options.ids_per_file:
        raise InputError(
            "--ids-per-file: each file has ids of its own, and corrects no other; omit --corrections or it"
        )
    source.read()  # opens nothing, and names a missing file


def embed_files(
    source: EmbedInput,
    encoder: Encoder,
    folder: Path,
    completion: AbstractCompletion,
    *,
    layout: CollectionLayout | None = None,
    replace: bool = False,
    prune: bool = False,
    corrections: bool = False,
    deduplicate: Callable[[list[Paper]], list[Paper]] | None = None,
    progress: Progress = show_nothing,
) -> FilesReport:
    """Store the papers of files, as `embed` does, with abstracts joined by `completion`.

    The files are read once before, unless they are pipes: a bad record is found now, not after an hour of encoding.
    Records of one paper in several files are merged then (`MergedRecords`), unless `corrections` says which count.
    deduplicate: merges the records of one paper that have no id in common; all are held in memory.
    Raises InputError for `prune` where a record cannot be read: its paper would be deleted; and for deletions without
    `corrections`.
    """
    report = FilesReport(ReadReport(), completion, EmbedReport())
    last, total = None, None
    read: Read = source.read
    if corrections:
        if source.is_piped:
            raise InputError(
                "--corrections reads its input twice, and a pipe can be read only once; write it to a file"
            )
        last = LastRecords(show_each(source.read(report.read), progress, "reading", "records"))
        report.outdated, report.deletions, total = last.outdated, last.deletions, last.papers
        read = lambda report: last.select(source.read(report))  # noqa: E731
    merged = MergedRecords()
    if not source.is_piped and (completion.fails or last is None):  # what would be an error later is one now
        records = completion.complete(read(ReadReport() if last else report.read))
        total = 0
        for paper in show_each(
            (record for record in records if isinstance(record, Paper)), progress, "reading", "papers"
        ):
            total += 1
            if not last:
                merged.add(paper)
        deletions = report.read.deletions
        if merged.find_repeated() and not deletions:
            merged.collect(completion.complete(read(ReadReport())))
            total -= len(merged.absorbed)
        if last is None and deletions:
            first = next(file.path for file in report.read.files if file.deletions)
            raise InputError(
                f"the input deletes {deletions:,} papers (the first in {first}): apply that, and that the last "
                "record of a paper counts, with --corrections; nothing was changed"
            )
    if prune and (source.is_piped or report.read.skipped_count):
        skipped = f"{report.read.skipped_count:,} records cannot be read"
        why = "a pipe can be read only once" if source.is_piped else skipped
        raise InputError(f"--prune: {why}, so papers could leave that are there; nothing was changed")
    if total != 0 or source.part or (report.deletions and is_collection(folder)):
        report.read = ReadReport()

        def show(work: str, unit: str = "", done: int = 0, _total: int | None = None, /) -> None:
            progress(work, unit, done, total)

        papers = merged.merge(completion.complete(read(report.read)))
        report.merged, report.containers = merged.papers, merged.containers
        if deduplicate:
            every = [record for record in papers if isinstance(record, Paper)]
            papers = iter(distinct := deduplicate(every))
            report.duplicates = len(every) - len(distinct)
        rules = {"replace": replace, "prune": prune, "corrections": corrections, "skip_bad": source.skip_bad}
        report.stored = embed(papers, encoder, folder, layout=layout, progress=show, **rules)
    return report
