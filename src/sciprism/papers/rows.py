"""Rows of any file by the names of their values: JSON of any size, tables (delimiter and columns found), Parquet."""

from __future__ import annotations

import csv
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from itertools import count
from typing import Any

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.limits import LINE_SIZE, describe_excess, limit
from sciprism.papers.bibliographic_fields import find_year
from sciprism.papers.input_file import FilePath, InputFile

JsonObject = Mapping[str, Any]
JsonValue = tuple[int, int | None, Any | None, str]
"""Record number, line, the value or None, and the reason for None (else an empty text)."""

NOT_READ = "record that cannot be read"
MAX_REASON_CHARS = 300  # characters of a reason: it quotes the value, which may be a whole book
# Exporters leave tabs and line ends in strings, and pandas writes NaN for what is missing.
_DECODER = json.JSONDecoder(strict=False, parse_constant={"NaN": None}.get)
_RECORD_KEYS = frozenset(("id", "_id", "title"))  # of what is a record, whatever lists it has
_SPACE = re.compile(r"[ \t\n\r]*")
_OBJECTS = r"[ \t\n\r]*\[[ \t\n\r]*[{\]]"
_NEAR = 1 << 8  # characters in which a list begins, with the space before its first element


@dataclass(frozen=True, slots=True)
class JsonLayout:
    """Where an object holds records: in the list of one of `list_keys`, or (keyed) each under its id.

    containers: objects in which that list may be, as in Crossref's `{"message": {"items": [...]}}`.
    """

    list_keys: tuple[str, ...] = ("results", "items", "data")
    keyed: bool = False
    containers: tuple[str, ...] = ()


ANY_LAYOUT = JsonLayout()


def read_json_values(file: InputFile, layout: JsonLayout = ANY_LAYOUT) -> Iterator[JsonValue]:
    """Yield every record of the file; a broken one has a reason, and ends all but JSON lines.

    A keyed record without an `id` gets its key. Sets `file.record_line`.
    """
    for number, line, value, reason in parse_json(file, layout):
        file.record_line = line
        if isinstance(value, tuple):
            key, record = value
            value = {"id": key, **record} if isinstance(record, dict) else record
        yield number, line, value, reason


def parse_json(source: InputFile, layout: JsonLayout = ANY_LAYOUT) -> Iterator[JsonValue]:
    """Yield every record of a text, as in `read_json_values`; a keyed one is (key, value). One is held at a time."""
    head = source.head()
    if not layout.keyed and _is_json_lines(head, layout):
        return _parse_lines(source)
    return _JsonStream(source.chunks(), layout).records()


def unfold(value: Any, layout: JsonLayout) -> list[Any]:
    """Return the records that a decoded value holds, such as one reply or page in a list of them; else itself."""
    found = None if layout.keyed else _find_records(value, layout)
    return [value] if found is None else found


def _find_records(value: Any, layout: JsonLayout) -> list[Any] | None:
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    if not isinstance(value, dict) or not _RECORD_KEYS.isdisjoint(value):
        return None
    kinds = dict.fromkeys(layout.list_keys, list) | dict.fromkeys(layout.containers, dict)
    inside = (_find_records(inner, layout) for key, inner in value.items() if isinstance(inner, kinds.get(key, ())))
    return next((found for found in inside if found is not None), None)


def _parse_lines(source: InputFile) -> Iterator[JsonValue]:
    filled = ((line, text) for line, text in source.lines() if text and not text.isspace())
    for number, (line, text) in enumerate(filled, 1):
        try:
            yield number, line, _DECODER.decode(text), ""
        except json.JSONDecodeError as error:
            yield number, line, None, f"not valid JSON: {error.msg} (character {error.pos + 1})"
        except (ValueError, RecursionError) as error:  # thousands of digits, endless nesting
            yield number, line, None, f"not valid JSON: {error}"


def _is_json_lines(head: str, layout: JsonLayout) -> bool:
    text = head.lstrip()
    if text.startswith("[") or re.search(rf'"(?:{"|".join(layout.list_keys)})"\s*:{_OBJECTS}', head):
        return False
    first, _, rest = text.partition("\n")
    try:
        _DECODER.decode(first)
    except (ValueError, RecursionError) as error:
        # An object printed over several lines is cut at the end of the first, and its second line does
        # not begin another object.
        position = error.pos if isinstance(error, json.JSONDecodeError) else 0
        return rest.lstrip().startswith("{") or not rest or position < len(first.rstrip())
    return True


