"""Hallmarks of Cancer: abstracts with those of ten hallmarks that they tell of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Segments
from sciprism.datasets.layouts.language.parts import NO_TEXT, PartFiles, cut_dev
from sciprism.datasets.layouts.language.records import Record, is_table, records
from sciprism.datasets.layouts.language.texts import ONE, Text, joined, segments
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
    """Read abstracts with their hallmarks, of which they may have none.

    Tables (.tsv) hold sentences: `0_0,1_1,...` (class_value), sentence, `abstract_number`. An abstract is the
    sentences that stand together and have its id; its hallmarks are those of any sentence. JSON lines hold
    abstracts: `label` as ten noughts and ones, or `labels` as names.
    """

    files: PartFiles
    dev_share: float = 0.0

    def read(self, home: DataRoot) -> Segments:
        """Return one text for each abstract, with the names of its hallmarks in order."""
        tally = DropReport()
        parts = self.files.read(home, lambda path, _: _noted(_abstracts(home, path), tally))
        cut_dev(parts, self.dev_share)
        return segments(parts, tally, self.files.where)


def _abstracts(home: DataRoot, path: Path) -> Iterable[Text]:
    return _joined(home, path) if is_table(path) else map(_abstract, records(home, path))


def _noted(found: Iterable[Text], tally: DropReport) -> Iterator[Text]:
    for text in found:
        if not text.segments[0]:
            tally.add(NO_TEXT, text.id)
        if not text.target:
            tally.add("no hallmark", text.id)
        yield text


def _joined(home: DataRoot, path: Path) -> Iterator[Text]:
    """Yield the abstracts whose sentences a table holds."""
    rows = records(home, path, ("label", "sentence", "id"))
    for name, together in groupby(rows, key=lambda row: row.id.rpartition("_")[0] or row.id):
        sentences = list(together)
        places = {place for row in sentences for place in _told(row)}
        yield Text(name, (joined([row.values["sentence"] for row in sentences]),), _names(places), name)


def _told(row: Record) -> list[int]:
    """Return the places of the hallmarks that a sentence tells of."""
    cells = [_CELL.fullmatch(cell.strip()) for cell in row.values["label"].split(",")]
    if not all(cell and int(cell[1]) < len(HALLMARKS) for cell in cells):
        raise InputError(f"{row.where}: the labels are {row.values['label']!r}, not 0_0,1_1,... up to 9")
    return [int(cell[1]) for cell in cells if cell and cell[2] == "1"]


def _abstract(record: Record) -> Text:
    said: Any = record.need("label", "labels")
    if not isinstance(said, list):
        raise InputError(f"{record.where}: the labels are {said!r:.40}, not a list")
    if len(said) == len(HALLMARKS) and set(said) <= {0, 1}:
        target = _names({place for place, value in enumerate(said) if value})
    else:
        known = {str(name).strip().lower() for name in said}
        if unknown := sorted(known.difference(HALLMARKS)):
            raise InputError(f"{record.where}: {unknown[0]!r} is none of the ten hallmarks")
        target = tuple(name for name in HALLMARKS if name in known)
    return Text(record.id, (joined(record.need(*ONE)),), target, record.id)


def _names(places: set[int]) -> tuple[str, ...]:
    return tuple(HALLMARKS[place] for place in sorted(places))
