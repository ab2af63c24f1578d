"""One worker: embed one part of an input into its own collection, and say how far it is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sciprism.checksums import hash_file
from sciprism.errors import InputError
from sciprism.files import lock_file, lock_folder
from sciprism.papers.abstracts import AbstractCompletion, open_abstracts
from sciprism.papers.division import PartNumber
from sciprism.papers.input_paths import read_stamp, tag_content
from sciprism.papers.read import ReadReport, list_paper_files
from sciprism.papers.records import Deletion, Paper
from sciprism.store.collection import CollectionLayout
from sciprism.store.embed import MAX_REASONS, EmbedReport, embed, explain_deletion
from sciprism.store.embed_files import FilesProgress, PartInput
from sciprism.store.manifest import MANIFEST_NAME, PLAN_NAME, read_manifest
from sciprism.store.parts.plan import PartsPlan, build_plan, ensure_plan
from sciprism.store.parts.state import (
    JOURNAL_NAME,
    PARTS_FOLDER,
    PartInputRecord,
    PartReporter,
    PartState,
    find_writing,
    input_path,
    lock_path,
    part_folder,
    read_part_input,
    read_state,
)
from sciprism.store.writing import BATCH

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

LOCK_SECONDS = 60.0
"""Longest wait for other workers that begin at the same time: each holds the folder's lock for milliseconds."""
CHANGED_REMEDY = "restore the file and run the same command, or embed all parts into a new folder"
PROBE_SECONDS = 2.0  # shortest wait for the lock of a part: `sciprism status` holds it for a moment


@dataclass(frozen=True, slots=True)
class PartReport:
    """What became of a part: its counts, and what was skipped. finished_before: the run had nothing to do."""

    part: PartNumber
    counts: dict[str, int]
    reasons: list[str]
    papers: int
    finished_before: bool = False
    merged: bool = False


def embed_part(
    source: PartInput,
    encoder: Encoder,
    folder: Path | str,
    part: PartNumber,
    *,
    layout: CollectionLayout | None = None,
    progress: FilesProgress = lambda *_: None,
    patience: float = PROBE_SECONDS,
) -> PartReport:
    """Embed the share of one part into `folder/parts`; the same call continues an interrupted one.

    All workers need the same input, encoder, layout and number of parts. Raises InputError where one differs from the
    plan that the first worker wrote, where the input has changed, and where another worker still runs the part after
    `patience` seconds.
    """
    folder = Path(folder)
    plan = build_plan(source, encoder, layout or CollectionLayout(), part.count)
    with _open_part(folder, plan, part, time.monotonic() + patience) as merged:
        if merged:
            return PartReport(part, {}, [], read_manifest(folder).papers, finished_before=True, merged=True)
        return _Worker(source, encoder, folder, plan, part, progress).run()


@contextmanager
def _open_part(folder: Path, plan: PartsPlan, part: PartNumber, deadline: float) -> Iterator[bool]:
    """Hold the part's lock while it is worked at; yield whether all parts are merged already."""
    refuse_collection(folder)
    if (folder / MANIFEST_NAME).exists():
        ensure_plan(folder, plan)
        yield True
        return
    (folder / PARTS_FOLDER).mkdir(parents=True, exist_ok=True)
    busy = f"part {part} of {folder} is being written by another sciprism process; wait until it ends"
    with lock_file(lock_path(folder, part), busy, timeout=max(deadline - time.monotonic(), 0)):
        with lock_folder(folder, timeout=LOCK_SECONDS):
            ensure_plan(folder, plan)
            merged = (folder / MANIFEST_NAME).exists()
            if (folder / PARTS_FOLDER / JOURNAL_NAME).exists() and not merged:
                raise InputError(f"{folder} is being merged; continue with: sciprism merge {folder}")
        if not merged:
            _refuse_active(folder, plan, part, deadline)
        yield merged