class _JsonStream:
    """The records in lists, in objects that hold a list or keyed records, and in consecutive values.

    It holds a window on the text, and the line number of its position in it.
    """

    def __init__(self, chunks: Iterator[str], layout: JsonLayout) -> None:
        self._chunks, self._layout = chunks, layout
        self._number, self._most = count(1), limit("record")
        self._text, self._position, self._line = "", 0, 1

    def records(self) -> Iterator[JsonValue]:
        """Yield all records of the file, up to the first that is broken."""
        try:
            while char := self._peek():
                if char == "[":
                    yield from self._elements("]")
                elif char == "{" and self._layout.keyed:
                    yield from self._elements("}")
                elif char == "{":
                    line = self._line
                    if (members := (yield from self._members())) is not None:
                        yield next(self._number), line, members, ""
                else:
                    line, value = self._line, self._value()
                    yield next(self._number), line, value, ""
        except ValueError as error:
            yield next(self._number), self._line, None, f"not valid JSON: {error}; nothing after this can be read"

    def _elements(self, end: str) -> Iterator[JsonValue]:
        """Yield the elements of a list, or the members of an object, that ends with `end`."""
        self._advance(self._position + 1)
        while (char := self._peek()) != end:
            if not char:
                raise ValueError(f"the file ends before its {'list' if end == ']' else 'object'} is closed")
            if char == ",":
                self._advance(self._position + 1)
                continue
            line = self._line
            value = (self._key(), self._value()) if end == "}" else self._value()
            yield next(self._number), line, value, ""
        self._advance(self._position + 1)

    def _members(self) -> Generator[JsonValue, None, JsonObject | None]:
        """Yield the elements of the list of records in an object; return the object where it has none."""
        members: dict[str, Any] = {}
        is_reply = False
        self._advance(self._position + 1)
        while (char := self._peek()) != "}":
            if char == ",":
                self._advance(self._position + 1)
                continue
            key = self._key()
            may_list = _RECORD_KEYS.isdisjoint(members)
            if may_list and key in self._layout.list_keys and self._starts_objects():
                yield from self._elements("]")
                is_reply = True
            elif may_list and key in self._layout.containers and self._peek() == "{":
                inner = yield from self._members()
                is_reply |= inner is None
                members |= {} if inner is None else {key: inner}
            else:
                members[key] = self._value()
        self._advance(self._position + 1)
        return None if is_reply else members

    def _starts_objects(self) -> bool:
        """Say whether a list of objects begins here, or an empty one."""
        while len(self._text) - self._position < _NEAR and self._read_more():
            pass
        return re.compile(_OBJECTS).match(self._text, self._position) is not None

    def _key(self) -> Any:
        """Decode and skip the key that begins here, and its colon."""
        key = self._value()
        if self._peek() != ":":
            raise ValueError(f"no colon after a key (line {self._line})")
        self._advance(self._position + 1)
        self._peek()
        return key

    def _value(self) -> Any:
        """Decode and skip the value that begins here; more text is read until it has all of it."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._position)
            except json.JSONDecodeError as error:
                cut_off = error.msg.startswith("Unterminated") or error.pos > len(self._text) - 16
                too_long = len(self._text) - self._position > self._most
                if cut_off and not too_long and self._read_more():
                    continue
                line = self._line + self._text.count("\n", self._position, error.pos)
                reason = describe_excess("record") if cut_off and too_long else error.msg
                raise ValueError(f"{reason} (line {line})") from None
            except RecursionError as error:
                raise ValueError(str(error)) from None
            if end < len(self._text) or not self._read_more():  # a number at the end may go on
                self._advance(end)
                return value

    def _peek(self) -> str:
        """Skip white space and return the next character, or an empty text at the end."""
        while True:
            match = _SPACE.match(self._text, self._position)
            self._advance(match.end() if match else self._position)
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._read_more():
                return ""

    def _read_more(self) -> bool:
        """Double the text held, so that a long record is decoded only a few times."""
        held = self._text[self._position :]
        parts, length = [held], 0
        for chunk in self._chunks:
            parts.append(chunk)
            length += len(chunk)
            if length >= len(held):
                break
        self._text, self._position = "".join(parts), 0
        return length > 0

    def _advance(self, position: int) -> None:
        self._line += self._text.count("\n", self._position, position)
        self._position = min(position, len(self._text))


def get_path(value: Any, *keys: str) -> Any:
    """Return the value at the end of a path of keys, or None where a key is missing."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def get_first(row: JsonObject, *keys: str) -> Any:
    """Return the first value among `keys` that is not empty, or None."""
    return next((row[key] for key in keys if row.get(key) not in (None, "", [], {})), None)


