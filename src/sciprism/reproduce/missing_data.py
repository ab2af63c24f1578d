"""List the data files that some tasks need and that are missing, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.task import Task


class MissingDataRecorder(DataRoot):
    """A data root that reads no records, only looks for files and records the missing ones.

    missing: name of a file or folder -> how to get it.
    """

    def __init__(self, folder: Path | None) -> None:
        super().__init__(folder)
        self.missing: dict[str, str] = {}

    def local(self, name: str, obtain: str = "") -> Path:
        """Return the path of a file, present or missing."""
        try:
            return super().local(name, obtain)
        except InputError:
            self.missing[name] = obtain
            return (self.folder or Path()) / name

    def file(self, repo: str, path: str, *, revision: str = "", names: tuple[str, ...] = ()) -> Path:
        """Return the path of a file of the hub, present or missing."""
        try:
            return super().file(repo, path, revision=revision, names=names)
        except InputError as error:
            self.missing[f"{repo}/{path}"] = str(error)
            return (self.folder or Path()) / repo / path

    def rows(
        self, repo: str, config: str, *, split: str, revision: str = "", dropped: DropReport | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield nothing."""
        try:
            next(super().rows(repo, config, split=split, revision=revision, dropped=dropped), None)
        except InputError as error:
            self.missing[f"{repo} {config} {split}"] = str(error)
        yield from ()

    def located_records(self, path: Path) -> Iterator[Any]:
        """Yield nothing."""
        inside = self.folder and path.is_relative_to(self.folder)
        name = str(path.relative_to(self.folder) if self.folder and inside else path)
        if not path.exists() and not any(name.startswith(missing) for missing in self.missing):
            self.missing[name] = ""
        yield from ()

    members = lines = located_records


def list_missing_data(tasks: Sequence[Task], folder: Path | None) -> list[str]:
    """Return a line per source of missing data: the files, and the tasks that need them.

    Each layout reads a data root in which every file is empty, so that it names all its files; its complaints
    about empty data are ignored. Errors inside files appear when the task runs.
    """
    sources: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for task in tasks:
        data_root = MissingDataRecorder(folder)
        with suppress(Exception):  # the data are empty on purpose
            task.data.read(data_root)
        for name, obtain in data_root.missing.items():
            names, needed = sources.setdefault(obtain, ({}, {}))
            names[name] = needed[task.name] = None
    where = f"in {folder}" if folder else "(no folder was given)"
    return [
        f"data missing {where}: {', '.join(names)}; needed by {', '.join(needed)}" + (f"; {obtain}" if obtain else "")
        for obtain, (names, needed) in sources.items()
    ]
