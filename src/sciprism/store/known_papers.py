"""Find out which papers of an input are new or changed, in about 25 bytes per stored paper, and explain it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sciprism.papers.merging import describe_differences
from sciprism.papers.records import Paper
from sciprism.store.shard_files import hash64

if TYPE_CHECKING:
    from sciprism.store.collection import StoredCollection

MAX_QUOTED = 200  # characters of a title in a message
RECENT = 1 << 16  # new papers looked up in a dictionary before they are merged into the sorted arrays
StatusKind = Literal["new", "changed", "updated", "unchanged", "duplicate", "conflict"]
"""What a record is next to the known one of its id: with a changed text, with updated details, or unchanged.

Next to one of the same input, it is a duplicate of equal text, or in conflict with it."""
_ENTRY = np.dtype([("text", "u4"), ("record", "u4"), ("row", "u4"), ("seen", "?")])
_LOW_BITS = np.uint64(0xFFFFFFFF)
_JSON = json.JSONEncoder(sort_keys=True, ensure_ascii=False)


class PaperStatus(NamedTuple):
    """How a paper of the input compares with the known one of its id.

    row: that of the known paper. same_record: whether the
    two agree in everything.
    """

    kind: StatusKind
    row: int = -1
    same_record: bool = False


class PaperHashes(NamedTuple):
    """64-bit hashes of a paper's id, its encoded text, and its whole record with that text."""

    id: int
    text: int
    record: int


def hash_paper(paper: Paper, text: str) -> PaperHashes:
    """Return the hashes of a paper and its encoded text; UnicodeEncodeError for a lone surrogate."""
    record = _JSON.encode(paper.to_json())
    return PaperHashes(hash64(paper.id), hash64(text), hash64(record + "\n" + text))


def explain_clash(paper: Paper, other: Paper, *, same: bool, of_this_input: bool) -> str:
    """Say what a record is whose id a known record has: of the same paper with another text, or of another paper."""
    known = f"{quote_title(other)} ({other.place or 'its file was not recorded'}): {describe_differences(paper, other)}"
    if same:
        return f"it came before with another text, {known}; keep one, or the last with --corrections"
    advice = "give each its own id, with --ids-per-file for instance"
    if not of_this_input:
        advice += "; if it is the same paper, replace the stored one with --replace"
    elif paper.place and other.place and paper.place.file == other.place.file:
        advice = "change the id of one in the file"
    return f"another paper has this id, {known}; {advice}"


def quote_title(paper: Paper) -> str:
    """Quote the beginning of a paper's title, else of its abstract."""
    return repr((paper.title or paper.abstract)[:MAX_QUOTED])


class KnownPapers:
    """Hashes of the stored papers and of those that this run has seen.

    The arrays are sorted by id hash; the newest papers are in a dictionary. 32 bits of the text and record
    hashes are enough: they are compared only between papers of one id.
    """

    def __init__(self, stored: StoredCollection) -> None:
        self._recent: dict[int, int] = {}  # id hash -> position in the entries of new papers
        self._recent_entries: NDArray[np.void] = np.zeros(RECENT, _ENTRY)
        rows = stored.live
        self._ids: NDArray[np.uint64] = stored.column("id_hash")[rows]
        self._entries: NDArray[np.void] = np.zeros(len(rows), _ENTRY)
        for name in ("text", "record"):
            self._entries[name] = stored.column(f"{name}_hash")[rows] & _LOW_BITS
        self._entries["row"] = rows
        self._sort()

    def find_unseen(self, ids: NDArray[np.uint64], *, others: bool = False) -> NDArray[np.int64]:
        """Return the rows of stored papers that the input lacks, ascending; with these hashes of ids, or others."""
        chosen = np.isin(self._ids, ids, invert=others) & ~self._entries["seen"]
        rows: NDArray[np.int64] = np.sort(self._entries["row"][chosen]).astype(np.int64)
        return rows

    def is_seen(self, id: int) -> bool:
        """Return whether the input had a paper of this hash of an id."""
        entry = self._find(id)
        return entry is not None and bool(entry["seen"])

    def compare(self, hashes: PaperHashes) -> PaperStatus:
        """Compare a paper of the input with the known one of its id."""
        entry = self._find(hashes.id)
        if entry is None:
            return PaperStatus("new")
        same_text = entry["text"] == hashes.text & 0xFFFFFFFF
        same_record = bool(entry["record"] == hashes.record & 0xFFFFFFFF)
        kind: StatusKind
        if entry["seen"]:
            kind = "duplicate" if same_text else "conflict"
        else:
            kind = "unchanged" if same_record else "updated" if same_text else "changed"
        return PaperStatus(kind, int(entry["row"]), same_record)

    def mark(self, hashes: PaperHashes, row: int) -> None:
        """Remember a record of the input that is used: later ones of its id are compared with it."""
        entry = self._find(hashes.id)
        if entry is None:
            if len(self._recent) == RECENT:
                self._merge()
            position = self._recent[hashes.id] = len(self._recent)
            entry = self._recent_entries[position]
        entry["text"], entry["record"] = hashes.text & 0xFFFFFFFF, hashes.record & 0xFFFFFFFF
        entry["row"], entry["seen"] = row, True

    def _find(self, id: int) -> Any:
        """Return the entry of an id, which may be written to; None for an unknown one."""
        if (recent := self._recent.get(id)) is not None:
            return self._recent_entries[recent]
        position = int(np.searchsorted(self._ids, np.uint64(id)))
        return self._entries[position] if position < len(self._ids) and self._ids[position] == id else None

    def _merge(self) -> None:
        self._ids = np.concatenate([self._ids, np.fromiter(self._recent, np.uint64, len(self._recent))])
        self._entries = np.concatenate([self._entries, self._recent_entries[: len(self._recent)]])
        self._recent = {}
        self._recent_entries[:] = np.zeros((), _ENTRY)
        self._sort()

    def _sort(self) -> None:
        order = np.argsort(self._ids)
        self._ids, self._entries = self._ids[order], self._entries[order]
