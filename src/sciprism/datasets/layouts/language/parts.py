"""Where the files of train, dev and test lie, and rows of the three parts laid behind one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.sources import PARTS, Part
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.seeding import random_fraction

ROOTS = ("", "blurb", "data_generation", "blurb/data_generation", "linkbert", "LinkBERT")
"""Where people unpack BLURB's package and LinkBERT's copy of it, below the home of data."""
INSIDE = ("", "data", "data/tokcls", "data/seqcls", "tokcls", "seqcls")
ENDINGS = ("", ".tsv", ".txt", ".json", ".jsonl")
NO_TEXT = "no text"


class Named(Protocol):
    """What has an id."""

    @property
    def id(self) -> str:
        """Return the id that the file gives, or the number of a line."""
        ...


Each = TypeVar("Each", bound=Named)
Parts = dict[Part, list[Each]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFiles:
    """The files of a data set: one of train, one of test, perhaps one of dev.

    folders: the first that holds any of them counts; each is looked for below the home of data and where the
    benchmarks' own packages put it (`ROOTS`, `INSIDE`). train, dev, test: what the file of a part may be
    called, with or without one of `ENDINGS` and `.gz`; no name: there is no such part. repo: a data set of
    the hub that holds the files; folders are not looked at then, and the first name of each part is its file
    there. obtain: where the data come from.
    """

    folders: tuple[str, ...] = ()
    train: tuple[str, ...] = ("train",)
    dev: tuple[str, ...] = ("dev", "devel", "val", "validation")
    test: tuple[str, ...] = ("test",)
    repo: str = ""
    obtain: str = ""

    @property
    def where(self) -> str:
        """Return the folders, or the data set of the hub, as messages name them."""
        return ", ".join(self.folders) or self.repo

    def read(self, home: DataRoot, rows: Callable[[Path, Part], Iterable[Each]]) -> Parts[Each]:
        """Return what `rows` gives of each part's file; nothing where there is no such part."""
        paths = self.find(home)
        return {part: list(rows(paths[part], part)) if part in paths else [] for part in PARTS}

    def find(self, home: DataRoot) -> dict[Part, Path]:
        """Return the file of each part. Raises InputError that says what is missing and where it is had."""
        named: dict[Part, tuple[str, ...]] = {"train": self.train, "dev": self.dev, "test": self.test}
        if self.repo:
            return {
                part: home.file(self.repo, names[0], names=names[1:])
                for part, names in named.items()
                if names
            }
        top = home.folder or Path()
        for folder, root, inside in product(self.folders, ROOTS, INSIDE):
            place = top / root / inside / folder
            found = {part: path for part, names in named.items() if (path := _first(place, names))}
            if found:
                return _whole(found, named, place)
        return _whole({}, named, home.local(self.folders[0], self.obtain))


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    if not folder.is_dir():
        return None
    paths = (folder / f"{name}{end}{gz}" for name, end, gz in product(names, ENDINGS, ("", ".gz")))
    return next((path for path in paths if path.is_file()), None)


def _whole(found: dict[Part, Path], named: Mapping[Part, Sequence[str]], folder: Path) -> dict[Part, Path]:
    for part in ("train", "test"):
        if part not in found and named[part]:
            there = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
            raise InputError(
                f"{folder} holds no {part} file (such as {named[part][0]}.tsv or .json); it holds {there}"
            )
    return found


def cut_dev(parts: Parts[Each], share: float, key: Callable[[Each], str] = lambda each: each.id) -> None:
    """Where there is no dev, move this share of train to it: those whose key hashes lowest.

    Rows of one key stay together, whatever the order of the rows.
    """
    if share and not parts["dev"]:
        whole = parts["train"]
        parts["dev"] = [each for each in whole if random_fraction("dev", key(each)) < share]
        parts["train"] = [each for each in whole if random_fraction("dev", key(each)) >= share]


def together(parts: Parts[Each]) -> tuple[list[Each], dict[Part, Rows]]:
    """Lay train, dev and test behind one another; return all, and the rows of each part."""
    ends = np.cumsum([0, *(len(parts[part]) for part in PARTS)])
    rows = {part: np.arange(ends[i], ends[i + 1], dtype=np.int64) for i, part in enumerate(PARTS)}
    return [each for part in PARTS for each in parts[part]], rows


def unique_ids(parts: Parts[Each], tally: DropReport) -> list[str]:
    """Return `part/id` of each row in the order of `together`; "#2" ... behind an id that stands again.

    Files count their rows each from the start, so an id alone need not be one of the whole data set.
    """
    found = []
    for part in PARTS:
        seen: Counter[str] = Counter()
        for each in parts[part]:
            seen[each.id] += 1
            name = f"{part}/{each.id}"
            if seen[each.id] > 1:
                tally.add("id that stands again in its part", name)
                name = f"{name}#{seen[each.id]}"
            found.append(name)
    return found


def need_rows(parts: Parts[Each], where: str) -> None:
    """Raise InputError where there is nothing to train on or to test."""
    for part in ("train", "test"):
        if not parts[part]:
            raise InputError(f"{where}: no {part} rows; the file is empty, or no row of it can be used")
