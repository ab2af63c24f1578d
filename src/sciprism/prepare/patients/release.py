"""PMC-Patients as it is released: its files under their present and older names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.beir import find
from sciprism.datasets.layouts.judgements import of_file, united
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.scimult.desk import beir_texts
from sciprism.prepare.scimult.patients import FOLDERS

Search = Literal["par", "ppr"]
"""Articles for a patient, or patients like a patient."""
Split = Literal["train", "dev", "test"]

Relevant = dict[str, list[str]]
"""Patient -> relevant documents, the best grade first."""

WITHDRAWN = (
    'its texts were withdrawn; make it from PubMed, a line {"_id": PMID, "title": ..., "text": abstract} '
    "for each id in PAR/PAR_PMIDs.json"
)


class Release:
    """The files of one of the two searches; `folder` is the release or holds it.

    Files may be gzipped. Raises InputError naming the first that is not there.
    """

    def __init__(self, folder: Path, search: Search) -> None:
        if search not in get_args(Search):
            raise InputError(f"task {search!r}: {' or '.join(get_args(Search))}")
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder")
        self.home = DataRoot(folder)
        name = search.upper()
        hint = WITHDRAWN if search == "par" else ""
        self._patients = {split: _need(folder, f"queries/{split}_queries.jsonl") for split in get_args(Split)}
        self._judged = {
            split: _need(folder, f"{name}/qrels_{split}.tsv", f"{name}/{name}_{split}_qrels.tsv")
            for split in get_args(Split)
        }
        self._corpus = _need(folder, f"{name}/corpus.jsonl", f"{name}/{name}_corpus.jsonl", hint=hint)

    def relevant(self, split: Split, tally: DropReport) -> Relevant:
        """Return the documents that a split judges relevant; equal grades in the order of the file."""
        judgements = of_file(self.home, self._judged[split])
        judged = united(((q, sys.intern(d), grade) for q, d, grade in judgements), tally)
        return {
            query: [d for d, grade in sorted(mine.items(), key=lambda pair: -pair[1]) if grade > 0]
            for query, mine in judged.items()
        }

    def patients(self, split: Split) -> Iterator[Paper]:
        """Yield the patients of a split, whose text stands where a paper has its abstract."""
        return beir_texts(self.home, self._patients[split])

    def documents(self) -> Iterator[Paper]:
        """Yield what is searched, in the order of the file."""
        return beir_texts(self.home, self._corpus)


def _need(folder: Path, *names: str, hint: str = "") -> Path:
    places = (folder, *(folder / name for name in FOLDERS))
    found = (find(place, name) for name in names for place in places)
    path = next(filter(None, found), None)
    if path is None:
        raise InputError(f"{folder} holds no {' or '.join(names)}{f'; {hint}' if hint else ''}")
    return path
