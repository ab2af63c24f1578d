"""PMC-Patients as released: its files under their present and older names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.beir import find_file, merge_judgements, read_judgements
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.sources.records import read_beir_papers

Search = Literal["par", "ppr"]
"""Articles for a patient, or similar patients."""
Split = Literal["train", "dev", "test"]

Relevant = dict[str, list[str]]
"""Patient -> relevant documents, the best grade first."""

WITHDRAWN = (
    'its texts were withdrawn; build it from PubMed, a line {"_id": PMID, "title": ..., "text": abstract} '
    "for each id in PAR/PAR_PMIDs.json"
)


class PatientsRelease:
    """The files of one of the two searches. folder: the release or its parent.

    Files may be gzipped. Raises InputError naming the first missing one.
    """

    def __init__(self, folder: Path, search: Search) -> None:
        if search not in get_args(Search):
            raise InputError(f"unknown task {search!r}; known: {', '.join(get_args(Search))}")
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; name the folder of the release")
        self.data_root = DataRoot(folder)
        name = search.upper()
        hint = WITHDRAWN if search == "par" else ""
        self._patients = {split: _find(folder, f"queries/{split}_queries.jsonl") for split in get_args(Split)}
        self._judgements = {
            split: _find(folder, f"{name}/qrels_{split}.tsv", f"{name}/{name}_{split}_qrels.tsv")
            for split in get_args(Split)
        }
        self._corpus = _find(folder, f"{name}/corpus.jsonl", f"{name}/{name}_corpus.jsonl", hint=hint)

    def relevant_documents(self, split: Split, dropped: DropReport) -> Relevant:
        """Return the relevant documents of each patient of a split; equal grades in the order of the file."""
        judgements = read_judgements(self.data_root, self._judgements[split])
        judged = merge_judgements(((q, sys.intern(d), grade) for q, d, grade in judgements), dropped)
        return {
            query: [d for d, grade in sorted(grades.items(), key=lambda pair: -pair[1]) if grade > 0]
            for query, grades in judged.items()
        }

    def patients(self, split: Split) -> Iterator[Paper]:
        """Yield the patients of a split as papers, with their text as the abstract."""
        return read_beir_papers(self.data_root, self._patients[split])

    def documents(self) -> Iterator[Paper]:
        """Yield the documents to search, in the order of the file."""
        return read_beir_papers(self.data_root, self._corpus)


def _find(folder: Path, *names: str, hint: str = "") -> Path:
    places = (folder, *(folder / name for name in FOLDERS))
    path = next(filter(None, (find_file(place, name) for name in names for place in places)), None)
    if path is None:
        raise InputError(f"{folder} holds no {' or '.join(names)}{f'; {hint}' if hint else ''}")
    return path


FOLDERS = ("zhengyun21/PMC-Patients-ReCDS", "PMC-Patients-ReCDS", "pmc-patients", "PMC-Patients")
