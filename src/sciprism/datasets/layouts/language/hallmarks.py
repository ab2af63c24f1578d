"""Hallmarks of Cancer: abstracts labelled with ten hallmarks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import PairInput
from sciprism.datasets.layouts.language.parts import NO_TEXT, PartFiles, split_off_dev
from sciprism.datasets.layouts.language.records import LanguageRecord, is_table, read_records
from sciprism.datasets.layouts.language.texts import (
    FIRST_FIELDS,
    LabelledText,
    build_pair_input,
    join_paragraphs,
)
from sciprism.drop_report import DropReport
from sciprism.errors import InputError

HALLMARKS = (
    "activating invasion and metastasis",
    "avoiding immune destruction",
    "cellular energetics",
    "enabling replicative immortality",
    "evading growth suppressors",
    "genomic instability and mutation",
    "inducing angiogenesis",
    "resisting cell death",
    "sustaining proliferative signaling",
    "tumor promoting inflammation",
)
"""In the order of BLURB's label columns."""
_CELL = re.compile(r"(\d+)_([01])")


@dataclass(frozen=True, slots=True, kw_only=True)
class HallmarkAbstracts:
    """Read abstracts, each with any number of hallmarks.

    Tables (.tsv) have sentences: `0_0,1_1,...` (class_value), sentence, `abstract_number`. An abstract is the
    consecutive sentences with its id; its hallmarks are those of any sentence. JSON lines have abstracts:
    `label` as ten zeros and ones, or `labels` as names.
    """

    files: PartFiles
    dev_share: float = 0.0

    def read(self, data_root: DataRoot) -> PairInput:
        """Return one text for each abstract, with the names of its hallmarks in order."""
        dropped = DropReport()
        parts = self.files.read(data_root, lambda path, _: _read_abstracts(data_root, path, dropped))
        split_off_dev(parts, self.dev_share)
        return build_pair_input(parts, dropped, self.files.where)


def _read_abstracts(data_root: DataRoot, path: Path, dropped: DropReport) -> Iterator[LabelledText]:
    """Yield the abstracts of a file; those without text or hallmark are counted."""
    for text in (
        _join_sentences(data_root, path) if is_table(path) else map(_parse_abstract, read_records(data_root, path))
    ):
        if not text.segments[0]:
            dropped.add(NO_TEXT, text.id)
        if not text.target:
            dropped.add("no hallmark", text.id)
        yield text


def _join_sentences(data_root: DataRoot, path: Path) -> Iterator[LabelledText]:
    """Yield the abstracts of a table of sentences."""
    rows = read_records(data_root, path, ("label", "sentence", "id"))
    for name, group in groupby(rows, key=lambda row: row.id.rpartition("_")[0] or row.id):
        sentences = list(group)
        columns = set()
        for row in sentences:
            cells = [_CELL.fullmatch(cell.strip()) for cell in row.values["label"].split(",")]
            if not all(cell and int(cell[1]) < len(HALLMARKS) for cell in cells):
                raise InputError(f"{row.where}: the labels are {row.values['label']!r}, not 0_0,1_1,... up to 9")
            columns |= {int(cell[1]) for cell in cells if cell and cell[2] == "1"}
        yield LabelledText(
            name,
            (join_paragraphs([row.values["sentence"] for row in sentences]),),
            _list_names(columns),
            name,
        )


def _parse_abstract(record: LanguageRecord) -> LabelledText:
    labels: Any = record.need("label", "labels")
    if not isinstance(labels, list):
        raise InputError(f"{record.where}: the labels are {labels!r:.40}, not a list")
    if len(labels) == len(HALLMARKS) and set(labels) <= {0, 1}:
        target = _list_names({column for column, value in enumerate(labels) if value})
    else:
        known = {str(name).strip().lower() for name in labels}
        if unknown := sorted(known.difference(HALLMARKS)):
            raise InputError(f"{record.where}: {unknown[0]!r} is not one of the ten hallmarks")
        target = tuple(name for name in HALLMARKS if name in known)
    return LabelledText(record.id, (join_paragraphs(record.need(*FIRST_FIELDS)),), target, record.id)


def _list_names(columns: set[int]) -> tuple[str, ...]:
    return tuple(HALLMARKS[column] for column in sorted(columns))
