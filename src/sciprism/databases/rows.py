"""Papers as rows of a table, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.databases.database import MAX_FIELDS, Hashes, TableRows
from sciprism.databases.term_weights import SparseVector, TermStatistics, weigh_documents
from sciprism.index.lexical import join_text
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection
from sciprism.store.known_papers import hash64

MAX_BYTES = 60_000  # UTF-8 bytes of a paper's record that are stored: Milvus takes 65,535 for a text
MAX_TITLE = 8_000  # characters of a title, venue or field in its own column; the record has all of them


@dataclass(frozen=True, slots=True)
class PaperHashColumns:
    """Of each row of a collection: the hash of its id (its key) and of its text, and the version that it is sent as."""

    keys: Hashes
    texts: NDArray[np.uint64]
    versions: Hashes


def read_hashes(stored: StoredCollection, statistics: TermStatistics | None) -> PaperHashColumns:
    """Return the hashes of all rows. The version changes with the record, text, encoder, or lexical weights."""
    keys, texts, records = (
        stored.column(name).astype(np.uint64, copy=False) for name in ("id_hash", "text_hash", "record_hash")
    )
    weights = "" if statistics is None else f"{statistics.mean_length} {statistics.k1} {statistics.b}"
    common = np.uint64(hash64(f"{stored.manifest.encoder.fingerprint} {weights}"))
    return PaperHashColumns(keys.view(np.int64), texts, (records ^ common).view(np.int64))


@dataclass(frozen=True, slots=True)
class RowBuilder:
    """Turns rows of a space of a collection into rows of a table. statistics: None for no lexical weights."""

    stored: StoredCollection
    space: str
    hashes: PaperHashColumns
    statistics: TermStatistics | None

    def build(self, rows: Rows) -> tuple[TableRows, int]:
        """Return the rows of some papers, and how many records were too long and were shortened."""
        papers = self.stored.papers(rows)
        vectors = self.stored.read_rows(self.space, rows)
        words: Sequence[SparseVector] = [_EMPTY] * len(papers)
        if self.statistics is not None:
            words = weigh_documents([join_text(paper.title, paper.abstract) for paper in papers], self.statistics)
        records = [_write_paper(paper) for paper in papers]
        columns = [
            self._build_columns(paper, record, int(row))
            for paper, (record, _), row in zip(papers, records, rows, strict=True)
        ]
        built = TableRows(self.hashes.keys[rows], vectors.block(0, len(rows)), words, columns)
        return built, sum(shortened for _, shortened in records)

    def _build_columns(self, paper: Paper, record: str, row: int) -> dict[str, Any]:
        return {
            "id": paper.id,
            "title": paper.title[:MAX_TITLE],
            "venue": paper.venue[:MAX_TITLE],
            "year": paper.year,
            "fields": [field[:MAX_TITLE] for field in paper.fields[:MAX_FIELDS]],
            "authors": [author[:MAX_TITLE] for author in paper.authors[:MAX_FIELDS]],
            "text_hash": f"{int(self.hashes.texts[row]):016x}",
            "fingerprint": self.stored.manifest.encoder.fingerprint,
            "paper": record,
            "version": int(self.hashes.versions[row]),
        }


_EMPTY = SparseVector(np.empty(0, np.uint32), np.empty(0, np.float32))


def _write_paper(paper: Paper) -> tuple[str, bool]:
    """Return the JSON of a paper, and whether it was too long: then without references, and its abstract is cut."""
    text = _to_json(paper)
    if len(text.encode("utf-8", "replace")) <= MAX_BYTES:
        return text, False
    paper = replace(paper, references=())
    while len((text := _to_json(paper)).encode("utf-8", "replace")) > MAX_BYTES:
        longest = max(("abstract", "title"), key=lambda name: len(getattr(paper, name)))
        if not getattr(paper, longest):
            return _to_json(Paper(id=paper.id, year=paper.year, ids=paper.ids)), True
        paper = replace(paper, **{longest: getattr(paper, longest)[: len(getattr(paper, longest)) // 2]})
    return text, True


def _to_json(paper: Paper) -> str:
    return json.dumps(paper.to_json(), ensure_ascii=False)


def read_paper(text: str) -> Paper:
    """Return the paper of a row."""
    return Paper.from_json(json.loads(text))
