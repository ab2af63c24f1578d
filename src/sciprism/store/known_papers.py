"""Tell new papers from known ones, in about 25 bytes a paper."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.papers.records import Paper

RECENT = 1 << 16

Verdict = Literal["new", "changed", "updated", "unchanged", "duplicate", "conflict"]
_NOTES = np.dtype([("text", "u4"), ("record", "u4"), ("row", "u4"), ("seen", "?"), ("missing", "?")])
_LOW_BITS = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a paper of the input is; for a changed or updated one its stored row and that row's flag."""

    verdict: Verdict
    row: int = -1
    missing_abstract: bool = False

    @property
    def must_be_stored(self) -> bool:
        """Say whether the collection lacks this record."""
        return self.verdict in ("new", "changed", "updated")


@dataclass(frozen=True, slots=True)
class Hashes:
    """64-bit hashes of a paper's id, of the text that is encoded, and of the whole record with that text."""

    id: int
    text: int
    record: int


def hash64(text: str) -> int:
    """Hash a text; equal on every machine."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def hashes_of(paper: Paper, text: str) -> Hashes:
    """Hash a paper and its text as the encoder will see it; UnicodeEncodeError for half a surrogate pair."""
    record = json.dumps(paper.to_json(), sort_keys=True, ensure_ascii=False)
    return Hashes(hash64(paper.id), hash64(text), hash64(record + "\n" + text))


class KnownPapers:
    """What is stored, and what this run has seen: sorted hashes, with the last few in a dictionary.

    Only 32 bits of the text and record hashes are kept: they are compared for one and the same id.
    """

    def __init__(self) -> None:
        self._ids: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._notes: NDArray[np.void] = np.empty(0, _NOTES)
        self._recent: dict[int, int] = {}  # id to text, for papers that this run brought

    def load(self, ids: NDArray[np.uint64], hashes: NDArray[np.uint64], missing: NDArray[np.bool_]) -> None:
        """Take in all stored rows: ids (n,), hashes (n, 2) of text and record, flags (n,)."""
        self._ids = ids
        self._notes = np.zeros(len(ids), _NOTES)
        self._notes["text"], self._notes["record"] = (hashes & _LOW_BITS).T
        self._notes["row"] = np.arange(len(ids))
        self._notes["missing"] = missing
        self._sort()

    def judge(self, hashes: Hashes) -> Judgement:
        """Say what a paper of the input is; the paper then counts as seen."""
        text = hashes.text & _LOW_BITS
        if hashes.id in self._recent:
            return Judgement("duplicate" if self._recent[hashes.id] == text else "conflict")
        place = int(np.searchsorted(self._ids, np.uint64(hashes.id)))
        if place == len(self._ids) or self._ids[place] != hashes.id:
            self._recent[hashes.id] = text
            if len(self._recent) == RECENT:
                self._merge()
            return Judgement("new")
        note = self._notes[place]
        same_text = note["text"] == text
        if note["seen"]:
            return Judgement("duplicate" if same_text else "conflict")
        same_record = note["record"] == hashes.record & _LOW_BITS
        note["seen"], note["text"] = True, text
        if same_record:
            return Judgement("unchanged")
        return Judgement("updated" if same_text else "changed", int(note["row"]), bool(note["missing"]))

    def _merge(self) -> None:
        notes = np.zeros(len(self._recent), _NOTES)
        notes["text"] = list(self._recent.values())
        notes["seen"] = True
        self._ids = np.concatenate([self._ids, np.fromiter(self._recent, np.uint64, len(self._recent))])
        self._notes = np.concatenate([self._notes, notes])
        self._recent = {}
        self._sort()

    def _sort(self) -> None:
        order = np.argsort(self._ids, kind="stable")
        ids, notes = self._ids[order], self._notes[order]
        last = np.ones(len(ids), bool)  # of several rows of one paper the newest counts
        last[:-1] = ids[1:] != ids[:-1]
        self._ids, self._notes = ids[last], notes[last]
