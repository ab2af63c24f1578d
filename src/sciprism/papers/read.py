"""Read papers or labels from files, folders and standard input, in any known format, and abstracts that papers lack."""

from __future__ import annotations

import json
import re
import sqlite3
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from sciprism.drop_report import DropReport, count_noun
from sciprism.errors import InputError, ShownWarning
from sciprism.limits import describe_excess, limit
from sciprism.papers.bibliographic_fields import find_year
from sciprism.papers.cleaning import clean_id, clean_label, clean_name, clean_paper
from sciprism.papers.identity import find_containers, hash_text, identify, list_names
from sciprism.papers.input_file import BadRecord, FilePath, InputFile, ReadOptions
from sciprism.papers.input_paths import FilePiece, InputPart, InputPath, Paths, file_size, find_paths, list_files
from sciprism.papers.records import Deletion, Label, Paper, Place
from sciprism.papers.rows import guess_columns

if TYPE_CHECKING:
    from sciprism.papers.readers.registry import FileFormat

Record = TypeVar("Record", Paper, Label)

MAX_DETAILED = 1000  # skipped records that are kept with their reasons; all are counted
_XML_ROOT = re.compile(r"\s*(?:<[?!][^>]*>\s*)*<([A-Za-z_][\w:.-]*)[\s/>]")
_MAX_QUOTED = 160  # characters of a file in no known format
_NO_OPTIONS = ReadOptions()
# Columns by which dumps are divided into folders. `date` and `source` are when and whence a dump was made.
_FOLDER_COLUMNS = {
    "year": "year publicationyear pubyear publishedyear publicationdate",
    "venue": "venue journal conference",
    "fields": "field fields fieldofstudy fieldsofstudy category subject",
}


@dataclass(slots=True)
class FileReport:
    """Counts of one file; `papers` counts labels where labels are read, `deletions` the papers that it takes out.

    unread_columns: headers of a table whose cells are of no field of a paper.
    """

    path: str
    format: str = ""
    papers: int = 0
    skipped: int = 0
    note: str = ""
    deletions: int = 0
    unread_columns: tuple[str, ...] = ()


@dataclass(slots=True)
class ReadReport:
    """Counts of every file; filled while records are read, complete after the last record.

    `skipped` has the place and the reason of records that were not used, `ignored` counts files of folders that no
    reader recognizes.
    """

    files: list[FileReport] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    ignored: int = 0

    @property
    def papers(self) -> int:
        """Count the records of all files."""
        return sum(file.papers for file in self.files)

    @property
    def deletions(self) -> int:
        """Count the deletions of all files."""
        return sum(file.deletions for file in self.files)

    @property
    def skipped_count(self) -> int:
        """Count all skipped records, also those beyond the first `MAX_DETAILED`."""
        return sum(file.skipped for file in self.files)


def read_papers(
    paths: Paths,
    *,
    reader: str = "",
    options: ReadOptions = _NO_OPTIONS,
    skip_bad: bool = False,
    report: ReadReport | None = None,
    part: InputPart | None = None,
) -> Iterator[Paper]:
    """Yield the papers of all files in the order given; folders and patterns are read in sorted order.

    `-` is standard input; `FILE#PART` is one sheet of a workbook, or a part of `zotero.sqlite`; a path with `*`, `?`
    or `**` stands for the files that it matches, a snapshot's manifest for those that it lists. `s3://`, `gs://` and
    `https://` addresses are read as paths are. `reader` names the format where it cannot be recognized. A bad
    record raises InputError; with `skip_bad` it is counted and listed in `report`. A file that is not UTF-8 is a
    warning unless `options.encoding` says what it is. Papers know their place. part: read only this part.
    Deletions that a data set states are counted in `report`; `read_changes` yields them.

    >>> from sciprism import read_papers
    >>> papers = list(read_papers("examples/landmarks/landmarks.bib"))
    >>> len(papers), papers[0].title
    (286, 'Philosophiæ Naturalis Principia Mathematica')
    """
    changes = read_changes(paths, reader=reader, options=options, skip_bad=skip_bad, report=report, part=part)
    return (record for record in changes if isinstance(record, Paper))


