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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.duplicates import MinHashSignatures
from sciprism.prepare.filters import Filters
from sciprism.seeding import random_fraction
from sciprism.text.documents.document import document_readers, read_documents

DUPLICATE, NEAR_DUPLICATE = "duplicate text", "near-duplicate text"
Mask = NDArray[np.bool_]
"""Documents of a source."""


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
    retained: Mask = field(default_factory=lambda: np.empty(0, np.bool_))
    dropped: DropReport = field(default_factory=DropReport)

    def rows(self, chosen: Mask) -> Iterator[tuple[str, str]]:
        """Yield (id, text) of the chosen documents in order."""
        with self.file.open(encoding="utf-8") as file:
            for wanted, line in zip(chosen.tobytes(), file, strict=True):
                if wanted:
                    name, text = json.loads(line)
                    yield name, text

    def sample(self, chosen: Mask, share: float, seed: int, purpose: str) -> Mask:
        """Return a share of the chosen documents, by a hash of the text."""
        sampled = np.zeros(len(chosen), np.bool_)
        if share:
            for row in np.flatnonzero(chosen).tolist():
                sampled[row] = random_fraction(seed, purpose, int(self.keys[row])) < share
        return sampled


def filter_source(source: TextSource, filters: Filters, file: Path) -> FilteredSource:
    """Read a source, write what passes the filters, count the rest; memory holds 13 bytes a document."""
    filtered = FilteredSource(source, file)
    check, keys, sizes = filters.load_check(), array("Q"), array("I")
    with file.open("w", encoding="utf-8", errors="replace") as spool:
        for path in source.paths:
            documents = read_documents(path, kind=source.kind, columns=source.columns, dropped=filtered.dropped)
            for document in documents:
                filtered.read += 1
                if reason := check(document):
                    filtered.dropped.add(reason, document.id)
                    continue
                spool.write(json.dumps([document.id, document.text], ensure_ascii=False) + "\n")
                plain = " ".join(document.text.casefold().split()).encode("utf-8", "replace")
                keys.append(int.from_bytes(blake2b(plain, digest_size=8).digest()))
                sizes.append(min(len(document.text), 2**32 - 1))
    filtered.keys = np.frombuffer(keys, np.uint64) if keys else filtered.keys
    filtered.sizes = np.frombuffer(sizes, np.uint32) if sizes else filtered.sizes
    filtered.retained = np.ones(len(filtered.keys), np.bool_)
    return filtered


def drop_duplicates(sources: Sequence[FilteredSource], near_duplicates: float | None) -> None:
    """Unmark duplicates in `retained`: documents whose text occurs before, in this source or an earlier one.

    near_duplicates: Jaccard similarity of word 3-grams from which texts are duplicates (`MinHashSignatures`);
    None drops only equal texts. Memory: 8 bytes a document, 264 more with `near_duplicates`.
    """
    keys = np.concatenate([source.keys for source in sources])
    repeated = np.ones(len(keys), np.bool_)
    repeated[np.unique(keys, return_index=True)[1]] = False
    _drop(sources, repeated, DUPLICATE)
    if near_duplicates is None:
        return
    signatures, start = MinHashSignatures(), 0
    for source in sources:
        rows = start + np.flatnonzero(source.retained)
        for row, (_, text) in zip(rows.tolist(), source.rows(source.retained), strict=True):
            signatures.add(row, text)
        start += len(source.retained)
    repeated = np.zeros(len(keys), np.bool_)
    for one, other in signatures.pairs(near_duplicates):
        repeated[max(one, other)] = True
    _drop(sources, repeated, NEAR_DUPLICATE)


def _drop(sources: Sequence[FilteredSource], repeated: Mask, reason: str) -> None:
    start = 0
    for source in sources:
        dropped = repeated[start : start + len(source.retained)] & source.retained
        for name, _ in source.rows(dropped) if dropped.any() else ():
            source.dropped.add(reason, name)
        source.retained &= ~dropped
        start += len(source.retained)


class SourcePasses(NamedTuple):
    """The passes through a source: the documents of each."""

    source: FilteredSource
    passes: list[Mask]

    @classmethod
    def plan(cls, source: FilteredSource, train: Mask, seed: int) -> SourcePasses:
        """Return as many passes through the train documents as the weight; the last one has a share by hash."""
        whole = floor(source.source.weight)
        rest = source.source.weight - whole
        return cls(source, [train] * whole + ([source.sample(train, rest, seed, "weight")] if rest else []))

    @property
    def name(self) -> str:
        """Return the source's name."""
        return self.source.source.name

    @property
    def characters(self) -> int:
        """Return the number of characters of all passes."""
        return sum(int(self.source.sizes[chosen].sum()) for chosen in self.passes)

    def texts(self) -> Iterator[str]:
        """Yield the texts of one pass after another."""
        return (text for chosen in self.passes for _, text in self.source.rows(chosen))


def interleave_texts(mixture: Sequence[SourcePasses]) -> Iterator[tuple[str, str]]:
    """Yield (name of the source, text) so that all sources advance by the same share of their characters.

    Each source keeps its order.
    """
    totals, streams = [source.characters for source in mixture], [source.texts() for source in mixture]
    done = [0] * len(mixture)

    def upcoming(number: int) -> tuple[float, int, str] | None:
        text = next(streams[number], None)
        return None if text is None else ((done[number] + len(text) / 2) / totals[number], number, text)

    queue = sorted(filter(None, map(upcoming, range(len(mixture)))))
    while queue:
        _, number, text = heappop(queue)
        yield mixture[number].name, text
        done[number] += len(text)
        if following := upcoming(number):
            heappush(queue, following)
