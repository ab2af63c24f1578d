"""A screening session: records, the decisions on them, what to read next, counts, and advice on stopping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.arrays import Floats
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.uses.deduplication import dedupe
from sciprism.uses.screening.decisions import (
    EXCLUDE,
    INCLUDE,
    UNDO,
    UNSURE,
    Decision,
    append_decision,
    read_decisions,
    read_labels,
)
from sciprism.uses.screening.ranking import RecordRanker, measure_agreement, recall_p_value

CONFLICT = "conflict"  # what a record is that one screener includes and another excludes


class Screening:
    """The records of a review and all decisions on them; duplicates are one record, named by its first position.

    Of labels that contradict each other within one record, included outweighs excluded; `contradictions` counts them.
    decisions: tables, read in this order; new decisions go to the first. criteria: a text that relevant records
    resemble. column: the header of labels in the files of papers. seed: of the order before anything is included.
    encode: returns vectors of papers (n, d), which count a twentieth beside words (`Encoder().encode`); None: words.
    """

    def __init__(
        self,
        papers: Sequence[Paper],
        decisions: Sequence[Path] = (),
        *,
        criteria: str = "",
        column: str = "",
        seed: int = 0,
        encode: Callable[[list[Paper]], Floats] | None = None,
    ) -> None:
        if not papers:
            raise InputError("no record to screen; name files with records")
        groups = dedupe(papers).groups
        owners = {row: row for row in range(len(papers))} | {row: group[0] for group in groups for row in group}
        self._fullest = {group[0]: max(group, key=lambda row: len(papers[row].abstract)) for group in groups}
        self._papers, self._renamed = _number_ids(papers)
        self.records = [row for row, owner in owners.items() if owner == row]
        self.by_id = {paper.id: owners[row] for row, paper in enumerate(self._papers)}
        given = {(owners[row], label) for row, label in read_labels(papers, column).items()}
        self.labels = dict(sorted(given, key=lambda pair: (UNSURE, EXCLUDE, INCLUDE).index(pair[1])))  # the last counts
        self.contradictions = sum(n > 1 for n in Counter(row for row, label in given if label != UNSURE).values())
        self.files, self.criteria, self.seed, self._encode = list(decisions), criteria, seed, encode
        self.notes, self.unknown, self._changed = list[str](), list[str](), 0
        self._log, self._state = list[Decision](), dict[int, dict[str, Decision]]()
        self._ranker: RecordRanker | None = None
        for path in self.files:
            read, notes = read_decisions(path)
            self.notes += notes
            for decision in read:
                self._apply(decision)

    def _apply(self, decision: Decision) -> None:
        if decision.id not in self.by_id:
            self.unknown.append(decision.id)
            return
        self._log.append(decision)
        by_screener = self._state.setdefault(self.by_id[decision.id], {})
        before = by_screener.pop(decision.screener, None)
        if decision.decision != UNDO:
            self._changed += before is not None and before.decision != decision.decision
            by_screener[decision.screener] = decision

    def paper(self, record: int) -> Paper:
        """Return a record's paper: of duplicates the one with the longest abstract, under the first one's id."""
        return replace(self._papers[self._fullest.get(record, record)], id=self._papers[record].id)

    def text(self, record: int) -> str:
        """Return the text by which a record is ranked."""
        return " ".join((self.paper(record).title, self.paper(record).abstract))

    def decide(self, id: str, decision: str, *, reason: str = "", screener: str = "") -> None:
        """Store a decision, on the disk when this returns. Raises InputError for an unknown id."""
        if id not in self.by_id:
            raise InputError(f"no record has the id {id!r}")
        title = " ".join(self.paper(self.by_id[id]).title.split())
        time = datetime.now(UTC).isoformat(timespec="seconds")
        made = Decision(id=id, title=title, decision=decision, reason=reason, screener=screener, time=time)
        if self.files:
            append_decision(self.files[0], made)
        self._apply(made)

    def undo(self, screener: str = "") -> str:
        """Withdraw a screener's latest decision that stands; return the record's id, "" where there is none."""
        for decision in reversed(self._log):
            if self._state[self.by_id[decision.id]].get(screener) is decision:
                self.decide(decision.id, UNDO, screener=screener)
                return decision.id
        return ""

    def verdict(self, record: int) -> str:
        """Return what is decided of a record: include, exclude, unsure, conflict, or "" for nothing."""
        words = {decision.decision for decision in self._state.get(record, {}).values()}
        if {INCLUDE, EXCLUDE} <= words:
            return CONFLICT
        return min(words, key=(INCLUDE, EXCLUDE, UNSURE).index) if words else self.labels.get(record, "")

    def reasons(self, record: int) -> str:
        """Return why a record was excluded, "" where nobody says."""
        given = (decision.reason for decision in self._state.get(record, {}).values())
        return "; ".join(dict.fromkeys(filter(None, given)))

    def rank(self, screener: str = "", *, double: bool = False) -> list[int]:
        """Return the records left to a screener, the likeliest to be included first.

        double: also those that only others decided. Before anything is included the order is random, or with criteria
        that of the similarity to them.
        """
        done = {row for row, by in self._state.items() if (screener in by if double else by)} | self.labels.keys()
        left = [row for row in self.records if row not in done]
        included = [row for row in self.records if self.verdict(row) in (INCLUDE, CONFLICT)]
        if not included and not self.criteria:
            return [*np.random.default_rng(self.seed).permutation(left).tolist()]
        if self._ranker is None:
            criteria = [Paper(id="criteria", title=self.criteria)] if self.criteria else []
            papers = [*map(self.paper, range(len(self._papers))), *criteria]
            vectors = None if self._encode is None else self._encode(papers)
            self._ranker = RecordRanker([f"{paper.title} {paper.abstract}" for paper in papers], vectors)
        latest = {self.by_id[decision.id]: place for place, decision in enumerate(self._log)}
        excluded = [row for row in self.records if self.verdict(row) == EXCLUDE]
        excluded.sort(key=lambda row: latest.get(row, -1))
        if self.criteria:
            included.append(len(self._papers))
        scores = self._ranker.score(np.array(included, np.int64), np.array(excluded, np.int64))
        return sorted(left, key=lambda row: (-scores[row], row))

    def p_value(self, target: float) -> float | None:
        """Return the p-value of a recall below the target (`recall_p_value`); None before anything is included."""
        order = dict.fromkeys(self.by_id[decision.id] for decision in self._log)
        found = [self.verdict(row) != EXCLUDE for row in order if self._state[row] and row not in self.labels]
        known = sum(label != EXCLUDE for label in self.labels.values())
        left = len(self.records) - len(self.labels)
        return recall_p_value(found, left, target, known) if known or any(found) else None

    def report(self) -> dict[str, Any]:
        """Return the counts of PRISMA 2020's flow diagram and others, agreement (Cohen's kappa), and conflicts."""
        verdicts = Counter(map(self.verdict, self.records))
        reasons = Counter(self.reasons(row) for row in self.records if self.verdict(row) == EXCLUDE)
        counts = {
            "records identified": len(self._papers),
            "duplicates removed": len(self._papers) - len(self.records),
            "records screened": len(self.records) - verdicts[""],
            "included": verdicts[INCLUDE],
            "excluded": verdicts[EXCLUDE],
            "unsure": verdicts[UNSURE],
            "conflicts": verdicts[CONFLICT],
            "not screened": verdicts[""],
            "labelled in the file": len(self.labels),
            "contradicting labels": self.contradictions,
            "without abstract": sum(not self.paper(row).abstract for row in self.records),
            "decisions changed": self._changed,
            "decisions on unknown ids": len(self.unknown),
            "ids of several papers, numbered": self._renamed,
        }
        words = [{name: made.decision for name, made in by.items()} for by in self._state.values()]
        pairs = combinations(sorted({name for by in words for name in by}), 2)
        conflicts = (row for row in self.records if self.verdict(row) == CONFLICT)
        return {
            "counts": counts,
            "reasons": {reason or "(none given)": count for reason, count in reasons.most_common()},
            "agreement": {
                f"{one} and {other}": measure_agreement(
                    [(by[one], by[other]) for by in words if {one, other} <= by.keys()]
                )
                for one, other in pairs
            },
            "conflicts": [asdict(decision) for row in conflicts for decision in self._state[row].values()],
            "unknown": list(dict.fromkeys(self.unknown)),
        }


def _number_ids(papers: Sequence[Paper]) -> tuple[list[Paper], int]:
    """Number the second and further records of an id, which may be a row's number; count such ids."""
    seen, numbered = Counter[str](), list[Paper]()
    for paper in papers:
        seen[paper.id] += 1
        numbered.append(paper if seen[paper.id] == 1 else replace(paper, id=f"{paper.id} ({seen[paper.id]})"))
    return numbered, sum(count > 1 for count in seen.values())