def read_changes(
    paths: Paths,
    *,
    reader: str = "",
    options: ReadOptions = _NO_OPTIONS,
    skip_bad: bool = False,
    report: ReadReport | None = None,
    part: InputPart | None = None,
) -> Iterator[Paper | Deletion]:
    """Yield papers and deletions in the order of the input; everything else as in `read_papers`.

    Of several records with one id the last counts: `LastRecords` selects those.
    """
    from sciprism.papers.readers.registry import paper_readers

    report = report or ReadReport()
    return _RecordStream(paper_readers, clean_paper, reader, options, skip_bad, report, part).read(paths)


def list_paper_files(paths: Paths, *, reader: str = "", options: ReadOptions = _NO_OPTIONS) -> list[InputFile]:
    """List the files that `read_papers` would read, in its order. Raises InputError as it does."""
    from sciprism.papers.readers.registry import paper_readers

    return _RecordStream(paper_readers, clean_paper, reader, options, False, ReadReport()).list_files(paths)


def read_labels(
    paths: Paths,
    *,
    reader: str = "",
    options: ReadOptions = _NO_OPTIONS,
    skip_bad: bool = False,
    report: ReadReport | None = None,
) -> Iterator[Label]:
    """Yield the labels of all vocabulary files; everything else as in `read_papers`."""
    from sciprism.papers.readers.registry import label_readers

    stream = _RecordStream(label_readers, clean_label, reader, options, skip_bad, report or ReadReport())
    return (record for record in stream.read(paths) if isinstance(record, Label))