def list_texts(value: Any, *keys: str) -> tuple[str, ...]:
    """Return the texts of a list; of an object in it, the first value of `keys` that is not empty.

    A single text is a list of one. Empty and repeated items are dropped; other types raise ValueError.
    """
    if value is None:
        return ()
    texts: dict[str, None] = {}
    for item in value if isinstance(value, list) else [value]:
        name = get_first(item, *keys) if isinstance(item, Mapping) else item
        if isinstance(name, bool) or not isinstance(name, str | int | float | None):
            raise ValueError(f"{name!r} in a list of texts is not a text")
        if name not in (None, ""):
            texts[str(name)] = None
    return tuple(texts)


_NAMES = ("name", "display_name", "title", "value", "subject", "descriptorName", "descriptor_name", "keyword", "DOI")


def list_items(value: Any) -> list[Any]:
    """Return a list as it is, without what is empty; another value as a list of one."""
    return [item for item in (value if isinstance(value, list) else [value]) if item not in (None, "")]


def find_texts(value: Any, path: str) -> tuple[str, ...]:
    """Return the texts at a path of keys ("journal.name"), of lists on the way of all items; of objects their names."""
    found = [value]
    for key in path.split("."):
        items = (item for value in found for item in list_items(value))
        found = [item.get(key) for item in items if isinstance(item, Mapping)]
    return list_texts([text for value in found for text in list_items(value)], *_NAMES)


def first_text(value: Any, *keys: str) -> str:
    """Return a text or a number as text; of a list its first text, of an object the first value of `keys`."""
    return next(iter(list_texts(value, *keys)), "")


def parse_year(value: Any) -> int | None:
    """Return the year in a number or in a text such as `2007-04-02`, or None."""
    if isinstance(value, int | float) and abs(value) < 10_000:
        return int(value)
    return find_year(value) if isinstance(value, str) else None


