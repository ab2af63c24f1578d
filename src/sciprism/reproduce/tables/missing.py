"""What data a set of tasks lacks, found before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.task import Task


class Looking(DataRoot):
    """A home in which files are looked for and no record is read; what is not there is remembered.

    missing: name of a file or folder -> how to come by it.
    """

    def __init__(self, folder: Path | None) -> None:
        super().__init__(folder)
        self.missing: dict[str, str] = {}

    def local(self, name: str, obtain: str = "") -> Path:
        """Return where a file lies, or would lie."""
        try:
            return super().local(name, obtain)
        except InputError:
            self.missing[name] = obtain
            return (self.folder or Path()) / name

    def file(self, repo: str, path: str, *, revision: str = "", names: tuple[str, ...] = ()) -> Path:
        """Return where a file of the hub lies, or would lie."""
        try:
            return super().file(repo, path, revision=revision, names=names)
        except InputError as error:
            self.missing[f"{repo}/{path}"] = str(error)
            return (self.folder or Path()) / repo / path

    def rows(
        self, repo: str, config: str, *, split: str, revision: str = "", tally: DropReport | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield nothing."""
        try:
            next(super().rows(repo, config, split=split, revision=revision, tally=tally), None)
        except InputError as error:
            self.missing[f"{repo} {config} {split}"] = str(error)
        yield from ()

    def records(self, path: Path) -> Iterator[dict[str, Any]]:
        """Yield nothing."""
        yield from self._looked(path)

    def members(self, path: Path) -> Iterator[tuple[str, Any]]:
        """Yield nothing."""
        yield from self._looked(path)

    def lines(self, path: Path) -> Iterator[tuple[int, str]]:
        """Yield nothing."""
        yield from self._looked(path)

    def _looked(self, path: Path) -> tuple[Any, ...]:
        name = str(
            path.relative_to(self.folder) if self.folder and path.is_relative_to(self.folder) else path
        )
        if not path.exists() and not any(name.startswith(known) for known in self.missing):
            self.missing[name] = ""
        return ()


def missing_data(tasks: Sequence[Task], folder: Path | None) -> list[str]:
    """Return a line for each place that lacking data come from: what they are, which tasks need them.

    A layout is asked to read a home in which every file is empty, so that it names file after file; that it
    then complains of emptiness says nothing. What is wrong inside of files shows when the task runs.
    """
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for task in tasks:
        home = Looking(folder)
        with suppress(Exception):  # of data that are empty on purpose, whatever it is
            task.data.read(home)
        for name, obtain in home.missing.items():
            names, needed = found.setdefault(obtain, ({}, {}))
            names[name] = needed[task.name] = None
    where = f"in {folder}" if folder else "here (no folder was named)"
    return [
        f"data not {where}: {', '.join(names)}; needed by {', '.join(needed)}"
        + (f"; {obtain}" if obtain else "")
        for obtain, (names, needed) in found.items()
    ]