@dataclass(frozen=True, slots=True)
class _RecordStream(Generic[Record]):
    """One call of `read_papers` or `read_labels`.

    formats, clean: those of papers, or of labels. The rest are the arguments of the call.
    """

    formats: Mapping[str, FileFormat[Record]]
    clean: Callable[[Record], Record]
    reader: str
    options: ReadOptions
    skip_bad: bool
    report: ReadReport
    part: InputPart | None = None
    prefixed: dict[str, FilePath] = field(default_factory=dict)  # file name before an id -> the file

    def read(self, paths: Paths) -> Iterator[Record | Deletion]:
        """Check reader and paths at once; return an iterator over their records."""
        return self._read_all(self._find_paths(paths))

    def list_files(self, paths: Paths) -> list[InputFile]:
        """Return the files of these paths. Raises InputError where two would give their papers the same ids."""
        files = self._expand(self._find_paths(paths))
        for file, name in files:
            self._find_prefix(file.path, name)
        return [file for file, _ in files]

    def _find_paths(self, paths: Paths) -> list[InputPath]:
        """Check the reader; return paths that exist, with the part that is read of each."""
        if self.reader:
            self.formats[self.reader]  # raises InputError for an unknown name
        return find_paths(paths)

    def _expand(self, paths: list[InputPath]) -> list[tuple[InputFile, str]]:
        """Return the files of all paths, each with its name in the folder that was named."""
        found = list(list_files(paths, self.options.encoding, self._is_readable))
        self.report.ignored += sum(file is None for file, _ in found)
        return [(file, name) for file, name in found if file is not None]

    def _read_all(self, paths: list[InputPath]) -> Iterator[Record | Deletion]:
        files = self._expand(paths)
        pieces = self.part.divide([file_size(file.path) for file, _ in files]) if self.part else repeat(FilePiece())
        for (file, name), piece in zip(files, pieces, strict=False):
            if piece is not None:
                yield from self._read_file(file, name, piece)

    def _is_readable(self, file: InputFile) -> bool:
        """Say whether a file of a folder holds records: a README.md that quotes one does not; nor macOS's "._a.bib"."""
        by_suffix: dict[str, int] = self._list_by_suffix(file)
        if file.name.startswith(".") or not (by_suffix or file.name.endswith(".txt")):
            return False
        if _is_empty(file):
            return bool(by_suffix)
        if self.reader:
            return self.reader in by_suffix or self.formats[self.reader].recognizes(file.head())
        return self._choose_format(file) != ""

    def _read_file(self, file: InputFile, name: str, piece: FilePiece) -> Iterator[Record | Deletion]:
        """Yield the records of a piece of a file. name: of the file in the folder that was named."""
        counts = FileReport(file.full_name)
        self.report.files.append(counts)
        prefix, number = self._find_prefix(file.path, name), 0
        if file.deletes and _is_empty(file):
            return
        if wrong := self._find_wrong_kind(file):
            self._skip(counts, None, None, wrong, piece)
            return
        counts.format = self.reader or self._choose_format(file)
        if not counts.format:
            names = ", ".join(f"{name} ({' '.join(self.formats[name].suffixes)})" for name in sorted(self.formats))
            element = f" (XML of <{root[1]}>)" if (root := _XML_ROOT.match(file.head())) else ""
            if (head := file.head().lstrip()).startswith(("{", "[")):
                element = f" (JSON that begins {' '.join(head.split())[:_MAX_QUOTED]!r})"
            raise InputError(
                f"{file.path}: not in a known format{element}; known: {names}; `embed --reader NAME` forces one"
            )
        if file.part and not self.formats[counts.format].reads_parts:
            raise InputError(f"{file.path}#{file.part}: a {counts.format} file has no parts; name {file.path} alone")
        columns = _read_folder_columns(file)
        wanted = piece.select(self._count_records(file, counts.format)) if piece.pieces > 1 else None
        unusable, most = 0, limit("unusable")
        try:
            for number, item in enumerate(self.formats[counts.format].read(file, self.options), 1):
                if wanted is not None and number not in wanted:
                    continue
                place = Place(counts.path, number, file.record_line, file.record_version)
                record = item if isinstance(item, BadRecord) else self._finish(item, prefix, place, file.deletes)
                if isinstance(record, BadRecord):
                    if (unusable := unusable + 1) > most:  # in a row
                        raise InputError(f"{place}: {describe_excess('unusable')}")
                    self._skip(counts, record.number, record.line, record.reason)
                    continue
                unusable = 0
                if columns and isinstance(record, Paper):
                    record = replace(record, **{name: columns[name] for name in columns if not getattr(record, name)})
                if isinstance(record, Paper) and record.notice:
                    file.noticed = file.noticed or DropReport()
                    file.noticed.add(record.notice, record.id)
                counts.deletions += isinstance(record, Deletion)
                counts.papers += not isinstance(record, Deletion)
                yield record
        finally:
            counts.note, counts.unread_columns = _describe_repairs(file), file.unread_columns
            _warn_of_choices(file, counts.path)
        if not number and not file.deletes:
            self._skip(counts, None, None, f"no record in it, read as {counts.format}", piece)
        elif file.listed_records not in (None, number):
            listed = f"{file.listed_records:,} in the manifest"
            self._skip(counts, None, None, f"{number:,} records, but {listed}; fetch both again", piece)

    def _count_records(self, file: InputFile, format: str) -> int:
        """Count the records of a file that several parts read, once."""
        counted = self.part.records if self.part else {}
        if file.full_name not in counted:
            whole = InputFile(file.path, encoding=file.chosen_encoding, part=file.part, deletes=file.deletes)
            counted[file.full_name] = sum(1 for _ in self.formats[format].read(whole, self.options))
        return counted[file.full_name]

    def _finish(
        self, item: Record | Deletion, prefix: str, place: Place, deletes: bool
    ) -> Record | Deletion | BadRecord:
        """Clean a record, and put what precedes ids before the id of its file; an unusable one is a BadRecord."""
        if isinstance(item, Paper) and not deletes and not (item.title or item.abstract):  # many are soon skipped
            return BadRecord(place.record or 0, place.line, "no title and no abstract")
        id = clean_name(item.id) if isinstance(item, Label) else clean_id(item.id)  # "" is derived, as from the DOI
        if deletes or isinstance(item, Deletion):
            unnamed = BadRecord(place.record or 0, place.line, "a deletion without id")
            return Deletion(prefix + id, place) if id else unnamed
        record = self.clean(item)
        if isinstance(record, Paper):
            fault = "" if record.title or record.abstract else "no title and no abstract"
            record = replace(record, id=prefix + record.id if id else record.id, place=place)
        else:
            fault = "no id" if not record.id else "" if record.name else "no name"
        return BadRecord(place.record or 0, place.line, fault) if fault else record

    def _find_prefix(self, path: FilePath, name: str) -> str:
        """Return what precedes the ids of one file."""
        if not self.options.ids_per_file:
            return ""
        if str(path) == "-":
            raise InputError("--ids-per-file needs the name of a file, which standard input has not")
        first = self.prefixed.setdefault(name, path)
        if first != path and (not isinstance(first, Path) or not first.samefile(str(path))):
            raise InputError(
                f"{first} and {path} would have the same ids: both are {name}; name the folder that holds both"
            )
        return f"{name}:"

    def _skip(
        self, counts: FileReport, number: int | None, line: int | None, reason: str, piece: FilePiece | None = None
    ) -> None:
        if piece and piece.number:  # of a whole file another part says so
            return
        skipped = f"{Place(counts.path, number, line)}: {reason}"
        if not self.skip_bad:
            raise InputError(f"{skipped}; fix it or pass --skip-bad")
        counts.skipped += 1
        if len(self.report.skipped) < MAX_DETAILED:
            self.report.skipped.append(skipped)

    def _choose_format(self, file: InputFile) -> str:
        """Return the format that suffix and content name, else content alone, else the only one by suffix, else ""."""
        by_suffix: dict[str, int] = self._list_by_suffix(file)
        head = file.head()
        for name in [*by_suffix, *sorted(self.formats.keys() - by_suffix)]:
            if self.formats[name].recognizes(head):
                return name
        longest = max(by_suffix.values(), default=0)
        only = [name for name, length in by_suffix.items() if length == longest]
        return only[0] if len(only) == 1 else ""

    def _find_wrong_kind(self, file: InputFile) -> str:
        """Return what the file is that holds no records; a binary one may be of a format that recognizes it."""
        if _is_empty(file):
            return "the file is empty"
        if not (wrong := file.wrong_kind(binary=False)):
            return ""
        names = [self.reader] if self.reader else self._list_by_suffix(file)
        has_parts = any(self.formats[name].reads_parts for name in names)
        binary = has_parts or any(format.recognizes(file.head()) for format in self.formats.values())
        return file.wrong_kind(binary=True) if binary else wrong

    def _list_by_suffix(self, file: InputFile) -> dict[str, int]:
        """Return formats of the file's suffix -> length of the suffix, the longest (`.csl.json`) first."""
        lengths = {
            name: max(map(len, filter(file.name.endswith, self.formats[name].suffixes)), default=0)
            for name in sorted(self.formats)
        }
        return {name: lengths[name] for name in sorted(lengths, key=lambda name: -lengths[name]) if lengths[name]}


