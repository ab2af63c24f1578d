"""Find input files: paths, folders, patterns, addresses, what manifests and differences of releases list, checksums.

A manifest (OpenAlex, Redshift's UNLOAD, listings of Semantic Scholar) stands for its files. They are read from its own
folder where they lie there, as in a copy of a snapshot, else from the addresses that it states. So does a difference,
the answer of Semantic Scholar's datasets API to `/diffs/START/to/END/papers`, saved as a `.json` file; its files apply
in its order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from os.path import commonprefix
from pathlib import Path
from typing import Any, NamedTuple, Self

import sciprism.papers.remote.objects as objects
from sciprism.errors import InputError
from sciprism.papers.input_file import FilePath, InputFile, SealedFile

MAX_PARTS = 100_000
MARGIN = Fraction(1, 4)  # of a part: what it may have more or less of a file than its share, so that few are cut
_PART = re.compile(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*")


class FilePiece(NamedTuple):
    """Which of how many equal pieces of a file's records, the first with the number 0."""

    number: int = 0
    pieces: int = 1

    def select(self, records: int) -> range:
        """Return the numbers, from 1, of the piece's records in a file of so many."""
        first, last = (place * records // self.pieces for place in (self.number, self.number + 1))
        return range(first + 1, last + 1)


@dataclass(frozen=True, slots=True)
class InputPart:
    """Which part of how many, counted from 1; records: of files of several parts, as far as they were counted."""

    number: int
    count: int
    records: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "2/8". Raises InputError for another form, and for a number that is not of the count."""
        match = _PART.fullmatch(text)
        number, count = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= count <= MAX_PARTS:
            raise InputError(
                f"part {text!r} is not of the form i/n, such as 2/8: the second of eight parts, of at most "
                f"{MAX_PARTS:,}; where a scheduler counts from 0, add 1"
            )
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def divide(self, sizes: Sequence[int]) -> list[FilePiece | None]:
        """Return of each file the piece that this part reads, None of a file that it does not read.

        The files, of these sizes (bytes), are in the order of the input, and so are the pieces of the parts. Parts of
        equal size would each have some bytes of the input: a part reads the files of which at least a quarter of its
        size is there, in equal pieces with the other parts that do. Of a smaller file it reads all or nothing.

        >>> InputPart(1, 2).divide([10, 10, 70, 10])
        [FilePiece(number=0, pieces=1), FilePiece(number=0, pieces=1), FilePiece(number=0, pieces=2), None]
        """
        size_of_part = Fraction(max(sum(sizes), 1), self.count)
        pieces: list[FilePiece | None] = []
        start = 0
        for size in sizes:
            stop = start + size
            first, end = floor(start / size_of_part + MARGIN), ceil(stop / size_of_part - MARGIN)
            if first >= end:  # a small file: the part that has its middle reads it
                first = min(int((start + stop) / 2 / size_of_part), self.count - 1)
                end = first + 1
            inside = first < self.number <= end
            pieces.append(FilePiece(self.number - 1 - first, end - first) if inside else None)
            start = stop
        return pieces


Paths = Iterable[str | Path | SealedFile] | str | Path
InputPath = tuple[FilePath | objects.RemoteFolder, str]
"""A file or folder that exists, and the part that is read of a file."""
_PATTERN = re.compile(r"[*?[]")


def find_paths(paths: Paths) -> list[InputPath]:
    """Return the files and folders of paths, patterns and addresses. Raises InputError where there is none."""
    existing: list[InputPath] = []
    for named in [paths] if isinstance(paths, str | Path) else paths:
        if isinstance(named, SealedFile):
            existing.append((named, ""))
            continue
        if objects.is_address(named):
            existing += _find_address(str(named))
            continue
        for path, part in map(_split_part, _match_pattern(Path(named))):
            if str(path) != "-" and not path.exists():
                raise InputError(f"{path}: no such file or folder")
            existing.append((path, part))
    return existing


def find_local_paths(path: str | Path) -> list[Path]:
    """Return the files and folders of a path or pattern on this machine; none of "", an address, standard input."""
    if objects.is_address(path) or str(path) in ("", "-"):
        return []
    return [_split_part(match)[0] for match in _match_pattern(Path(path))]


def find_file(text: str) -> FilePath:
    """Return the one file of a path or an address."""
    if not objects.is_address(text):
        return Path(text)
    (path, _), *others = _find_address(text)
    if isinstance(path, objects.RemoteFolder) or others:
        raise InputError(f"{objects.show_address(text)}: not one file; name the files")
    return path


def list_files(
    paths: Iterable[InputPath], encoding: str, reads: Callable[[InputFile], bool]
) -> Iterator[tuple[InputFile | None, str]]:
    """Yield the files to read, each with its path below the folder that the user named.

    A folder stands for its files for which `reads` is true; each other file is None. A manifest stands
    for the files that it lists. Raises InputError for a folder without a readable file, and for a manifest whose files
    are missing or of another size.
    """
    for path, part in paths:
        if isinstance(path, objects.RemoteFolder) or (isinstance(path, Path) and path.is_dir()):
            yield from _list_folder(path, encoding, reads)
            continue
        file = InputFile(path, encoding=encoding, part=part)
        yield from ([] if part else _expand_manifest(file)) or [(file, path.name)]


def file_size(path: FilePath) -> int:
    """Return the bytes of a file. Raises InputError for an object whose server does not say it."""
    if not isinstance(path, objects.RemoteObject):
        return path.stat().st_size
    if path.version.size is None:
        raise InputError(f"{path}: the server does not say how long it is, so it cannot be divided; copy it first")
    return path.version.size


def find_stamp(path: FilePath) -> str:
    """Return the time of a file's last change, or what its store says of an object's version."""
    if isinstance(path, objects.RemoteObject):
        return path.version.tag or str(path.version.modified)
    return str(path.stat().st_mtime_ns)


def _find_address(text: str) -> list[InputPath]:
    """Return what an address stands for; `ADDRESS#PART` is a part of an object, where no object has that name."""
    address, mark, part = text.rpartition("#")
    if mark and objects.parse_address(text).startswith(objects.WEB):  # a server never sees what follows the mark
        return [(remote, part) for remote in objects.find_remote(address)]
    try:
        return [(remote, "") for remote in objects.find_remote(text)]
    except objects.MissingObjectError:
        if not mark:
            raise
        return [(remote, part) for remote in objects.find_remote(address)]


def _list_folder(
    path: Path | objects.RemoteFolder, encoding: str, reads: Callable[[InputFile], bool]
) -> Iterator[tuple[InputFile | None, str]]:
    """Yield the readable files of a folder, those of collections excepted: `embed` may write there."""
    inside: dict[str, FilePath]
    if isinstance(path, objects.RemoteFolder):
        inside = dict(path.files)
    else:
        files = sorted((inner for inner in path.rglob("*") if inner.is_file()), key=_reading_order)
        inside = {inner.relative_to(path).as_posix(): inner for inner in files}
    collections = tuple(
        name.removesuffix("manifest.json")
        for name, inner in inside.items()
        if inner.name == "manifest.json" and _is_our_manifest(inner)
    )
    count = 0
    for name, file_path in inside.items():
        file = InputFile(file_path, encoding=encoding)
        if not name.startswith(collections) and reads(file):
            count += 1
            yield file, name
        else:
            yield None, name
    if not count:
        raise InputError(f"{path}: no file in a known format in this folder; name the files")


def _match_pattern(path: Path) -> list[Path]:
    """Return the files and folders that a pattern such as `works/*/part_*.gz` matches, sorted; else the path itself."""
    if not _PATTERN.search(str(path)) or path.exists() or _split_part(path)[1]:
        return [path]
    start = Path(path.anchor)
    matches = start.glob(str(path.relative_to(start)))
    visible = {match for match in matches if not any(name.startswith(".") for name in match.parts)}
    if not visible:
        raise InputError(f"{path}: no file or folder matches this pattern")
    return sorted((match for match in visible if visible.isdisjoint(match.parents)), key=_reading_order)


def _reading_order(path: Path) -> tuple[bool, Path]:
    """Return by what files are sorted: OpenAlex's merged ids come after its works, whose old files may have them."""
    return "merged_ids" in path.parts, path


def _is_our_manifest(path: FilePath) -> bool:
    """Say whether a file is that of a collection: what `embed` writes may lie in the folder of its input."""
    with path.open("rb") as file:
        head = file.read(1 << 12)
    return all(key in head for key in (b'"layout"', b'"encoder"', b'"fingerprint"'))


def _split_part(path: Path) -> tuple[Path, str]:
    """Split `zotero.sqlite#COLLECTION` into the file and what is read of it; other paths have no part."""
    name = str(path)
    if not path.exists():
        for mark in re.finditer("#", name):
            if Path(name[: mark.start()]).is_file():
                return Path(name[: mark.start()]), name[mark.end() :]
    return path, ""


MAX_NAMED = 3  # missing files that a message names
WORKERS = 10  # files that a server is asked for at once
_MANIFEST = re.compile(
    r'"entries"\s*:\s*\[\s*\{[^{}]*(\{[^{}]*\}[^{}]*)?"url"\s*:|"files"\s*:\s*\[\s*"\w+://'
    r'|\A(?=.*"diffs"\s*:\s*\[).*"(?:start|from)_release"\s*:',
    re.DOTALL,
)
DATASET = "papers"  # the data set whose records are papers


class ListedFile(NamedTuple):
    """A file as a manifest lists it: its address or path, its bytes and records if stated, whether it deletes them."""

    url: str
    size: int | None = None
    records: int | None = None
    deletes: bool = False


def _expand_manifest(file: InputFile) -> list[tuple[InputFile, str]]:
    """Return the files that a manifest lists, each with its name below the folder of all; none where it is none.

    Raises InputError where some are missing, or have another size than it states.
    """
    name, head = file.path.name.lower(), file.head() if file.path.is_file() else ""
    is_named = "manifest" in name or name.endswith(".json") or "." not in name
    if not (is_named and head.lstrip().startswith("{") and _MANIFEST.search(head)):
        return []
    try:
        listed = list(_list_files(file.path, json.loads("".join(file.chunks()))))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{file.path}: a manifest that is not valid JSON, or damaged: {error}; fetch it again"
        ) from None
    if not listed:
        return []
    if isinstance(file.path, SealedFile):
        raise InputError(f"{file.path} names other files; only what was sent is read: send the files themselves")
    if repeated := len(listed) - len({entry.url for entry in listed}):
        raise InputError(f"{file.path}: lists {repeated:,} files twice; fetch it again")
    paths = _find_files(file.path, [entry.url for entry in listed])
    missing = [objects.show_address(entry.url) for entry in listed if entry.url not in paths]
    if missing:
        named = ", ".join(missing[:MAX_NAMED]) + (" ..." if len(missing) > MAX_NAMED else "")
        raise InputError(
            f"{file.path}: of {len(listed):,} files that it lists, {len(missing):,} cannot be found "
            f"({named}); fetch them, or a new manifest"
        )
    shared = len(commonprefix([_split(entry.url)[:-1] for entry in listed]))  # noqa: RUF071 (of names, no letters)
    expanded = []
    for entry in listed:
        path = paths[entry.url]
        if entry.size is not None and entry.size != (size := file_size(path)):
            raise InputError(f"{path} has {size:,} bytes, but {entry.size:,} in {file.path}; fetch both again")
        inner = InputFile(path, encoding=file.chosen_encoding, deletes=entry.deletes)
        inner.listed_records = entry.records
        expanded.append((inner, "/".join(_split(entry.url)[shared:])))
    return expanded


