"""Sources of texts: filtered documents on disk, without duplicates, mixed by weight."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import heappop, heappush
from math import floor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.duplicates import MinHashSignatures
from sciprism.prepare.filters import Filters
from sciprism.seeding import random_fraction
from sciprism.text.documents.document import document_readers, read_documents


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSource:
    """Files of one kind of text.

    name: also of its folder. weight: number of passes; a fraction is that share of the documents. kind: of
    document, "" to detect that of each file. columns: of rows, those with the text.
    """

    name: str
    paths: tuple[Path, ...]
    weight: float = 1.0
    kind: str = ""
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", self.name):
            raise InputError(f"source name {self.name!r}: letters, digits, dots, dashes and underscores only")
        if not 0 < self.weight <= 1000:
            raise InputError(f"{self.name}: weight {self.weight}; above 0 and up to 1,000 is allowed")
        if self.kind:
            document_readers[self.kind]
        for path in self.paths:
            if not path.exists():
                raise InputError(f"{self.name}={path}: no such file or folder")


@dataclass(slots=True)
class FilteredSource:
    """The documents of a source that passed the filters, in a file, a JSON line each.

    read: documents with text before the filters. keys: hash of each text without case and white space. sizes:
    its characters. retained: those that are not dropped later as duplicates. dropped: the others, by reason.
    """

    source: TextSource
    file: Path
    read: int = 0
    keys: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    sizes: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    retained: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    dropped: DropReport = field(default_factory=DropReport)

    def rows(self, chosen: NDArray[np.bool_]) -> Iterator[tuple[str, str]]:
        """Yield (id, text) of the chosen documents in order."""
        with self.file.open(encoding="utf-8") as file:
            for wanted, line in zip(chosen.tobytes(), file, strict=True):
                if wanted:
                    name, text = json.loads(line)
                    yield name, text

    def texts(self, passes: list[NDArray[np.bool_]]) -> Iterator[str]:
        """Yield the texts of one pass after another."""
        for chosen in passes:
            yield from (text for _, text in self.rows(chosen))


def filter_source(source: TextSource, filters: Filters, file: Path) -> FilteredSource:
    """Read a source, write what passes the filters, count the rest; memory holds 13 bytes a document."""
    found = FilteredSource(source, file)
    check, keys, sizes = filters.load_check(), array("Q"), array("I")
    with file.open("w", encoding="utf-8", errors="replace") as spool:
        for path in source.paths:
            documents = read_documents(path, kind=source.kind, columns=source.columns, dropped=found.dropped)
            for document in documents:
                found.read += 1
                if reason := check(document):
                    found.dropped.add(reason, document.id)
                    continue
                spool.write(json.dumps([document.id, document.text], ensure_ascii=False) + "\n")
                plain = " ".join(document.text.casefold().split()).encode("utf-8", "replace")
                keys.append(int.from_bytes(blake2b(plain, digest_size=8).digest()))
                sizes.append(min(len(document.text), 2**32 - 1))
    found.keys = np.frombuffer(keys, np.uint64) if keys else found.keys
    found.sizes = np.frombuffer(sizes, np.uint32) if sizes else found.sizes
    found.retained = np.ones(len(found.keys), np.bool_)
    return found


DUPLICATE, NEAR_DUPLICATE = "duplicate text", "near-duplicate text"


def drop_duplicates(sources: Sequence[FilteredSource], near_duplicates: float | None) -> None:
    """Unmark duplicates in `retained`: documents whose text occurs before, in this source or an earlier one.

    near_duplicates: Jaccard similarity of word 3-grams from which texts are duplicates (`MinHashSignatures`);
    None drops only equal texts. Memory: 8 bytes a document, 264 more with `near_duplicates`.
    """
    keys = np.concatenate([each.keys for each in sources])
    repeated = np.ones(len(keys), np.bool_)
    repeated[np.unique(keys, return_index=True)[1]] = False
    _drop(sources, repeated, DUPLICATE)
    if near_duplicates is None:
        return
    signatures, start = MinHashSignatures(), 0
    for each in sources:
        rows = start + np.flatnonzero(each.retained)
        for row, (_, text) in zip(rows.tolist(), each.rows(each.retained), strict=True):
            signatures.add(row, text)
        start += len(each.retained)
    repeated = np.zeros(len(keys), np.bool_)
    for one, other in signatures.pairs(near_duplicates):
        repeated[max(one, other)] = True
    _drop(sources, repeated, NEAR_DUPLICATE)


def _drop(sources: Sequence[FilteredSource], repeated: NDArray[np.bool_], reason: str) -> None:
    start = 0
    for each in sources:
        dropped = repeated[start : start + len(each.retained)] & each.retained
        for name, _ in each.rows(dropped) if dropped.any() else ():
            each.dropped.add(reason, name)
        each.retained &= ~dropped
        start += len(each.retained)


Passes = list[NDArray[np.bool_]]


def held_out_mask(source: FilteredSource, share: float, seed: int) -> NDArray[np.bool_]:
    """Return which retained documents are dev: a share, by a hash of the text."""
    return _sample_mask(source, source.retained, share, seed, "dev")


def plan_passes(source: FilteredSource, train: NDArray[np.bool_], seed: int) -> Passes:
    """Return the documents of each pass through a source: all, and in the last one a share by hash."""
    whole = floor(source.source.weight)
    rest = source.source.weight - whole
    return [train] * whole + ([_sample_mask(source, train, rest, seed, "weight")] if rest else [])


def interleave_texts(sources: Sequence[FilteredSource], passes: Sequence[Passes]) -> Iterator[tuple[int, str]]:
    """Yield (number of the source, text) so that all sources advance by the same share of their characters.

    Each source keeps its order.
    """
    totals = [sum(int(each.sizes[one].sum()) for one in own) for each, own in zip(sources, passes, strict=True)]
    streams = [each.texts(own) for each, own in zip(sources, passes, strict=True)]
    done = [0] * len(sources)

    def upcoming(number: int) -> tuple[float, int, str] | None:
        text = next(streams[number], None)
        return None if text is None else ((done[number] + len(text) / 2) / totals[number], number, text)

    queue = sorted(found for number in range(len(sources)) if (found := upcoming(number)))
    while queue:
        _, number, text = heappop(queue)
        yield number, text
        done[number] += len(text)
        if following := upcoming(number):
            heappush(queue, following)


def _sample_mask(
    source: FilteredSource, chosen: NDArray[np.bool_], share: float, seed: int, purpose: str
) -> NDArray[np.bool_]:
    sampled = np.zeros(len(chosen), np.bool_)
    if share:
        for row in np.flatnonzero(chosen).tolist():
            sampled[row] = random_fraction(seed, purpose, int(source.keys[row])) < share
    return sampled