def _is_empty(file: InputFile) -> bool:
    return not file.head().strip("\x00\x1a \t\r\n")


def _read_folder_columns(file: InputFile) -> dict[str, Any]:
    """Return field -> value of the columns in the names of a file's folders, for papers that lack the field."""
    columns = file.folder_columns
    positions = guess_columns([*columns], _FOLDER_COLUMNS) if columns else {}
    texts = {field: [*columns.values()][numbers[0]] for field, numbers in positions.items()}
    values = {field: find_year(text) if field == "year" else text for field, text in texts.items()}
    return {field: (value,) if field == "fields" else value for field, value in values.items() if value}


def _describe_repairs(file: InputFile) -> str:
    """Return how a file was decoded, what was replaced in it, left out and noticed."""
    notes = []
    if file.encoding:
        lines = f" in {count_noun(file.redecoded_lines, 'line')}" if file.redecoded_lines else ""
        notes.append(f"read as {file.encoding}{lines}")
    if file.damaged_characters:
        notes.append(f"{count_noun(file.damaged_characters, 'damaged character')} replaced")
    if file.removed_characters:
        notes.append(f"{count_noun(file.removed_characters, 'control character')} removed")
    if file.omitted:
        counts = ", ".join(count_noun(count, what) for what, count in sorted(file.omitted.items()))
        notes.append(f"not papers: {counts}")
    notes += file.noticed.describe(most=5) if file.noticed else []
    if file.unread_sheets:
        notes.append(f"{count_noun(len(file.unread_sheets), 'other sheet')} not read")
    return ", ".join([*notes, *file.remarks])


