"""Find data sets by name, in a local folder, in the hub's cache, or on the hub, and read the rows of their files.

The data sets that the suites read, their owners and licences are in `published.toml`; `fetching` fetches them.
"""

from __future__ import annotations

import io
import re
import tomllib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from sciprism.errors import AbsentDataError, InputError
from sciprism.files import sha256
from sciprism.hub import ask_hub
from sciprism.papers.input_file import InputFile
from sciprism.papers.rows import JsonLayout, parse_json, read_named_rows

Row = dict[str, Any]

CHUNK = 1 << 20
_KEYED = JsonLayout(keyed=True)


class DataFile(InputFile):
    """A data file, whose text is as it is."""

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (line number from 1, line without its end)."""
        for number, line in enumerate(self._decoded(), 1):
            yield number, line.rstrip("\r\n")

    def chunks(self, size: int = CHUNK) -> Generator[str, None, None]:
        """Yield the text in pieces."""
        text = self._decoded()
        yield from iter(lambda: text.read(size), "")

    def _decoded(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(self.binary(), encoding="utf-8-sig")


_ID = re.compile(r"(?:.*[_-])?id|pid|clicked_pid|papers", re.IGNORECASE)


def as_id(value: Any) -> str:
    """Return an id as text: 17 and 17.0 as "17", None as an empty text."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def convert_ids(row: Row) -> Row:
    """Return a row with every id field, also of nested objects, as text."""
    return {key: _convert(key, value) for key, value in row.items()}


