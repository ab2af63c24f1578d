"""Make one collection of all parts, without copying vectors; a journal lets a merge continue after a kill."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sciprism.arrays import Rows
from sciprism.errors import InputError
from sciprism.files import explain_write_errors, lock_folder, sync_folder
from sciprism.papers.division import PartNumber
from sciprism.papers.identity import identify, is_same_paper
from sciprism.papers.records import Paper
from sciprism.store.collection import StoredCollection
from sciprism.store.embed import MAX_REASONS
from sciprism.store.known_papers import describe_clash, describe_repetition, quote_title
from sciprism.store.manifest import MANIFEST_NAME, InputRecord, Manifest, RowsRecord, StoredRecord, read_manifest
from sciprism.store.parts.gathered import ROWS, GatheredShards
from sciprism.store.parts.plan import PartsPlan, read_plan
from sciprism.store.parts.state import (
    JOURNAL_NAME,
    PARTS_FOLDER,
    PartState,
    find_active,
    part_folder,
    read_part_input,
    read_state,
)
from sciprism.store.writing import write_rows

REPEATED_FILE = "repeated/000000.npy"
LOCK_SECONDS = 60.0
MAX_SHOWN = 5  # parts that a message names
_PART_FOLDER = re.compile(r"\d+-of-\d+")
_NUMBER = re.compile(r"\d+(?=\.(?:parquet|npy|scales\.npy)\Z)")


@dataclass(slots=True)
class MergeReport:
    """Counts of a merged collection.

    read, bad, unreadable: records of the whole input, and those that could not be used, `reasons` the first of them.
    duplicates: papers that came again, in one part or another. repeated: rows of these that parts had stored.
    merged_before: nothing was done.
    """

    parts: int
    papers: int = 0
    read: int = 0
    duplicates: int = 0
    bad: int = 0
    unreadable: int = 0
    repeated: int = 0
    missing_abstracts: int = 0
    shards: int = 0
    reasons: list[str] = field(default_factory=list)
    merged_before: bool = False


def merge(folder: Path | str, *, skip_bad: bool = False) -> MergeReport:
    """Make a collection of all parts; the same call continues an interrupted one.

    Of papers with one id the first of the input is stored, as one process would: later ones with the same text are
    duplicates, others are bad. With skip_bad, or where all parts were run with it, bad ones are counted; else they
    are an InputError. So is a part that is missing, unfinished, running, of another plan, or of another input: nothing
    is changed then.
    """
    folder = Path(folder)
    plan = read_plan(folder)
    with lock_folder(folder, timeout=LOCK_SECONDS):
        report = MergeReport(plan.parts)
        if (folder / MANIFEST_NAME).exists():
            remove_parts(folder)  # a kill may have left them
            _count(report, read_manifest(folder))
            report.merged_before = True
            return report
        place = folder / PARTS_FOLDER / JOURNAL_NAME
        journal = MergeJournal.load(place, "delete it, and merge again")
        if journal is None:
            journal = _prepare(folder, plan, skip_bad, report)
            journal.store(place, indent=None)  # from then on nothing else is done
        report.unreadable = sum(state.counts.get("unreadable", 0) for state in _read_states(folder, plan) if state)
        _count(report, carry_out(folder, plan, journal))
        remove_parts(folder)
    return report


def _count(report: MergeReport, manifest: Manifest) -> None:
    report.papers, report.missing_abstracts = manifest.papers, manifest.missing_abstracts
    report.shards = len(manifest.shards)
    report.repeated = manifest.repeated.rows if manifest.repeated else 0
    if manifest.input:
        report.read, report.duplicates = manifest.input.read, manifest.input.duplicates
        report.bad = manifest.input.bad


def _prepare(folder: Path, plan: PartsPlan, skip_bad: bool, report: MergeReport) -> MergeJournal:
    """Check all parts, and return the order of their shards and what repeats."""
    states = _check_states(folder, plan)
    parts = {number.number: _open_part(folder, plan, number) for number in plan.numbers()}
    _check_inputs(folder, plan)
    gathered = GatheredShards(plan, parts)
    if not gathered.rows:
        raise InputError(f"no part of {folder} has a paper; `sciprism inspect` says what files hold")
    rows, duplicates = _settle(gathered, skip_bad or all(state.skip_bad for state in states), report)
    inputs = [stored.manifest.input for stored in parts.values()]
    read, again, bad = (sum(getattr(record, name) for record in inputs) for name in ("read", "duplicates", "bad"))
    repeated = None
    if len(rows):
        missing = int(gathered.column("missing_abstract", rows).sum())
        repeated = write_rows(folder, REPEATED_FILE, rows, missing)
    return MergeJournal(
        shards=[(shard.part, shard.number) for shard in gathered.shards],
        repeated=repeated,
        input=InputRecord(read=read, duplicates=again + duplicates, bad=bad + len(rows) - duplicates),
    )


def _settle(gathered: GatheredShards, skip_bad: bool, report: MergeReport) -> tuple[Rows, int]:
    """Return the rows of papers that an earlier one of the input has, and how many are duplicates; others are bad."""
    rows, firsts = gathered.find_repeats()
    if not len(rows):
        return rows, 0
    same_record, same_text = (_compare(gathered, name, rows, firsts) for name in ("record_hash", "text_hash"))
    duplicates = int(same_record.sum())
    unequal = np.flatnonzero(~same_record)
    for start in range(0, len(unequal), ROWS):
        chosen = unequal[start : start + ROWS]
        pairs = zip(gathered.papers(rows[chosen]), gathered.papers(firsts[chosen]), same_text[chosen], strict=True)
        for paper, first, equal in pairs:
            same = is_same_paper(identify(first), identify(paper))
            if same and equal:
                duplicates += 1
                continue
            reason = _explain(paper, first, same)
            if not skip_bad:
                raise InputError(f"{reason}; or skip such papers with --skip-bad")
            if len(report.reasons) < MAX_REASONS:
                report.reasons.append(reason)
    return rows, duplicates


def _compare(gathered: GatheredShards, name: str, rows: Rows, firsts: Rows) -> np.ndarray:
    """Return whether a column is equal at each of two lists of rows; the second may repeat, in any order."""
    distinct, numbers = np.unique(firsts, return_inverse=True)
    equal: np.ndarray = gathered.column(name, rows) == gathered.column(name, distinct)[numbers]
    return equal


def _explain(paper: Paper, first: Paper, same: bool) -> str:
    where = f"{paper.place}: paper {paper.id!r}, {quote_title(paper)}"
    if same:
        return f"{where}: {describe_repetition(paper, first)}"
    return (
        f"{where}: {describe_clash(paper, first)}; give each its own id, with --ids-per-file or "
        "--id-prefix TEXT for instance, in a new folder"
    )


def _read_states(folder: Path, plan: PartsPlan) -> list[PartState | None]:
    return [read_state(folder, part) for part in plan.numbers()]


def _check_states(folder: Path, plan: PartsPlan) -> list[PartState]:
    """Return the states of all parts. Raises InputError unless each is done, of this plan, and not running."""
    folders = {part.folder for part in plan.numbers()}
    for path in sorted((folder / PARTS_FOLDER).glob("*-of-*")):
        if path.is_dir() and _PART_FOLDER.fullmatch(path.name) and path.name not in folders:
            raise InputError(f"{path} is not of these {plan.parts} parts; move it elsewhere, and merge again")
    states = dict(zip(plan.numbers(), _read_states(folder, plan), strict=True))
    active = find_active(folder, {part: state for part, state in states.items() if not _is_done(state)})
    problems = list(_list_problems(folder, plan, states, active))
    if problems:
        more = f"; {len(problems) - MAX_SHOWN:,} more" if len(problems) > MAX_SHOWN else ""
        raise InputError(f"{folder} cannot be merged yet: {'; '.join(problems[:MAX_SHOWN])}{more}")
    return [state for state in states.values() if state is not None]


def _is_done(state: PartState | None) -> bool:
    return state is not None and state.stage == "done"


def _list_problems(
    folder: Path, plan: PartsPlan, states: dict[PartNumber, PartState | None], active: set[PartNumber]
) -> Iterator[str]:
    for part, state in states.items():
        again = f"run it again with --part {part}"
        if state is not None and (state.part, state.parts, state.plan) != (part.number, part.count, plan.checksum):
            yield f"part {part} is of another plan; delete {part_folder(folder, part)}, and {again}"
        elif part in active:
            yield f"part {part} is at work; wait until it ends"
        elif state is None:
            yield f"part {part} has not begun; run it with --part {part}"
        elif state.stage == "failed":
            yield f"part {part} failed ({state.error}); {again}"
        elif not _is_done(state):
            yield f"part {part} stopped before its end; {again}"
        elif not (part_folder(folder, part) / MANIFEST_NAME).exists():
            yield f"part {part} has no collection any more; {again}"


def _open_part(folder: Path, plan: PartsPlan, part: PartNumber) -> StoredCollection:
    """Open the collection of a part. Raises InputError where it is not as its worker left it."""
    stored = StoredCollection.open(part_folder(folder, part))
    manifest = stored.manifest
    if manifest.encoder.fingerprint != plan.encoder.fingerprint:
        raise InputError(
            f"{stored.folder} holds vectors of {manifest.encoder.name} (fingerprint {manifest.encoder.fingerprint}), "
            f"the plan is of {plan.encoder.name} (fingerprint {plan.encoder.fingerprint}); delete it, and run part "
            f"{part} again"
        )
    if (manifest.spaces, manifest.dtype) != (plan.spaces, plan.dtype):
        raise InputError(f"{stored.folder} has other formats or another dtype than the plan; run part {part} again")
    if manifest.superseded or manifest.row_files or manifest.input is None:
        raise InputError(f"{stored.folder} was changed after its part was done; delete it, and run part {part} again")
    return stored


def _check_inputs(folder: Path, plan: PartsPlan) -> None:
    """Raise InputError where two parts read different bytes of one file."""
    seen: dict[str, tuple[PartNumber, str]] = {}
    for part in plan.numbers():
        record = read_part_input(folder, part)
        for name, checksum in (record.files if record else {}).items():
            first, first_checksum = seen.setdefault(name, (part, checksum))
            if first_checksum != checksum:
                raise InputError(
                    f"{name} was not the same for part {first} and part {part}; delete {part_folder(folder, part)} "
                    f"with its .json files, restore the file, and run part {part} again"
                )


class MergeJournal(StoredRecord):
    """What a merge does: the shards of the collection in order, as (part, shard), and the rows that repeat others."""

    shards: list[tuple[int, int]]
    repeated: RowsRecord | None
    input: InputRecord


def carry_out(folder: Path, plan: PartsPlan, journal: MergeJournal) -> Manifest:
    """Put all shards in their places and commit the collection with its manifest; what is done is not done again.

    A kill before the last step leaves no collection, and parts whose shards are in one of two places.
    """
    manifests = {part.number: read_manifest(part_folder(folder, part)) for part in plan.numbers()}
    shards = []
    for number, (part, shard) in enumerate(journal.shards):
        record = manifests[part].shards[shard]
        source = part_folder(folder, PartNumber(part, plan.parts))
        names = {name: _NUMBER.sub(f"{number:06d}", name) for name in record.files}
        for name, new in names.items():
            _place(source / name, folder / new)
        files = {names[name]: file for name, file in record.files.items()}
        shards.append(record.model_copy(update={"files": files}))
    for subfolder in (folder / "papers", *(folder / "vectors" / space.folder for space in plan.spaces.values())):
        if subfolder.exists():
            sync_folder(subfolder)
    manifest = Manifest(
        encoder=plan.encoder,
        dtype=plan.dtype,
        shard_size=plan.shard_size,
        spaces=plan.spaces,
        input=journal.input,
        shards=shards,
        repeated=journal.repeated,
    )
    manifest.write(folder)
    return manifest


def remove_parts(folder: Path) -> None:
    """Remove the parts of a merged collection, whose shards have their places in it."""
    shutil.rmtree(folder / PARTS_FOLDER, ignore_errors=True)


def _place(source: Path, target: Path) -> None:
    """Give a file its place: by a hard link, or by a rename where the file system has none."""
    with explain_write_errors(target):
        if target.exists():
            if not source.exists() or target.samefile(source):
                return
            target.unlink()  # of a merge that was given up
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except FileNotFoundError:
            raise InputError(f"{source} is missing; restore it from a copy, and merge again") from None
        except OSError:
            source.rename(target)