def _warn_of_choices(file: InputFile, path: str) -> None:
    """Warn of what was chosen for the user: a guessed encoding, one sheet of several."""
    if file.guessed:
        guess = f"{path}: not UTF-8, read as {file.encoding}, a guess; `embed --encoding NAME` decides"
        warnings.warn(guess, ShownWarning, stacklevel=2)
    if file.unread_sheets:
        names = ", ".join(map(repr, file.unread_sheets))
        choice = f"the first sheet with a title column was read, not {names}; choose one with {path}#SHEET"
        warnings.warn(f"{path}: {choice}", ShownWarning, stacklevel=2)


Given = TypeVar("Given", Paper, Paper | Deletion)

MISSING_ABSTRACT = ("title", "skip", "fail")
"""What becomes of a paper without abstract: its title alone is used, it is skipped, it is an error."""
MAX_YEARS_APART = 2  # years between the versions of one paper, such as a preprint and the article
_BATCH = 10_000
_MAX_CANDIDATES = 100
_TABLES = """
CREATE TABLE abstracts (row INTEGER PRIMARY KEY, abstract TEXT, record TEXT);
CREATE TABLE keys (key INTEGER, row INTEGER);
"""
_FIND = f"SELECT abstract, record FROM keys JOIN abstracts USING (row) WHERE key = ? LIMIT {_MAX_CANDIDATES}"