def _list_files(path: FilePath, content: dict[str, Any]) -> Iterator[ListedFile]:
    """Yield the files of a manifest or a difference, none of other JSON."""
    entries, files, diffs = content.get("entries"), content.get("files"), content.get("diffs")
    if isinstance(entries, list) and all(entry.keys() <= {"url", "meta", "mandatory"} for entry in entries):
        for entry in entries:
            meta = entry.get("meta") or {}
            listed = ListedFile(entry["url"], meta.get("content_length"), meta.get("record_count"))
            if not isinstance(listed.url, str) or any(not isinstance(number, int | None) for number in listed[1:3]):
                raise TypeError(f"not an entry of a manifest: {json.dumps(entry)[:200]}")
            yield listed
    elif isinstance(files, list) and all(isinstance(url, str) for url in files):
        yield from map(ListedFile, files)
    elif diffs:
        if (dataset := content.get("dataset", DATASET)) != DATASET:
            raise InputError(f"{path} is a difference of the data set {dataset!r}; papers are in {DATASET!r}")
        release = content.get("start_release")
        for diff in diffs:
            if release and diff.get("from_release", release) != release:
                raise InputError(
                    f"{path}: after the release {release} it goes on from {diff['from_release']}; fetch it again"
                )
            release = diff.get("to_release")
            yield from (ListedFile(str(url)) for url in diff.get("update_files") or ())
            yield from (ListedFile(str(url), deletes=True) for url in diff.get("delete_files") or ())


