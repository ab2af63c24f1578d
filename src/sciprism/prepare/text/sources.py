"""One source of texts: its files, its weight, and its filtered documents on disk."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.prepare.text.filters import Filters
from sciprism.text.documents.read import read_documents
from sciprism.text.documents.registry import document_readers


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