def refuse_collection(folder: Path) -> None:
    """Raise InputError for a folder that holds something other than parts."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the parts")
    if (folder / PLAN_NAME).exists():
        return
    if (folder / MANIFEST_NAME).exists():
        raise InputError(
            f"{folder} is a collection; parts make a new one: name a new folder, or add to it without --part"
        )
    if folder.is_dir():
        foreign = {path.name for path in folder.iterdir()} - {PARTS_FOLDER}
        if foreign := {name for name in foreign if not name.startswith(".")}:
            raise InputError(f"{folder} holds {min(foreign)} but no {PLAN_NAME}; name a new folder for the parts")


def _refuse_active(folder: Path, plan: PartsPlan, part: PartNumber, deadline: float) -> None:
    """Raise InputError where a worker of another machine stays at the part, or the part is of another plan."""
    state = read_state(folder, part)
    if state is None:
        return
    if (state.part, state.parts, state.plan) != (part.number, part.count, plan.checksum):
        raise InputError(f"{part_folder(folder, part)} is not of this plan; delete it, and run part {part} again")
    while find_writing(folder, {part: state}):
        if time.monotonic() >= deadline:
            raise InputError(
                f"part {part} of {folder} is being written by {state.host}, process {state.process}; wait until it ends"
            )
        state = read_state(folder, part) or state


class _Worker:
    """One run of a part, whose lock is held."""

    def __init__(
        self,
        source: PartInput,
        encoder: Encoder,
        folder: Path,
        plan: PartsPlan,
        part: PartNumber,
        progress: FilesProgress,
    ) -> None:
        self._source, self._encoder, self._plan, self._part = source, encoder, plan, part
        self._folder, self._progress = folder, progress
        self._share = plan.share(part)
        listed = list_paper_files(source.paths, reader=source.reader, options=source.options)
        self._files = {file.full_name: file.path for file in listed if self._share.reads_file(file.full_name)}
        state = PartState(part=part.number, parts=part.count, plan=plan.checksum, skip_bad=source.skip_bad)
        self._reporter = PartReporter(folder, part, state)
        self._checksums: dict[str, str] = {}

    def run(self) -> PartReport:
        """Embed what is not embedded yet."""
        before = read_state(self._folder, self._part)
        collection = part_folder(self._folder, self._part)
        complete = (collection / MANIFEST_NAME).exists() and read_manifest(collection).input is not None
        if before and before.stage == "done" and complete:
            self._find_input()
            papers = read_manifest(collection).papers
            return PartReport(self._part, before.counts, before.reasons, papers, finished_before=True)
        joined = open_abstracts(self._source.abstracts, self._source.missing_abstract)
        with self._reporter.report(), joined as completion:
            times = self._stat_files()
            papers = self._find_input() or self._count(completion)
            self._reporter.update(stage="embedding", papers=papers, done=0)  # until now those that were read
            report, read = self._embed(completion, papers)
            if times != self._stat_files():
                raise InputError(f"a file of {self._part} changed while it was read; {CHANGED_REMEDY}")
            counts = {name: value for name, value in asdict(report).items() if isinstance(value, int)}
            counts |= {"unreadable": read.skipped_count, "without_abstract_skipped": completion.report.skipped}
            reasons = [*map(str, read.skipped), *report.reasons][:MAX_REASONS]
            self._reporter.update(stage="done", counts=counts, reasons=reasons, done=papers)
        return PartReport(self._part, counts, reasons, report.papers)

    def _embed(self, completion: AbstractCompletion, papers: int) -> tuple[EmbedReport, ReadReport]:
        self._reporter.restart_clock()

        def show(report: EmbedReport) -> None:
            self._reporter.update(done=report.done, encoded=report.encoded)
            self._progress("embedding", "papers", report.done, papers, report.encoded)

        read = ReadReport()
        report = embed(
            completion.complete(self._read(read)),
            self._encoder,
            part_folder(self._folder, self._part),
            layout=self._plan.collection_layout,
            skip_bad=self._source.skip_bad,
            progress=show,
        )
        return report, read

    def _count(self, completion: AbstractCompletion) -> int:
        """Read the share once: a bad record is found now, and status knows how much is left."""
        papers = 0
        for papers, _ in enumerate(completion.complete(self._read(ReadReport())), 1):
            if papers % BATCH == 0:
                self._reporter.update(done=papers)
                self._progress("reading", "papers", papers, None, papers)
        record = PartInputRecord(plan=self._plan.checksum, part=self._part.number, papers=papers, files=self._checksums)
        record.store(input_path(self._folder, self._part))
        return papers

    def _find_input(self) -> int | None:
        """Return how many papers the share has, where a run has counted them. Raises InputError for other bytes."""
        recorded = read_part_input(self._folder, self._part)
        self._checksums = {name: tag_content(path) or hash_file(path) for name, path in self._files.items()}
        if recorded is None:
            return None
        changed = [name for name in self._checksums if recorded.files.get(name) != self._checksums[name]]
        if changed:
            raise InputError(f"{changed[0]} has changed since part {self._part} began; {CHANGED_REMEDY}")
        return recorded.papers

    def _read(self, report: ReadReport) -> Iterator[Paper]:
        for record in self._source.read(report, self._share):
            if isinstance(record, Deletion):
                raise explain_deletion(record)
            yield record

    def _stat_files(self) -> list[tuple[int | None, int | str]]:
        return [read_stamp(path) for path in self._files.values()]
