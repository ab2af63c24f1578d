"""Find data sets by name: in a local folder, in the hub's cache, or on the hub."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from sciprism.datasets import hub
from sciprism.datasets.rows import DataFile, IdConverter
from sciprism.drop_report import DropReport
from sciprism.errors import InputError


class DataRoot:
    """Find data by name and record which files were read, for the provenance of results.

    Hub data sets are searched for in the local folder (as `owner/name/config`, `name/config` or `config`),
    then in the hub's cache, then on the hub. Rows are read one by one: memory does not grow with file size.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder) if folder is not None else None
        self._read: dict[str, str] = {}

    def local(self, name: str, obtain: str = "") -> Path:
        """Return a folder or file of the local data. Raises InputError where it does not exist.

        obtain: how to get the data, for the message.
        """
        path = Path(name) if Path(name).is_absolute() else (self.folder or Path()) / name
        if not path.exists():
            where = f"in {self.folder}" if self.folder else "here; pass --data or set SCIPRISM_DATA"
            raise InputError(f"the data {name!r} are not {where}{f'; {obtain}' if obtain else ''}")
        return path

    def find_local_split(self, repo: str, config: str, *, split: str) -> list[Path]:
        """Return the files of a hub data set's split in the local folder, or an empty list."""
        if self.folder is None:
            return []
        bases = [self.folder / repo, self.folder / repo.rpartition("/")[2]]
        if config not in ("", "default", split):  # such a folder name could be any data set's
            bases.append(self.folder)
        for base in dict.fromkeys(bases):
            # Files in the config's folder; of the data set's own folder, also those at its top and in data/.
            top = base != self.folder
            names = [path.name for path in base.iterdir() if path.is_file()] if top and base.is_dir() else []
            for part in dict.fromkeys((config, "data")) if top else (config,):
                if part and (base / part).is_dir():
                    names += [f"{part}/{name}" for name in hub.list_files(base / part)]
            if found := hub.select_files(names, config, split):
                return [base / name for name in found]
        return []

    def rows(
        self, repo: str, config: str, *, split: str, revision: str = "", dropped: DropReport | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of one split of a hub data set, every id as text.

        dropped: counts ids whose type differs from the first one of their column. Raises InputError, with
        the download command, where the split cannot be found.
        """
        found = self.find_local_split(repo, config, split=split) or hub.find_cached_split(repo, config, split, revision)
        if not found:
            try:
                found = hub.fetch_split(repo, config, split, revision)
            except InputError as error:
                what = f"config {config!r}, split {split!r}"
                include = "" if config in ("", "default", split) else f"{config}/*"
                raise InputError(self._missing(repo, what, include, revision, error)) from error
        ids = IdConverter(dropped)
        for path in found:
            for row in self.records(path):
                yield ids.row(row)

    def file(self, repo: str, path: str, *, revision: str = "", names: tuple[str, ...] = ()) -> Path:
        """Return one file of a hub data set.

        names: its other names in a local folder, where it may also be gzipped.
        """
        if self.folder is not None:
            places = (self.folder / repo, self.folder / repo.rpartition("/")[2])
            for place, name, ending in product(places, (path, *names), ("", ".gz")):
                if (place / f"{name}{ending}").is_file():
                    return place / f"{name}{ending}"
        try:
            return hub.fetch_file(repo, path, revision)
        except InputError as error:
            raise InputError(self._missing(repo, f"the file {path}", path, revision, error)) from error

    def records(self, path: Path) -> Iterator[dict[str, Any]]:
        """Yield the objects of a JSON-lines file or JSON list, or the rows of a CSV, TSV or Parquet file.

        All but Parquet may be gzipped. Raises InputError with the number of a broken line.
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
    def _open(self, path: Path) -> Iterator[DataFile]:
        """Open a data file, record its hash on exit. Raises InputError where it is damaged or not UTF-8."""
        file = DataFile(path)
        try:
            yield file
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not UTF-8 ({error.reason}); save it as UTF-8") from None
        except csv.Error as error:
            raise InputError(f"{path}: not a table ({error}); check its quotes") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{path}: the gzip file is damaged ({error}); download it again") from None
        finally:
            self._read[self._name(path)] = file.finish()

    def _missing(self, repo: str, what: str, include: str, revision: str, error: InputError) -> str:
        folder = self.folder or Path("DATA")
        command = f"hf download {repo} --repo-type dataset --local-dir {folder / repo}"
        command += f" --include '{include}'" if include else ""
        command += f" --revision {revision}" if revision else ""
        then = "" if self.folder else f", then pass --data {folder}"
        return (
            f"{repo}, {what}: not {f'in {self.folder}' if self.folder else 'in a local folder'}, not in the "
            f"hub's cache, and the download failed ({error}). On a machine with a network: {command}{then}"
        )

    def _name(self, path: Path) -> str:
        if self.folder and path.is_relative_to(self.folder):
            return str(path.relative_to(self.folder))
        if "snapshots" in path.parts:  # the hub's cache: datasets--owner--name/snapshots/commit/file
            place = path.parts.index("snapshots")
            owner = path.parts[place - 1].removeprefix("datasets--").replace("--", "/")
            return f"{owner}@{path.parts[place + 1]}/{'/'.join(path.parts[place + 2 :])}"
        return str(path)
