"""How far parts are: what each worker writes of its part every few seconds, and all parts' status read from it."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import getnode, uuid4

from pydantic import BaseModel, ConfigDict, ValidationError

from sciprism.checksums import read_sealed, seal_json
from sciprism.errors import DamagedFileError, InputError, RunFailedError
from sciprism.files import is_locked, write_atomically
from sciprism.papers.division import PartNumber
from sciprism.store.manifest import MANIFEST_NAME, PLAN_NAME, StoredRecord, read_manifest
from sciprism.store.parts.plan import read_plan

PARTS_FOLDER = "parts"
JOURNAL_NAME = "merge.json"  # in the folder of parts while their shards are put in their places
INTERVAL = 5.0  # seconds between two writes of a worker's state
PATIENCE = 2.5  # intervals without a write after which a worker of another machine is taken as stopped
Stage = Literal["reading", "embedding", "done", "failed", "stopped"]
ACTIVE = ("reading", "embedding")


class PartState(BaseModel):
    """The state of a part, as its worker wrote it last.

    plan: checksum of the plan. papers: of the share, None until they are counted. encoded, seconds: papers that this
    run encoded, and since when, by the worker's own clock. beat: number of the write. counts: of a finished part.
    """

    model_config = ConfigDict(strict=True)

    part: int
    parts: int
    plan: str
    stage: Stage = "reading"
    papers: int | None = None
    done: int = 0
    encoded: int = 0
    seconds: float = 0.0
    skip_bad: bool = False
    counts: dict[str, int] = {}
    reasons: list[str] = []
    error: str = ""
    run: str = ""
    host: str = ""
    machine: str = ""
    process: int = 0
    beat: int = 0


class PartInputRecord(StoredRecord):
    """The files that a part read, with checksums of all their bytes, and how many papers its share has."""

    plan: str
    part: int
    papers: int
    files: dict[str, str]


def part_folder(folder: Path, part: PartNumber) -> Path:
    """Return the folder of a part's collection."""
    return folder / PARTS_FOLDER / part.folder


def state_path(folder: Path, part: PartNumber) -> Path:
    """Return the file of a part's state."""
    return folder / PARTS_FOLDER / f"{part.folder}.json"


def input_path(folder: Path, part: PartNumber) -> Path:
    """Return the file of a part's input."""
    return folder / PARTS_FOLDER / f"{part.folder}.input.json"


def lock_path(folder: Path, part: PartNumber) -> Path:
    """Return the file whose lock a worker holds while it runs."""
    return folder / PARTS_FOLDER / f"{part.folder}.lock"


def read_state(folder: Path, part: PartNumber) -> PartState | None:
    """Return the last state of a part; None where there is none, or it is damaged: the next run writes it again."""
    try:
        return PartState.model_validate_json(read_sealed(state_path(folder, part), "")[0])
    except (OSError, ValidationError, DamagedFileError):
        return None


def write_state(folder: Path, part: PartNumber, state: PartState) -> None:
    """Replace the state of a part; a run of it on another machine, where locks do not reach, may do so at once."""
    content = seal_json(state.model_dump_json(indent=1))
    write_atomically(state_path(folder, part), lambda file: file.write(content), state.run[:8])


def read_part_input(folder: Path, part: PartNumber) -> PartInputRecord | None:
    """Return what a part read, None where it is not known."""
    return PartInputRecord.load(input_path(folder, part), "delete it and run the part again")


