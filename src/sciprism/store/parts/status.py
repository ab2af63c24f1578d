"""How far the parts of a collection are, read from their workers' states and locks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sciprism.papers.division import PartNumber
from sciprism.store.manifest import MANIFEST_NAME, PLAN_NAME, read_manifest
from sciprism.store.parts.journal import JOURNAL_NAME
from sciprism.store.parts.plan import read_plan
from sciprism.store.parts.state import ACTIVE, PARTS_FOLDER, PartState, find_active, read_state

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
        return None if None in papers else sum(each or 0 for each in papers)

    @property
    def expected(self) -> int | None:
        """Return the papers of all parts: of one that has not counted its own, the mean of those that have."""
        papers = [part.papers for part in self.parts if part.papers is not None]
        return round(sum(papers) / len(papers) * len(self.parts)) if papers else None

    @property
    def rate(self) -> float:
        """Return the papers a second of all workers."""
        return sum(part.rate or 0.0 for part in self.parts)

    @property
    def seconds_left(self) -> float | None:
        """Return when the slowest worker will be done; None where a part is not at work, or has no rate yet."""
        open_parts = [part for part in self.parts if part.stage != "done"]
        left = [part.seconds_left for part in open_parts]
        return None if None in left else max((each or 0.0 for each in left), default=0.0)


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
    parts = [_describe(part, state, part in active) for part, state in states.items()]
    merging = (folder / PARTS_FOLDER / JOURNAL_NAME).exists()
    return PartsStatus("merging" if merging else "parts", sum(part.done for part in parts), parts)


def _describe(part: PartNumber, state: PartState | None, active: bool) -> PartStatus:
    if state is None:
        return PartStatus(part.number, "waiting")
    stage: PartStage = state.stage if active or state.stage not in ACTIVE else "stopped"
    done = state.done if stage != "reading" else 0
    rate = state.encoded / state.seconds if stage == "embedding" and state.encoded and state.seconds else None
    left = (state.papers - done) / rate if rate and state.papers is not None else None
    return PartStatus(part.number, stage, done, state.papers, rate, left, state.host, state.error)
