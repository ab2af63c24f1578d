"""Read papers or labels from files, folders and standard input, whatever their formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from sciprism.errors import InputError
from sciprism.papers.cleaning import clean_label, clean_paper
from sciprism.papers.records import Label, Paper
from sciprism.papers.source import BadRecord, ReadOptions, Source

Record = TypeVar("Record")
Item = TypeVar("Item", covariant=True)
Paths = Iterable[str | Path] | str | Path

DETAILED = 1000
"""So many skipped records are kept with their reasons; all are counted."""

_NO_OPTIONS = ReadOptions()


@dataclass(slots=True)
class FileReport:
    """What came out of one file; `papers` counts labels where labels were read."""

    path: str
    format: str = ""
    papers: int = 0
    skipped: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """One record that was not used; the number is None where the whole file was unusable."""

    path: str
    number: int | None
    line: int | None
    reason: str

    def __str__(self) -> str:
        record = "" if self.number is None else f", record {self.number}"
        line = "" if self.line is None else f" (line {self.line})"
        return f"{self.path}{record}{line}: {self.reason}"


@dataclass(slots=True)
class ReadReport:
    """Account for every file; filled while the records are taken, complete when they are all taken.

    `ignored` counts files of folders that no reader recognises.
    """

    files: list[FileReport] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    ignored: int = 0

    @property
    def papers(self) -> int:
        """Count the records of all files."""
        return sum(file.papers for file in self.files)

    @property
    def skipped_count(self) -> int:
        """Count all skipped records, also those beyond the first `DETAILED`."""
        return sum(file.skipped for file in self.files)


def read_papers(
    paths: Paths,
    *,
    reader: str | None = None,
    options: ReadOptions = _NO_OPTIONS,
    skip_bad: bool = False,
    report: ReadReport | None = None,
) -> Iterator[Paper]:
    """Yield the papers of all files in the order given; folders are read in sorted order.

    `-` is standard input. `reader` names the format where it cannot be told. A bad record raises
    InputError; with `skip_bad` it is counted and kept in `report`.
    """
    from sciprism.papers.readers.registry import paper_readers

    kind = _Kind(paper_readers, clean_paper, _paper_fault)
    return _Reading(kind, reader=reader, options=options, skip_bad=skip_bad, report=report).read(paths)


def read_labels(
    paths: Paths,
    *,
    reader: str | None = None,
    options: ReadOptions = _NO_OPTIONS,
    skip_bad: bool = False,
    report: ReadReport | None = None,
) -> Iterator[Label]:
    """Yield the labels of all vocabulary files; everything else as in `read_papers`."""
    from sciprism.papers.label_readers.registry import label_readers

    kind = _Kind(label_readers, clean_label, _label_fault)
    return _Reading(kind, reader=reader, options=options, skip_bad=skip_bad, report=report).read(paths)


class _Reader(Protocol[Item]):
    suffixes: tuple[str, ...]

    def recognises(self, head: str) -> bool: ...

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item | BadRecord]: ...


@dataclass(frozen=True, slots=True)
class _Kind(Generic[Record]):
    """What papers and labels do not share: their readers, their cleaning, and what makes one useless."""

    readers: Mapping[str, _Reader[Record]]
    clean: Callable[[Record], Record]
    fault: Callable[[Record], str]


def _paper_fault(paper: Paper) -> str:
    return "" if paper.title or paper.abstract else "no title and no abstract"


def _label_fault(label: Label) -> str:
    if not label.id:
        return "no id"
    return "" if label.name else "no name"


class _Reading(Generic[Record]):
    """One call of `read_papers` or `read_labels`: what was asked for, and the report being written."""

    def __init__(
        self,
        kind: _Kind[Record],
        *,
        reader: str | None,
        options: ReadOptions,
        skip_bad: bool,
        report: ReadReport | None,
    ) -> None:
        if reader is not None:
            kind.readers[reader]  # an unknown name is an error now, not at the first record
        self._kind = kind
        self._reader = reader
        self._options = options
        self._skip_bad = skip_bad
        self._report = ReadReport() if report is None else report

    def read(self, paths: Paths) -> Iterator[Record]:
        """Check at once that everything is there, and return what reads it."""
        listed = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
        for path in listed:
            if str(path) != "-" and not path.exists():
                raise InputError(f"{path}: no such file or folder")
        return self._read_all(listed)

    def _read_all(self, paths: list[Path]) -> Iterator[Record]:
        for path in paths:
            if not path.is_dir():
                yield from self._read_file(Source(path))
                continue
            files = len(self._report.files)
            for inside in sorted(item for item in path.rglob("*") if item.is_file()):
                source = Source(inside)
                if self._wanted(source):
                    yield from self._read_file(source)
                else:
                    self._report.ignored += 1
            if len(self._report.files) == files:
                raise InputError(f"{path}: no file in a known format in this folder; name the files")

    def _wanted(self, source: Source) -> bool:
        """Say whether a file met in a folder is one of ours: a README.md that quotes a record is not."""
        claimed = _claimants(source, self._kind)
        # Hidden ones are a system's notes: a Mac puts a "._refs.bib" beside each refs.bib.
        if source.name.startswith(".") or not (claimed or source.name.endswith(".txt")):
            return False
        if _empty(source):
            return bool(claimed)
        if self._reader is not None:
            return self._reader in claimed or self._kind.readers[self._reader].recognises(source.head())
        return _choose(source, self._kind) is not None

    def _read_file(self, source: Source) -> Iterator[Record]:
        file = FileReport(str(source.path))
        self._report.files.append(file)
        if _empty(source):
            self._skip(file, None, None, "the file is empty")
            return
        file.format = self._reader or _choose(source, self._kind) or _unknown(source, self._kind)
        number = 0
        try:
            items = self._kind.readers[file.format].read(source, self._options)
            for number, item in enumerate(items, 1):
                if isinstance(item, BadRecord):
                    self._skip(file, item.number, item.line, item.reason)
                    continue
                record = self._kind.clean(item)
                if fault := self._kind.fault(record):
                    self._skip(file, number, source.record_line, fault)
                    continue
                file.papers += 1
                yield record
        finally:
            file.note = _note(source)
        if not number:
            self._skip(file, None, None, f"no record in it, read as {file.format}")

    def _skip(self, file: FileReport, number: int | None, line: int | None, reason: str) -> None:
        skipped = Skipped(file.path, number, line, reason)
        if not self._skip_bad:
            raise InputError(f"{skipped}; mend it or pass --skip-bad")
        file.skipped += 1
        if len(self._report.skipped) < DETAILED:
            self._report.skipped.append(skipped)


def _empty(source: Source) -> bool:
    return not source.head().strip("\x00\x1a \t\r\n")


def _choose(source: Source, kind: _Kind[Record]) -> str | None:
    """Return the reader that suffix and content name, else content alone, else the only one by suffix."""
    head = source.head()
    by_suffix = _claimants(source, kind)
    by_content = [name for name, reader in kind.readers.items() if reader.recognises(head)]
    both = [name for name in by_suffix if name in by_content]
    if both or by_content:
        return (both or by_content)[0]
    longest = max(by_suffix.values(), default=0)
    only = [name for name, length in by_suffix.items() if length == longest]
    return only[0] if len(only) == 1 else None


def _claimants(source: Source, kind: _Kind[Record]) -> dict[str, int]:
    """Return the readers that claim the file's suffix with its length, the longest (`.csl.json`) first."""
    lengths = {
        name: max((len(suffix) for suffix in reader.suffixes if source.name.endswith(suffix)), default=0)
        for name, reader in kind.readers.items()
    }
    return {
        name: lengths[name]
        for name in sorted(lengths, key=lengths.__getitem__, reverse=True)
        if lengths[name]
    }


def _unknown(source: Source, kind: _Kind[Record]) -> str:
    known = ", ".join(f"{name} ({' '.join(reader.suffixes)})" for name, reader in kind.readers.items())
    raise InputError(
        f"{source.path}: not in a known format; known: {known}; pass --reader NAME to insist on one"
    )


def _note(source: Source) -> str:
    notes = []
    if source.encoding:
        lines = f" in {_counted(source.foreign_lines, 'line')}" if source.foreign_lines else ""
        notes.append(f"read as {source.encoding}{lines}")
    if source.damaged_characters:
        notes.append(f"{_counted(source.damaged_characters, 'damaged character')} replaced")
    if source.removed_characters:
        notes.append(f"{_counted(source.removed_characters, 'control character')} removed")
    return ", ".join(notes)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