FIELD_NAMES: dict[str, Any] = tomllib.loads((files(__package__) / "field_names.toml").read_text(encoding="utf-8"))
"""Of papers and labels: field -> the normalized headers of its columns, the best first; and where names vary."""
_DELIMITERS = ("\t", ",", ";", "|")  # a table of one column is read as if between tabs
_MAX_READ_AGAIN = 16  # times the lines of a table, where its quotation marks are not closed
_MAX_HEADER_ROW = 3
BATCH_ROWS = 256  # rows of Parquet in memory
_MAX_COMPARED = 200  # headers that are compared with a name, a tenth of a millisecond each
_EXCEL = re.compile(r"sep=(.)\s*")


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How a table is written: its headers (none in a table without), its delimiter, and where its rows begin."""

    headers: tuple[str, ...]
    delimiter: str
    first_line: int  # counted from 1


def detect_layout(head: str, find_known: Callable[[Sequence[str]], Collection[str]]) -> TableLayout:
    """Choose the delimiter that yields the most known headers, then the most headers.

    find_known: returns the fields that headers name.
    """
    csv.field_size_limit(limit("field"))  # fifty times the longest abstract; more is an unclosed quotation mark
    lines = head.split("\n")
    declared = _EXCEL.fullmatch(lines[0])  # Excel's own first line
    filled = (n for n, line in enumerate(lines) if line.strip() and (n > 0 or not declared))
    skipped = next(filled, len(lines))
    delimiters = [declared[1]] if declared else _DELIMITERS
    layouts = [list(_read_headers(lines, skipped, delimiter)) for delimiter in delimiters]
    counts = {layout: len(find_known(layout.headers)) for rows in layouts for layout in rows}
    # A later line only where it names several fields more: Dimensions says above its headers what they are.
    best = max(counts, key=lambda layout: (counts[layout], -layout.first_line, len(layout.headers)))
    plain = max((rows[0] for rows in layouts), key=lambda layout: (counts[layout], len(layout.headers)))
    return best if counts[best] > max(1, counts[plain]) + 1 else plain


def _read_headers(lines: Sequence[str], skipped: int, delimiter: str) -> Iterator[TableLayout]:
    """Yield the first rows as layouts; the first one may be without headers."""
    reader = csv.reader((f"{line}\n" for line in lines[skipped:]), delimiter=delimiter)
    for _ in range(_MAX_HEADER_ROW):
        try:
            headers = tuple(cell.strip() for cell in next(reader, []))
        except csv.Error:
            headers = ()
        yield TableLayout(headers, delimiter, skipped + max(1, reader.line_num) + 1)


def is_table(head: str, find_known: Callable[[Sequence[str]], Collection[str]], required: str) -> bool:
    """Say whether a text begins with a header line that names the required field and another known one."""
    fields = find_known(detect_layout(head, find_known).headers)
    return required in fields and len(fields) > 1


def read_rows(file: InputFile, layout: TableLayout) -> Iterator[tuple[list[str], str]]:
    """Yield the cells of each row that has any, and what is wrong with it, else an empty text.

    Sets `file.record_line`. An unclosed quotation mark swallows the text that follows. Then only its line is
    bad, and reading continues with the next. Between tabs, such a mark may be mere text.
    """
    lines = ((line, text) for line, text in file.lines() if line >= layout.first_line)
    again, read = list[tuple[int, str]](), list[tuple[int, str]]()  # lines to be read again; those of the current row
    longest = limit("field")

    def feed() -> Iterator[str]:
        size = 0
        while (item := again.pop() if again else next(lines, None)) is not None:
            read.append(item)
            if (size := size + len(item[1]) + LINE_SIZE if len(read) > 1 else 0) > 2 * longest:
                raise csv.Error(f"a row with {describe_excess('field')}")
            yield item[1] + "\n"

    reader = csv.reader(feed(), delimiter=layout.delimiter, strict=True)
    width, read_again = len(layout.headers) or longest, 0
    while True:
        read.clear()
        fault = ""
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            cells = read[0][1].split("\t")
            if layout.delimiter != "\t" or len(cells) != width:
                fault = f"not a row of a table: {error}; check its quotation marks"
            again.extend(reversed(read[1:]))
            if (read_again := read_again + len(read)) > _MAX_READ_AGAIN * (read[-1][0] + 10_000):
                raise InputError(f"{file.path}, line {read[0][0]}: its quotation marks are not closed") from error
            reader = csv.reader(feed(), delimiter=layout.delimiter, strict=True)
        if any(cells):
            if not fault and any(cells[width:]):
                fault = f"{len(cells)} cells, but the header has {width}; is a text unquoted?"
            file.record_line = read[0][0]
            yield cells, fault


def read_named_rows(
    file: InputFile, dropped: DropReport | None = None, columns: Sequence[str] = (), json: JsonLayout = ANY_LAYOUT
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield place ("line 3") and values by name of each row: of JSON, of Parquet, else of a table with a header line.

    Other rows are counted in `dropped`; without any row it raises InputError. columns: those of a Parquet file that
    are read, as far as it has them; () for all. json: where JSON has its records.
    """
    for place, row, fault in _read_any_rows(file, columns, json):
        if fault or not isinstance(row, dict):
            reason = fault or f"{row!r:.60} is not an object"
            if dropped is None:
                raise InputError(f"{file.path}, {place}: {reason}")
            dropped.add(NOT_READ, f"{file.path.name}, {place}: {reason}"[:MAX_REASON_CHARS])
        else:
            yield place, row


def _read_any_rows(file: InputFile, columns: Sequence[str], json: JsonLayout) -> Iterator[tuple[str, Any, str]]:
    """Yield place, row, and what is wrong with it, else an empty text."""
    head = file.head()
    if head.startswith("PAR1"):
        for number, row in enumerate(read_parquet_rows(file.path, columns), 1):
            yield f"record {number}", row, ""
    elif head.lstrip()[:1] in ("{", "[") or file.name.endswith((".json", ".jsonl", ".ndjson")):
        for number, line, value, fault in read_json_values(file, json):
            yield f"record {number}" if line is None else f"line {line}", value, fault
    else:
        layout = detect_layout(head, lambda _: ())
        width = len(layout.headers)
        for cells, fault in read_rows(file, layout):
            if len(cells) != width:
                fault = fault or f"{len(cells)} cells, but the header has {width}; is a text unquoted?"
            yield f"line {file.record_line}", dict(zip(layout.headers, cells, strict=False)), fault