@dataclass(slots=True)
class AbstractReport:
    """Counts of one pass over papers.

    joined: by what abstracts were joined (`doi`, `id`, `title` ...). missing: papers that stay without abstract, by
    reason. skipped: those of them that were not used.
    """

    joined: Counter[str] = field(default_factory=Counter)
    missing: DropReport = field(default_factory=DropReport)
    skipped: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return all counts as JSON values."""
        return {"joined": dict(self.joined), "missing": self.missing.to_json(), "skipped": self.skipped}


class AbstractIndex:
    """The abstracts of files by identifier, id and title, in a temporary database: memory stays constant."""

    def __init__(self, paths: Paths) -> None:
        report = ReadReport()
        self._database = sqlite3.connect("")  # of SQLite, in its temporary folder, until it is closed
        self._database.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_TABLES}")
        options = ReadOptions(required_column="abstract")
        self.files: list[FileReport] = report.files
        try:
            count = self._fill(read_papers(paths, options=options, skip_bad=True, report=report))
        except sqlite3.OperationalError as error:
            advice = "the abstracts need as much room as their files; set TMPDIR to another folder"
            raise OSError(f"cannot write the temporary database of abstracts: {error}; {advice}") from error
        if not count:
            raise InputError(f"no abstract in {', '.join(file.path for file in self.files)}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def find(self, paper: Paper) -> tuple[str, str]:
        """Return the abstract of a paper and by what it was found; else "" and why there is none.

        An id counts only where the titles agree, as ids of different files may be equal by chance; a title only
        where the years are near and it has one abstract; both only where no identifier tells the papers apart. An
        identifier counts unless it is of several papers (`find_containers`).
        """
        reason, identity = "not in the file of abstracts", identify(paper)
        for by, key in _list_keys(paper):
            found = self._database.execute(_FIND, [key]).fetchall()
            others = [identify(Paper.from_json(json.loads(row[1]))) for row in found]
            pairs = zip(found, others, strict=True)
            rows = [(*row, other) for row, other in pairs if row[0] and not identity.apart(other)]
            if by not in ("id", "title"):
                if find_containers([identity, *others]):
                    rows, reason = [], "its identifier is of several papers"
            elif not rows:
                reason = "an identifier tells it apart from the paper there" if any(row[0] for row in found) else reason
            elif by == "id":
                rows = [row for row in rows if 0 in (identity.title, row[2].title) or identity.title == row[2].title]
                reason = reason if rows else "its id has another title there"
            else:
                year = identity.year
                near = [row for row in rows if not (year and row[2].year) or abs(row[2].year - year) <= MAX_YEARS_APART]
                rows = [row for row in rows if row[2].year == year] or near
                reason = "its title has several abstracts there" if rows else "its title is of another year there"
                rows = rows if len({row[0] for row in rows}) == 1 else []
            if rows:
                return rows[0][0], by
        return "", reason

    def _fill(self, papers: Iterable[Paper]) -> int:
        count = 0
        for row, paper in enumerate(papers):  # also those without abstract: they may share an identifier
            record = json.dumps(replace(paper, abstract="", references=()).to_json() | {"pages": paper.pages})
            self._database.execute("INSERT INTO abstracts VALUES (?, ?, ?)", (row, paper.abstract, record))
            self._database.executemany("INSERT INTO keys VALUES (?, ?)", [(key, row) for _, key in _list_keys(paper)])
            count += bool(paper.abstract)
            if row % _BATCH == 0:
                self._database.commit()
        self._database.execute("CREATE INDEX by_key ON keys (key, row)")
        self._database.commit()
        return count


class AbstractCompletion:
    """Join abstracts to papers that lack one, and treat those that stay without as `missing` says.

    index: None joins nothing. report: counts of the latest pass. fails: whether a paper without abstract is an error.
    joins: whether there is a file of abstracts.
    """

    def __init__(self, index: AbstractIndex | None = None, *, missing: str = "title") -> None:
        if missing not in MISSING_ABSTRACT:
            raise InputError(f"--missing-abstract {missing!r} must be one of {', '.join(MISSING_ABSTRACT)}")
        self.report = AbstractReport()
        self.fails, self.joins = missing == "fail", index is not None
        self._index, self._missing = index, missing

    def complete(self, papers: Iterable[Given]) -> Iterator[Given]:
        """Yield the papers, and deletions, in their order; a pass begins with new counts."""
        self.report = AbstractReport()
        for paper in papers:
            if isinstance(paper, Deletion) or paper.abstract:
                yield paper
                continue
            abstract, by = self._index.find(paper) if self._index else ("", "no abstract")
            if abstract:
                self.report.joined[by] += 1
                yield replace(paper, abstract=abstract)
                continue
            self.report.missing.add(by, paper.id)
            if self.fails:
                advice = "add it, give --abstracts FILE, or take the title alone with --missing-abstract title"
                raise InputError(f"{paper.place or 'input'}: paper {paper.id!r} has no abstract; {advice}")
            if self._missing == "title":
                yield paper
            else:
                self.report.skipped += 1


@contextmanager
def open_abstracts(
    files: Sequence[str], missing: str = "title", on_read: Callable[[list[FileReport]], object] = lambda _files: None
) -> Iterator[AbstractCompletion]:
    """Read files of abstracts, and yield what joins them to papers. on_read: is given what became of each file."""
    completion = AbstractCompletion(missing=missing)  # refuses an unknown choice before files are read
    if not files:
        yield completion
        return
    with AbstractIndex(list(files)) as index:
        on_read(index.files)
        yield AbstractCompletion(index, missing=missing)


def _list_keys(paper: Paper) -> list[tuple[str, int]]:
    """Return by what a paper can be found, and the key: SQLite's integers have a sign."""
    return [(by, hash_text(f"{by}:{name}") - 2**63) for by, name in list_names(paper)]