def name_machine() -> str:
    """Return what tells this machine from others while it is on: containers on it have the same."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{getnode():x}"


def find_active(folder: Path, states: dict[PartNumber, PartState | None]) -> set[PartNumber]:
    """Return the parts that a worker is at, of these with the states that were read.

    A lock that is held says so. A free one says that none is, where the last worker was on this machine; else locks
    may not reach over the network, and writing decides.
    """
    held = {part for part in states if is_locked(lock_path(folder, part))}
    return held | find_writing(folder, {part: state for part, state in states.items() if part not in held})


def find_writing(folder: Path, states: dict[PartNumber, PartState | None]) -> set[PartNumber]:
    """Return the parts whose worker, on another machine, writes its state within the next seconds.

    Its counter decides, not the time of its clock.
    """
    here = name_machine()
    waiting = {p: s for p, s in states.items() if s is not None and s.stage in ACTIVE and s.machine != here}
    writing: set[PartNumber] = set()
    deadline = time.monotonic() + PATIENCE * INTERVAL
    while waiting and time.monotonic() < deadline:
        time.sleep(INTERVAL / 10)
        for part, before in list(waiting.items()):
            now = read_state(folder, part)
            if now is not None and (now.run, now.beat) != (before.run, before.beat):
                del waiting[part]
                writing |= {part} if now.stage in ACTIVE else set()
    return writing


class PartReporter:
    """Writes a part's state every few seconds, from a thread; `update` changes what is written."""

    def __init__(self, folder: Path, part: PartNumber, state: PartState) -> None:
        self._folder, self._part = folder, part
        self._state = state
        self._state.run, self._state.machine = uuid4().hex, name_machine()
        self._state.host, self._state.process = platform.node(), os.getpid()
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._other = ""

    @contextmanager
    def report(self) -> Iterator[None]:
        """Report until the work ends, and then how it ended."""
        self._write()
        thread = threading.Thread(target=self._repeat, daemon=True)
        thread.start()
        try:
            yield
        except BaseException as error:
            self._end(thread)
            stopped = isinstance(error, KeyboardInterrupt)
            self.update(stage="stopped" if stopped else "failed", error="" if stopped else str(error))
            with suppress(OSError, InputError):  # of a full disk: what stopped the work is what the worker must say
                self._write()
            raise
        self._end(thread)
        self._write()
        self._give_way()

    def update(self, **values: object) -> None:
        """Change fields of the state; a new stage is written at once.

        Raises RunFailedError where another worker has taken the part over.
        """
        if values.get("stage") != "failed":
            self._give_way()
        with self._lock:
            for name, value in values.items():
                setattr(self._state, name, value)
            self._state.seconds = round(time.monotonic() - self._began, 1)
        if values.get("stage") in ACTIVE:
            self._write()

    def restart_clock(self) -> None:
        """Count the seconds from now: the papers that are counted next take the time."""
        self._began = time.monotonic()

    def _end(self, thread: threading.Thread) -> None:
        self._ended.set()
        thread.join()

    def _repeat(self) -> None:
        while not self._ended.wait(INTERVAL):
            with suppress(OSError, InputError):  # of a full disk: the work itself meets it too
                self._write()

    def _give_way(self) -> None:
        if self._other:
            raise RunFailedError(
                f"part {self._part} of {self._folder} is also run by {self._other}; this run stops, that one continues"
            )

    def _write(self) -> None:
        stored = read_state(self._folder, self._part)
        if self._state.beat and stored and stored.run != self._state.run:
            self._other = f"{stored.host}, process {stored.process}"
            return
        with self._lock:
            self._state.beat += 1
            write_state(self._folder, self._part, self._state)


PartStage = Literal["waiting", "reading", "embedding", "done", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class PartStatus:
    """One part: papers done and in all (None until they are counted), papers a second, seconds left, its worker."""

    part: int
    stage: PartStage
    done: int = 0
    papers: int | None = None
    rate: float | None = None
    seconds_left: float | None = None
    host: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class PartsStatus:
    """All parts. stage: also that of a collection made without parts. papers: of a collection, else those done."""

    stage: Literal["parts", "merging", "merged", "collection"]
    papers: int
    parts: list[PartStatus]

    def count(self) -> Counter[str]:
        """Count the parts by stage."""
        return Counter(part.stage for part in self.parts)

    @property
    def total(self) -> int | None:
        """Return the papers of all parts, None until every part has counted its own."""
        papers = [part.papers for part in self.parts]
        return None if None in papers else sum(count or 0 for count in papers)

    @property
    def expected(self) -> int | None:
        """Estimate the papers of all parts: a part that is not counted yet has the mean of the counted ones."""
        papers = [part.papers for part in self.parts if part.papers is not None]
        return round(sum(papers) / len(papers) * len(self.parts)) if papers else None

    @property
    def rate(self) -> float:
        """Return the papers a second of all workers."""
        return sum(part.rate or 0.0 for part in self.parts)

    @property
    def seconds_left(self) -> float | None:
        """Return the seconds until the slowest worker is done; None where a part is not running, or has no rate yet."""
        open_parts = [part for part in self.parts if part.stage != "done"]
        left = [part.seconds_left for part in open_parts]
        return None if None in left else max((seconds or 0.0 for seconds in left), default=0.0)


def read_status(folder: Path | str) -> PartsStatus:
    """Return how far the parts of a folder are. Raises InputError for a folder without parts."""
    folder = Path(folder)
    if (folder / MANIFEST_NAME).exists():
        stage: Literal["merged", "collection"] = "merged" if (folder / PLAN_NAME).exists() else "collection"
        return PartsStatus(stage, read_manifest(folder).papers, [])
    plan = read_plan(folder)
    states = {part: read_state(folder, part) for part in plan.numbers()}
    states = {part: state if state and state.plan == plan.checksum else None for part, state in states.items()}
    active = find_active(folder, {part: state for part, state in states.items() if state and state.stage in ACTIVE})
    parts = [_describe_part(part, state, part in active) for part, state in states.items()]
    merging = (folder / PARTS_FOLDER / JOURNAL_NAME).exists()
    return PartsStatus("merging" if merging else "parts", sum(part.done for part in parts), parts)


def _describe_part(part: PartNumber, state: PartState | None, active: bool) -> PartStatus:
    if state is None:
        return PartStatus(part.number, "waiting")
    stage: PartStage = state.stage if active or state.stage not in ACTIVE else "stopped"
    done = state.done if stage != "reading" else 0
    rate = state.encoded / state.seconds if stage == "embedding" and state.encoded and state.seconds else None
    left = (state.papers - done) / rate if rate and state.papers is not None else None
    return PartStatus(part.number, stage, done, state.papers, rate, left, state.host, state.error)