def _convert(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return convert_ids(value)
    if isinstance(value, list):
        return [_convert(key, item) for item in value]
    return as_id(value) if value is not None and _ID.fullmatch(key) else value


MANIFEST = Path(__file__).with_name("published.toml")
_LIST = JsonLayout(list_keys=())


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFile:
    """One download. name: how the converter knows it. checksum: "sha256:..." or "md5:...", "" where it is unknown.

    fixed: False for an archive that its server makes anew for each request, whose bytes may differ.
    """

    url: str
    name: str
    checksum: str = ""
    size: int | None = None
    fixed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedData:
    """A data set of the manifest: its owner, licence, files and converter.

    suites: that read it. needs: data sets that its tasks read too. members: patterns of an archive's files. hub: its
    name is one on the hub. by_hand: how a person gets it, where it cannot be fetched.
    """

    name: str
    what: str
    owner: str
    home: str
    licence: str
    suites: tuple[str, ...]
    needs: tuple[str, ...] = ()
    files: tuple[PublishedFile, ...] = ()
    converter: str = ""
    members: tuple[str, ...] = ()
    hub: bool = False
    note: str = ""
    by_hand: str = ""

    @property
    def size(self) -> int | None:
        """Return the bytes to download, None where they are not known of each file."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if len(sizes) == len(self.files) > 0 else None

    @property
    def obtain(self) -> str:
        """Return how the data are obtained, for messages."""
        return self.by_hand or f"get them with: sciprism data fetch {self.name} -o FOLDER"


def read_manifest() -> Mapping[str, PublishedData]:
    """Return name -> data set of the manifest."""
    return _read_manifest(MANIFEST)


@cache
def _read_manifest(path: Path) -> Mapping[str, PublishedData]:
    manifest: dict[str, PublishedData] = {}
    for key, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
        names, base, files = table.pop("names", [key]), table.pop("base", ""), []
        for file in table.pop("files", ()):
            url = base + file["url"]
            files.append(PublishedFile(**{"name": url.rstrip("/").rpartition("/")[2], **file, "url": url}))
        facts: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in table.items()
        }
        manifest |= {name: PublishedData(name=name, files=tuple(files), **facts) for name in names}
    return manifest


def select_data(names: Iterable[str]) -> list[PublishedData]:
    """Return the data sets of suites, and those named with what their tasks read too. InputError for another name."""
    known = read_manifest()
    suites = {suite for data in known.values() for suite in data.suites}
    selected: dict[str, PublishedData] = {}
    for name in names:
        suite = name.partition("/")[0]
        if suite in suites and (suite == name or name not in known):  # "open/quick" reads what "open" reads
            chosen = [data for data in known.values() if suite in data.suites]
        elif name in known:
            chosen = [known[name], *(known[other] for other in known[name].needs)]
        else:
            near = get_close_matches(name, [*suites, *known], n=3)
            advice = f"did you mean {' or '.join(near)}?" if near else f"suites: {', '.join(sorted(suites))}"
            raise InputError(f"{name!r} is neither a suite nor a data set of the manifest; {advice}")
        selected |= {data.name: data for data in chosen}
    return list(selected.values())


class DataRoot:
    """Find data by name and record which files were read, for the provenance of results.

    Hub data sets are searched for in the local folder (as `owner/name/config`, `name/config` or `config`),
    then in the hub's cache, then on the hub. Rows are read one by one: memory does not grow with file size.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder) if folder is not None else None
        self._read: dict[str, str] = {}

    def local(self, name: str, obtain: str = "") -> Path:
        """Return a folder or file of the local data. Raises AbsentDataError where it does not exist.

        obtain: how to get the data, for the message.
        """
        path = Path(name) if Path(name).is_absolute() else (self.folder or Path()) / name
        if not path.exists():
            where = f"in {self.folder}" if self.folder else "here; pass --data or set SCIPRISM_DATA"
            if not obtain and name and (data := read_manifest().get(Path(name).parts[0])):
                obtain = data.obtain.replace("FOLDER", str(self.folder or "FOLDER"))
            error = InputError if Path(name).is_absolute() else AbsentDataError  # a custom task names its files
            raise error(f"the data {name!r} are not {where}{f'; {obtain}' if obtain else ''}")
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
                    names += [f"{part}/{name}" for name in list_files(base / part)]
            if selected := select_files(names, config, split):
                return [base / name for name in selected]
        return []

    def rows(self, repo: str, config: str, *, split: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of one split of a hub data set, every id as text.

        Raises AbsentDataError, with the download command, where the split cannot be found.
        """
        paths = self.find_local_split(repo, config, split=split) or find_cached_split(repo, config, split)
        if not paths:
            try:
                paths = fetch_split(repo, config, split)
            except InputError as error:
                what = f"config {config!r}, split {split!r}"
                include = "" if config in ("", "default", split) else f"{config}/*"
                raise AbsentDataError(self._missing(repo, what, include, error)) from error
        for path in paths:
            yield from map(convert_ids, self.records(path))

    def file(self, repo: str, path: str, *, names: tuple[str, ...] = ()) -> Path:
        """Return one file of a hub data set.

        names: its other names in a local folder, where it may also be gzipped.
        """
        from huggingface_hub import try_to_load_from_cache

        if self.folder is not None:
            for place in (self.folder / repo, self.folder / repo.rpartition("/")[2]):
                if local := find_file(place, path, *names):
                    return local
        try:
            cached = try_to_load_from_cache(repo, path, repo_type="dataset")
            return Path(cached) if isinstance(cached, str) else _download(repo, path)
        except InputError as error:
            raise AbsentDataError(self._missing(repo, f"the file {path}", path, error)) from error

    def records(self, path: Path) -> Iterator[dict[str, Any]]:
        """Yield the objects of a JSON-lines file or JSON list, or the rows of a CSV, TSV or Parquet file.

        All but Parquet may be gzipped. Raises InputError with the number of a broken line.
        """
        return (row for _, row in self.located_records(path))

    def located_records(self, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield place, such as "FILE, line 3", and record of a file as `records` reads it."""
        with self._open(path) as file:
            yield from ((f"{path}, {place}", row) for place, row in read_named_rows(file, json=_LIST))

    def members(self, path: Path) -> Iterator[tuple[str, Any]]:
        """Yield (key, value) of a JSON file that is one object keyed by id, however long."""
        with self._open(path) as file:
            if not file.head().lstrip().startswith("{"):
                raise InputError(f"{path}: expected one JSON object keyed by id")
            for number, line, member, reason in parse_json(file, _KEYED):
                if not isinstance(member, tuple):
                    raise InputError(f"{path}, record {number} (line {line}): {reason or 'not a member of an object'}")
                yield member

    def lines(self, path: Path) -> Iterator[tuple[int, str]]:
        """Yield (line number from 1, line without its end) of a text file, also gzipped."""
        with self._open(path) as file:
            yield from file.lines()

    def provenance(self) -> dict[str, str]:
        """Return name -> sha256 of every file read so far."""
        return dict(self._read)

    @contextmanager
    def _open(self, path: Path) -> Iterator[DataFile]:
        """Open a data file, and record its hash. Raises InputError where it is damaged or not UTF-8."""
        try:
            yield DataFile(path)
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not UTF-8 ({error.reason}); save it as UTF-8") from None
        finally:
            if (name := self._name(path)) not in self._read and path.is_file():
                self._read[name] = sha256(path)

    def _missing(self, repo: str, what: str, include: str, error: InputError) -> str:
        folder = self.folder or Path("DATA")
        command = f"hf download {repo} --repo-type dataset --local-dir {folder / repo}"
        command += f" --include '{include}'" if include else ""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedData:
    """Data with the SHA-256 of each of their files: results hold for these contents and no others.

    data: their layout. settings: the layout's settings as in the TOML file, as JSON. The location of the files on a
    machine is not part of the declaration.
    """

    data: Any = field(compare=False)
    settings: str
    files: tuple[tuple[str, str], ...]

    def read(self, data_root: DataRoot) -> Any:
        """Return what the layout reads."""
        return self.data.read(data_root)


LOCAL = ("folder", "folders", "data", "path", "signatures", "name")


def describe_needed_data(layout: Any) -> tuple[str, str]:
    """Return the hub ids or the folder that a layout reads, "hub BeIR/scifact", and how to obtain them, if known."""
    repos, paths = _find_needed_data(layout)
    where = ", ".join(f"hub {repo}" for repo in repos) or " or ".join(paths)
    return where, dict(_walk(layout)).get("obtain", "")


def list_needed_data(layout: Any) -> list[str]:
    """Return what a layout reads, by its names in the manifest: hub ids, else names in the data folder."""
    repos, paths = _find_needed_data(layout)
    return repos or [path.partition("/")[0] for path in paths]


def _find_needed_data(layout: Any) -> tuple[list[str], list[str]]:
    """Return the hub ids and the local paths that a layout names."""
    values = {name: value for name, value in _walk(layout) if value}
    repos = [values[name] for name in ("repo", "texts_repo", "labels_repo") if name in values]
    if "owner" in values:
        repos.append(f"{values['owner']}/{values['name']}")
    local = next((values[name] for name in LOCAL if name in values), ())
    return list(dict.fromkeys(repos)), [local] if isinstance(local, str) else list(local)


def _walk(layout: Any) -> list[tuple[str, Any]]:
    settings: list[tuple[str, Any]] = []
    for setting in fields(layout):
        value = getattr(layout, setting.name)
        if is_dataclass(value):
            settings = [*_walk(value), *settings]
        elif isinstance(value, str | tuple):
            settings.append((setting.name, value))
    return settings


REVISIONS = (None, "refs/convert/parquet")
"""Of a data set on the hub: its own files, and the hub's Parquet copy of one in another format or made by a script."""

_ENDINGS = ("parquet", "jsonl", "jsonl.gz", "json", "json.gz", "csv", "csv.gz", "tsv", "tsv.gz")
_SYNONYMS = {"dev": ("validation", "val"), "validation": ("dev", "val")}


def select_files(files: Sequence[str], config: str, split: str) -> list[str]:
    """Return the files of one split of one config, in order; an empty list where there are none.

    files: paths inside the data set, with "/". In order of preference:
    `<config>/<split>-0000i-of-0000n.parquet`, `<config>/<split>/0000.parquet`, and one file named after the
    split. The files of an only config may be in `data/` or at the top. `dev` and `validation` are synonyms.
    Raises InputError where parts of a split are missing.
    """
    here = sorted(files)
    for name in (split, *_SYNONYMS.get(split, ())):
        folders = [f"{config}/"] if config else []
        folders += ["data/", ""] if config in ("", "default", name) else []
        for start in (f"{folder}{name}" for folder in folders):
            numbered = re.compile(rf"{re.escape(start)}-\d{{5}}-of-(\d{{5}})\.parquet")
            if parts := list(filter(None, map(numbered.fullmatch, here))):
                wanted = max(int(part[1]) for part in parts)
                same = [part[0] for part in parts if int(part[1]) == wanted]
                if len(same) != wanted:
                    raise InputError(f"{len(same)} of {wanted} parts of {start} are here; download the others too")
                return same
            if pieces := [file for file in here if re.fullmatch(rf"{re.escape(start)}/\d{{4}}\.parquet", file)]:
                return pieces
            if named := next((file for ending in _ENDINGS if (file := f"{start}.{ending}") in here), ""):
                return [named]
    return []


def find_file(folder: Path, *names: str) -> Path | None:
    """Return the first of these files that a folder has, plain or gzipped, or None."""
    paths = (folder / f"{name}{end}" for name in names for end in ("", ".gz"))
    return next((path for path in paths if path.is_file()), None)


def require_data_file(folder: Path, *names: str, obtain: str = "") -> Path:
    """Return the same file. Raises InputError that lists what the folder has, and says how to obtain the data."""
    path = find_file(folder, *names)
    if path is None:
        raise InputError(f"{folder} has no {names[0]}; it contains {list_names(folder)}{obtain and f'; {obtain}'}")
    return path


def list_names(folder: Path) -> str:
    """Return the names of what a folder has, for messages."""
    return ", ".join(sorted(path.name for path in folder.iterdir()) if folder.is_dir() else ()) or "nothing"


def list_files(folder: Path) -> list[str]:
    """Return the paths of all files in a folder, "/" between the names."""
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def find_cached_split(repo: str, config: str, split: str) -> list[Path]:
    """Return the files of a split if all of them are in the hub's cache, else an empty list."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    for revision in REVISIONS:
        # The folder may be incomplete: InputError where an earlier download was interrupted.
        with suppress(LocalEntryNotFoundError, HFValidationError, InputError):
            folder = Path(snapshot_download(repo, repo_type="dataset", revision=revision, local_files_only=True))
            names = select_files(list_files(folder), config, split)
            # Names such as 0003.parquet state no total; downloads go from last to first, so 0000 completes them.
            if names and (names[0].endswith("/0000.parquet") or not re.search(r"/\d{4}\.parquet$", names[0])):
                return [folder / name for name in names]
    return []


def fetch_split(repo: str, config: str, split: str) -> list[Path]:
    """Download the files of a split from the hub and return them. Raises InputError with the reason."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RevisionNotFoundError

    for revision in REVISIONS:
        with ask_hub(), suppress(RevisionNotFoundError):  # the hub has made no copy
            files = HfApi().list_repo_files(repo, repo_type="dataset", revision=revision)
            if names := select_files(files, config, split):
                return sorted(_download(repo, name, revision) for name in reversed(names))
    raise InputError(f"{repo} has no files for config {config!r}, split {split!r}")


def _download(repo: str, path: str, revision: str | None = None) -> Path:
    from huggingface_hub import hf_hub_download

    with ask_hub():
        return Path(hf_hub_download(repo, path, repo_type="dataset", revision=revision))