def _find_files(manifest: FilePath, urls: Sequence[str]) -> dict[str, FilePath]:
    """Return url -> file, of those that exist: in the manifest's folder, else at their addresses.

    How much of a path counts there is the same for all: the most with which the first file is found.
    """

    def join(names: Sequence[str]) -> Path | str:
        if isinstance(manifest, objects.RemoteObject):
            return objects.join_address(manifest.address, names)
        return Path(str(manifest)).parent.joinpath(*names)

    parts = {url: _split(url) for url in urls}
    first = parts[urls[0]]
    inside = not any(".." in names for names in parts.values())
    starts = (start for start in range(len(first)) if inside and _find_file(join(first[start:])))
    if (start := next(starts, None)) is not None:
        wanted = {url: join(names[start:]) for url, names in parts.items()}
    else:
        wanted = {url: objects.parse_address(url) for url in urls if objects.is_address(url)}
    with ThreadPoolExecutor(WORKERS) as pool:
        found = zip(wanted, pool.map(_find_file, wanted.values()), strict=True)
        return {url: path for url, path in found if path is not None}


def _find_file(place: Path | str) -> FilePath | None:
    """Return the file at a path or an address, None where there is none."""
    if isinstance(place, Path):
        return place if place.is_file() else None
    try:
        version = objects.find_version(place)
    except objects.MissingObjectError:
        return None
    return objects.RemoteObject(place, version) if version else None


def _split(url: str) -> tuple[str, ...]:
    return objects.split_path(objects.parse_address(url)) if objects.is_address(url) else Path(url).parts
