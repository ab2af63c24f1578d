"""Embed the papers of files: read and checked before a model is loaded or a paper encoded, then stored."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.errors import InputError
from sciprism.papers.abstracts import AbstractCompletion
from sciprism.papers.identity import hash_text
from sciprism.papers.input_file import ReadOptions
from sciprism.papers.input_paths import InputPart, Paths
from sciprism.papers.merging import MergedPaper, MergedRecords
from sciprism.papers.read import ReadReport, read_changes
from sciprism.papers.records import Deletion, Paper
from sciprism.progress import Progress, show_each, show_nothing
from sciprism.store.collection import CollectionLayout, check_folder
from sciprism.store.embed import EmbedReport, embed
from sciprism.store.manifest import is_collection

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder


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