def read_parquet_rows(path: FilePath, columns: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file, with all columns or some; raises InputError where it is damaged."""
    import pyarrow
    from pyarrow import parquet

    try:
        with path.open("rb") as stream, parquet.ParquetFile(stream) as table:
            names = [name for name in table.schema_arrow.names if name in columns] if columns else None
            for batch in table.iter_batches(BATCH_ROWS, columns=names, use_threads=False):
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not a whole Parquet file ({error}); fetch it again") from error


def normalize_header(header: str) -> str:
    """Return a header without case, spaces and punctuation, unless it is nothing else."""
    return "".join(filter(str.isalnum, header.casefold())) or header


Columns = Mapping[str, Sequence[int]]
"""Field -> the columns that may hold it, the best first; of a row, the first that is not empty does."""


def guess_columns(headers: Sequence[str], known_headers: Mapping[str, str]) -> dict[str, Sequence[int]]:
    """Return the columns of the fields that have one.

    known_headers: field -> its normalized headers, separated by spaces, the best first.
    """
    normalized = list(map(normalize_header, headers))
    columns = {
        field: [normalized.index(name) for name in dict.fromkeys(names.split()) if name in normalized]
        for field, names in known_headers.items()
    }
    return {field: numbers for field, numbers in columns.items() if numbers}


def detect_columns(head: str, known_headers: Mapping[str, str]) -> tuple[TableLayout, dict[str, Sequence[int]]]:
    """Return how a table is written and the columns of known fields, as `guess_columns`, by the head of the file."""
    layout = detect_layout(head, lambda headers: guess_columns(headers, known_headers))
    return layout, guess_columns(layout.headers, known_headers)


def find_columns(
    path: FilePath,
    headers: Sequence[str],
    known_headers: Mapping[str, str],
    *,
    chosen: Mapping[str, str],
    required: str = "",
    option: str = "--columns",
) -> dict[str, Sequence[int]]:
    """Return the columns of fields: as the user chose (field -> header), else as guessed from `known_headers`.

    option: of the commands that read such tables, "" without one. Raises InputError for an unknown field or header,
    and where the `required` field, if any, has no column.
    """
    columns = guess_columns(headers, known_headers)
    normalized = list(map(normalize_header, headers))
    listed = ", ".join(" ".join(header.split()) for header in headers if header)
    for field, header in chosen.items():
        if field not in known_headers:
            raise InputError(f"--columns {field}={header}: no field {field!r}; fields: {', '.join(known_headers)}")
        if normalize_header(header) not in normalized:
            raise InputError(f"{path}: no column {header!r} for {field}; columns: {listed}")
        exact = header in headers
        columns[field] = [headers.index(header) if exact else normalized.index(normalize_header(header))]
    if required and required not in columns:
        nearest = " ".join(find_nearest_header(headers, known_headers[required]).split())  # a message is one line
        hint = f"; nearest: {nearest!r}" if nearest else ""
        example = shlex.quote(f"{required}={nearest or 'HEADER'}")
        advice = (
            f"name it, for example: {option} {example}"
            if option
            else f"rename one to {required!r}, or put a header line first if there is none"
        )
        raise InputError(f"{path}: no column {required!r}{hint}; columns: {listed}; {advice}")
    return columns


def find_nearest_header(headers: Sequence[str], names: str) -> str:
    """Return the header most like one of the known names, or an empty text where none is like them."""
    filled = [header for header in headers[:_MAX_COMPARED] if header]
    words = {normalize_header(word): header for header in filled for word in (*header.split(), header)}
    near = (match for name in names.split() if len(name) > 2 for match in get_close_matches(name, words, 1, 0.7))
    return words.get(next(near, ""), "")


def cell_getter(cells: Sequence[str], columns: Columns) -> Callable[[str], str]:
    """Return a function of a field that gives the text of its cell, empty where there is none."""

    def text(field: str) -> str:
        for column in columns.get(field, ()):
            if column < len(cells) and (cell := cells[column].strip()):
                return cell
        return ""

    return text
