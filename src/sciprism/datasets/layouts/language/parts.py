"""Find the files of train, dev and test, and concatenate the rows of the three parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Protocol, TypeVar

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import concatenate
from sciprism.datasets.layouts.beir import find_file
from sciprism.datasets.open_data import PARTS, Part
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.seeding import random_fraction

ROOTS = ("", "blurb", "data_generation", "blurb/data_generation", "linkbert", "LinkBERT")
"""Folders of BLURB's package and LinkBERT's copy of it, relative to the data root."""
SUBFOLDERS = ("", "data", "data/tokcls", "data/seqcls", "tokcls", "seqcls")
ENDINGS = ("", ".tsv", ".txt", ".json", ".jsonl")
NO_TEXT = "no text"


class IdentifiedRow(Protocol):
    """A row with an id."""

    @property
    def id(self) -> str:
        """Return the id in the file, or the line number."""


RowT = TypeVar("RowT", bound=IdentifiedRow)
Parts = dict[Part, list[RowT]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFiles:
    """The files of a data set: one of train, one of test, optionally one of dev.

    folders: the first that contains any of the files is used; each is searched for under the data root and in
    the folders of the benchmarks' packages (`ROOTS`, `SUBFOLDERS`). train, dev, test: names of the part's
    file, with or without one of `ENDINGS` and `.gz`; no name: no such part. repo: a hub data set with the
    files, instead of folders; the first name of each part is its file there. obtain: how to get the data.
    """

    folders: tuple[str, ...] = ()
    train: tuple[str, ...] = ("train",)
    dev: tuple[str, ...] = ("dev", "devel", "val", "validation")
    test: tuple[str, ...] = ("test",)
    repo: str = ""
    obtain: str = ""

    @property
    def where(self) -> str:
        """Return the folders, or the hub data set, for messages."""
        return ", ".join(self.folders) or self.repo

    def read(self, data_root: DataRoot, rows: Callable[[Path, Part], Iterable[RowT]]) -> Parts[RowT]:
        """Return the rows of each part, as `rows` reads them from its file; empty where there is no file."""
        paths = self.find(data_root)
        return {part: list(rows(paths[part], part)) if part in paths else [] for part in PARTS}

    def find(self, data_root: DataRoot) -> dict[Part, Path]:
        """Return the file of each part. Raises InputError that says what is missing and how to get it."""
        named: dict[Part, tuple[str, ...]] = {"train": self.train, "dev": self.dev, "test": self.test}
        if self.repo:
            return {
                part: data_root.file(self.repo, names[0], names=names[1:]) for part, names in named.items() if names
            }
        top = data_root.folder or Path()
        for folder, root, inside in product(self.folders, ROOTS, SUBFOLDERS):
            path = top / root / inside / folder
            tried = {
                part: find_file(path, *(f"{name}{end}" for name, end in product(names, ENDINGS)))
                for part, names in named.items()
            }
            if found := {part: file for part, file in tried.items() if file}:
                return _require_parts(found, named, path)
        return _require_parts({}, named, data_root.local(self.folders[0], self.obtain))


def _require_parts(found: dict[Part, Path], named: Mapping[Part, Sequence[str]], folder: Path) -> dict[Part, Path]:
    for part in ("train", "test"):
        if part not in found and named[part]:
            present = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
            raise InputError(
                f"{folder} has no {part} file (such as {named[part][0]}.tsv or .json); it contains {present}"
            )
    return found


def split_off_dev(parts: Parts[RowT], share: float, key: Callable[[RowT], str] = lambda each: each.id) -> None:
    """Move this share of train to dev if dev is empty: the rows whose keys have the lowest hashes.

    Rows with one key stay together, in any order of the rows.
    """
    if share and not parts["dev"]:
        whole = parts["train"]
        parts["dev"] = [each for each in whole if random_fraction("dev", key(each)) < share]
        parts["train"] = [each for each in whole if random_fraction("dev", key(each)) >= share]


def concatenate_parts(parts: Parts[RowT], dropped: DropReport) -> tuple[list[str], list[RowT], dict[Part, Rows]]:
    """Return the ids and the rows of train, dev and test in order, and the row numbers of each part.

    An id is `part/id`, since files number their rows from the start; duplicates end with "#2" ...
    """
    ids = []
    for part in PARTS:
        seen: Counter[str] = Counter()
        for each in parts[part]:
            seen[each.id] += 1
            name = f"{part}/{each.id}"
            if seen[each.id] > 1:
                dropped.add("duplicate id in its part", name)
                name = f"{name}#{seen[each.id]}"
            ids.append(name)
    return ids, *concatenate(parts)


def require_rows(parts: Parts[RowT], where: str) -> None:
    """Raise InputError where train or test is empty."""
    for part in ("train", "test"):
        if not parts[part]:
            raise InputError(f"{where}: no {part} rows; the file is empty or has no usable row")
