"""What files state of pairs: bids, locks, forbidden ones, earlier rounds; and which of it contradicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sciprism.arrays import Integers
from sciprism.errors import InputError
from sciprism.uses.matching.conflicts import Conflict
from sciprism.uses.matching.feasibility import name_some
from sciprism.uses.matching.pair_files import BIDS, CONSTRAINTS, NO_PAIRS, PairReader, PairValues, read_pair_rows
from sciprism.uses.matching.problem import ForbiddenPairs
from sciprism.uses.matching.settings import MatchFiles


@dataclass(frozen=True, slots=True, eq=False)
class StatedPairs:
    """Pairs that the files name. allowed: although a conflict was found. earlier: of earlier rounds; kept: of an
    earlier assignment of this round.

    earlier_loads: reviews of each reviewer in earlier rounds, of this file's submissions and of others.
    """

    bids: PairValues = NO_PAIRS
    locked: PairValues = NO_PAIRS
    forbidden: PairValues = NO_PAIRS
    allowed: PairValues = NO_PAIRS
    earlier: PairValues = NO_PAIRS
    kept: PairValues = NO_PAIRS
    scores: PairValues | None = None
    earlier_loads: Integers = field(default_factory=lambda: np.zeros(0, np.int64))


def read_stated_pairs(files: MatchFiles, reader: PairReader, reviewers: int) -> StatedPairs:
    """Read all files of pairs. Pairs of earlier assignments may name submissions and reviewers that are gone.

    reviewers: how many there are.
    """
    lenient = PairReader(reader.papers, reader.reviewers, True, reader.dropped)
    constraints = reader.read(files.constraints, "constraint", CONSTRAINTS) if files.constraints else NO_PAIRS
    bids = reader.read(files.bids, "bid", BIDS) if files.bids else NO_PAIRS
    if len(large := np.flatnonzero(np.abs(bids.values) > 1)):
        where, bid = bids.places[large[0]], bids.values[large[0]]
        raise InputError(f"{where}: the bid {bid:g} is not from -1 to 1; divide all bids by the highest")
    odd = np.flatnonzero(~np.isin(constraints.values, (-1, 0, 1)))
    if len(odd):
        raise InputError(
            f"{constraints.places[odd[0]]}: the constraint {constraints.values[odd[0]]:g} is none of -1 (forbidden), "
            "0 (no conflict) and 1 (locked)"
        )
    loads = np.zeros(reviewers, np.int64)
    earlier: dict[tuple[int, int], str] = {}
    for path in files.after:
        for where, paper, reviewer, _ in read_pair_rows(path):
            number, row = reader.reviewers.find(reviewer), reader.papers.find(paper)
            if number is None:
                continue  # of another pool, such as metareviewers
            loads[number] += 1
            if row is not None:
                earlier.setdefault((row, number), where)
    return StatedPairs(
        bids=bids,
        locked=constraints.select(constraints.values == 1),
        forbidden=constraints.select(constraints.values == -1),
        allowed=constraints.select(constraints.values == 0),
        earlier=_as_pairs(earlier),
        kept=_read_kept(files, lenient),
        scores=lenient.read(files.scores, "score") if files.scores else None,
        earlier_loads=loads,
    )


def _read_kept(files: MatchFiles, reader: PairReader) -> PairValues:
    """Return the pairs of an earlier assignment, whatever their scores were."""
    places: dict[tuple[int, int], str] = {}
    for where, paper, reviewer, _ in read_pair_rows(files.keep) if files.keep is not None else ():
        row, number = reader.papers.find(paper), reader.reviewers.find(reviewer)
        if row is not None and number is not None:
            places.setdefault((row, number), where)
        else:
            gone = "submission" if row is None else "reviewer"
            reader.dropped.add(f"earlier pair whose {gone} is gone", f"{paper} {reviewer}")
    return _as_pairs(places)


def _as_pairs(places: dict[tuple[int, int], str]) -> PairValues:
    rows = np.array(list(places), np.int64).reshape(-1, 2)
    return PairValues(rows[:, 0], rows[:, 1], np.ones(len(rows)), list(places.values()))


@dataclass(frozen=True, slots=True, eq=False)
class ForbiddenReport:
    """All forbidden pairs, counts of their kinds, and the bids above 0 on them, which are ignored.

    reasons: of each pair, by submission and reviewer. contradicted: these bids, each with the reason.
    """

    pairs: ForbiddenPairs
    counts: dict[str, int]
    contradicted: list[str]
    reasons: dict[tuple[int, int], str]


def drop_allowed(stated: StatedPairs, conflicts: Iterable[Conflict]) -> list[Conflict]:
    """Return the conflicts without those on pairs that a file allows."""
    allowed = {pair for pair, _ in stated.allowed.places_by_pair()}
    return [conflict for conflict in conflicts if (conflict.paper, conflict.reviewer) not in allowed]


def join_forbidden(
    stated: StatedPairs, conflicts: Sequence[Conflict], ids: tuple[list[str], list[str]]
) -> ForbiddenReport:
    """Return the pairs that are forbidden by files, by found conflicts or because an earlier round has them.

    conflicts: without those on pairs that a file allows (`drop_allowed`). Raises InputError for a locked pair that is
    forbidden. A bid above 0 on a forbidden pair is ignored, and listed with the reason.
    """
    reasons: dict[tuple[int, int], str] = {}
    counts = Counter(conflict.kind for conflict in conflicts)
    for conflict in conflicts:
        reasons.setdefault((conflict.paper, conflict.reviewer), f"{conflict.kind}: {conflict.reason}")
    for kind, given in (("forbidden", stated.forbidden), ("earlier round", stated.earlier)):
        counts[kind] += len(given)
        reasons |= {pair: f"{kind}: {place}" for pair, place in given.places_by_pair()}
    if wrong := _find_contradictions(stated.locked, "is locked to", reasons, ids):
        raise InputError(
            f"{name_some(wrong[:3])}; remove the lock, or the conflict if it is none ({len(wrong)} in all)"
        )
    wrong = _find_contradictions(stated.bids.select(stated.bids.values > 0), "bids on", reasons, ids)
    papers, reviewers = np.array(list(reasons), np.int64).reshape(-1, 2).T
    pairs = ForbiddenPairs(papers, reviewers, (len(ids[0]), len(ids[1])))
    return ForbiddenReport(pairs, {k: n for k, n in counts.items() if n}, wrong, reasons)


def _find_contradictions(
    pairs: PairValues, what: str, reasons: dict[tuple[int, int], str], ids: tuple[list[str], list[str]]
) -> list[str]:
    """Return of each stated pair that is forbidden who does what, and why it is forbidden."""
    return [
        f"{place}: {ids[1][pair[1]]} {what} {ids[0][pair[0]]}, but {reasons[pair]}"
        for pair, place in pairs.places_by_pair()
        if pair in reasons
    ]
