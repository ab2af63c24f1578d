"""Where the data of tasks lie: a local folder, the hub's cache, the hub."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from sciprism.datasets import hub
from sciprism.datasets.rows import File, TextIds, opened
from sciprism.drop_report import DropReport
from sciprism.errors import InputError


class DataRoot:
    """Find data by name and remember what was read, for the provenance of results.

    Data sets of the hub are looked for in the local folder first (as `owner/name/config`, `name/config` or
    `config`), then in the hub's cache, and only then asked from the hub. Rows come one by one: memory stays
    flat whatever the size of a file.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder) if folder is not None else None
        self._read: dict[str, str] = {}

    def local(self, name: str, obtain: str = "") -> Path:
        """Return a folder or file of the local data. Raises InputError where it is not there.

        obtain: where such data come from, for the message.
        """
        path = Path(name) if Path(name).is_absolute() else (self.folder or Path()) / name
        if not path.exists():
            where = f"in {self.folder}" if self.folder else "here; say where with --data or SCIPRISM_DATA"
            raise InputError(f"the data {name!r} are not {where}{f'; {obtain}' if obtain else ''}")
        return path

    def nearby(self, repo: str, config: str, *, split: str) -> list[Path]:
        """Return the files of a hub data set's split that lie in the local folder, or an empty list."""
        if self.folder is None:
            return []
        bases = [self.folder / repo, self.folder / repo.rpartition("/")[2]]
        if config not in ("", "default", split):  # such a name alone does not say whose data these are
            bases.append(self.folder)
        for base in dict.fromkeys(bases):
            names = _around(base, config, top=base != self.folder)
            if found := hub.pick(names, config, split):
                return [base / name for name in found]
        return []

    def rows(
        self, repo: str, config: str, *, split: str, revision: str = "", tally: DropReport | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of one split of a hub data set, every id as text.

        tally: counts ids whose type differs from the others' in their column. Raises InputError saying how
        to fetch what is neither here nor to be had.
        """
        ids = TextIds(tally)
        for path in self._split(repo, config, split, revision):
            for row in self.records(path):
                yield ids.row(row)

    def file(self, repo: str, path: str, *, revision: str = "", names: tuple[str, ...] = ()) -> Path:
        """Return one file of a hub data set. names: what else it may be called in a local folder.

        There it may be gzipped too.
        """
        if self.folder is not None:
            places = (self.folder / repo, self.folder / repo.rpartition("/")[2])
            endings = ("", ".gz")
            for place, name, ending in product(places, (path, *names), endings):
                if (place / f"{name}{ending}").is_file():
                    return place / f"{name}{ending}"
        try:
            return hub.fetch_file(repo, path, revision)
        except InputError as error:
            raise InputError(self._missing(repo, f"the file {path}", path, revision, error)) from error

    def records(self, path: Path) -> Iterator[dict[str, Any]]:
        """Yield the objects of a JSON-lines file or JSON list, or the rows of a CSV, TSV or Parquet file.

        Also gzipped (but for Parquet). A broken line is an error with its number.
        """
        with self._open(path) as file:
            yield from file.rows()

    def members(self, path: Path) -> Iterator[tuple[str, Any]]:
        """Yield (key, value) of a JSON file that is one object keyed by id, however long."""
        with self._open(path) as file:
            yield from file.members()

    def lines(self, path: Path) -> Iterator[tuple[int, str]]:
        """Yield (line number from 1, line without its end) of a text file, also gzipped."""
        with self._open(path) as file:
            yield from file.lines()

    def provenance(self) -> dict[str, str]:
        """Return name -> sha256 of every file read so far."""
        return dict(self._read)

    @contextmanager
    def _open(self, path: Path) -> Iterator[File]:
        with opened(path) as file:
            try:
                yield file
            finally:
                file.close()
                self._read[self._name(path)] = file.digest

    def _split(self, repo: str, config: str, split: str, revision: str) -> list[Path]:
        found = self.nearby(repo, config, split=split) or hub.cached_split(repo, config, split, revision)
        if found:
            return found
        try:
            return hub.fetch_split(repo, config, split, revision)
        except InputError as error:
            what = f"config {config!r}, split {split!r}"
            include = "" if config in ("", "default", split) else f"{config}/*"
            raise InputError(self._missing(repo, what, include, revision, error)) from error

    def _missing(self, repo: str, what: str, include: str, revision: str, error: InputError) -> str:
        folder = self.folder or Path("DATA")
        command = f"hf download {repo} --repo-type dataset --local-dir {folder / repo}"
        command += f" --include '{include}'" if include else ""
        command += f" --revision {revision}" if revision else ""
        then = "" if self.folder else f", then say --data {folder}"
        return (
            f"{repo}, {what}: not {f'in {self.folder}' if self.folder else 'in a local folder'}, not in the "
            f"hub's cache, and the hub did not give it ({error}). Where there is a network: {command}{then}"
        )

    def _name(self, path: Path) -> str:
        if self.folder and path.is_relative_to(self.folder):
            return str(path.relative_to(self.folder))
        if "snapshots" in path.parts:  # the hub's cache: datasets--owner--name/snapshots/commit/file
            place = path.parts.index("snapshots")
            owner = path.parts[place - 1].removeprefix("datasets--").replace("--", "/")
            return f"{owner}@{path.parts[place + 1]}/{'/'.join(path.parts[place + 2 :])}"
        return str(path)


def _around(base: Path, config: str, *, top: bool) -> list[str]:
    """Return the files of a folder that may belong to a config: its own and, if `top`, those at the top."""
    names = [path.name for path in base.iterdir() if path.is_file()] if top and base.is_dir() else []
    for part in dict.fromkeys((config, "data")) if top else (config,):
        if part and (base / part).is_dir():
            names += [f"{part}/{name}" for name in hub.below(base / part)]
    return names
