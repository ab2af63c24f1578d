"""Read the JSON records of a file of any size: JSON lines, one array, or an object that holds them."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from sciprism.limits import describe_excess, limit
from sciprism.papers.bibliographic_fields import find_year
from sciprism.papers.input_file import InputFile

JsonObject = Mapping[str, Any]
JsonValue = tuple[int, int | None, Any | None, str]
"""Record number, line, the value or None, and the reason for None (else an empty text)."""

NOT_READ = "record that cannot be read"
MAX_REASON_CHARS = 300  # characters of a reason: it quotes the value, which may be a whole book
# Exporters leave tabs and line ends in strings, and pandas writes NaN for what is missing.
_DECODER = json.JSONDecoder(strict=False, parse_constant={"NaN": None}.get)
_RECORD_KEYS = frozenset(("id", "_id", "title"))  # of what is a record, whatever lists it has
_SPACE = re.compile(r"[ \t\n\r]*")
_OBJECTS = re.compile(r"[ \t\n\r]*\[[ \t\n\r]*[{\]]")
_OPENING, _DEEP = re.compile(r"[\[{]"), 500  # a bracket, and how many of them are passed where there are too many
_NEAR = 1 << 8  # characters in which a list begins, with the space before its first element
_NEXT_OBJECT = re.compile(r',[ \t\n\r]*(?P<start>(?=\{[ \t\n\r]*"))')  # one with a key
_NEXT_MEMBER = re.compile(r',[ \t\n\r]*(?P<start>"(?:[^"\\]|\\.)*"[ \t\n\r]*:[ \t\n\r]*(?=\{[ \t\n\r]*"))')


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
    """Yield every record of the file; a broken one has a reason, and those after it are still read.

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
    head, keys = source.head(), "|".join(map(re.escape, layout.list_keys))
    has_list = not layout.keyed and bool(keys) and re.search(rf'"(?:{keys})"\s*:\s*\[\s*[{{\]]', head) is not None
    if not layout.keyed and _is_json_lines(head, layout, has_list=has_list):
        return _parse_lines(source)
    return _JsonStream(source.chunks(), layout, has_list=has_list).records()


def unfold(value: Any, layout: JsonLayout) -> list[Any]:
    """Return the records that a decoded value holds, such as one reply or page in a list of them; else itself."""
    found = None if layout.keyed else _find_records(value, layout)
    return [value] if found is None else found


def _find_records(value: Any, layout: JsonLayout, *, is_reply: bool = False) -> list[Any] | None:
    """Return the list of records in a value; is_reply: also where it has an id or a title of its own."""
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    if not isinstance(value, dict) or not (is_reply or _RECORD_KEYS.isdisjoint(value)):
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


def _is_json_lines(head: str, layout: JsonLayout, *, has_list: bool) -> bool:
    first, _, rest = head.lstrip().partition("\n")
    if not first.startswith("{"):
        return not first.startswith("[")
    try:
        return _find_records(_DECODER.decode(first), layout, is_reply=True) is None
    except (ValueError, RecursionError) as error:
        # An object printed over several lines is cut at the end of the first, and its second line does
        # not begin another object.
        position = error.pos if isinstance(error, json.JSONDecodeError) else 0
        return not has_list and (rest.lstrip().startswith("{") or not rest or position < len(first.rstrip()))


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


class _BrokenValueError(Exception):
    """A value that is not JSON, or cut off, with the position of the fault; nested: inside of hundreds of values."""

    def __init__(self, reason: str, position: int, *, nested: bool = False) -> None:
        super().__init__(f"not valid JSON: {reason}")
        self.position, self.nested = position, nested


class _JsonStream:
    """The records in lists, in objects that hold a list or keyed records, and in consecutive values.

    It holds a window on the text, and the line number of its position in it.
    """

    def __init__(self, chunks: Iterator[str], layout: JsonLayout, *, has_list: bool) -> None:
        self._chunks, self._layout, self._has_list = chunks, layout, has_list
        self._number, self._most = count(1), limit("record")
        self._text, self._position, self._line = "", 0, 1

    def records(self) -> Iterator[JsonValue]:
        """Yield all records of the file."""
        while char := self._peek():
            if char == "[":
                yield from self._elements("]")
            elif char == "{" and self._layout.keyed:
                yield from self._elements("}")
            elif char == "{":
                yield from self._object()
            else:
                yield from self._record(set())

    def _elements(self, end: str) -> Iterator[JsonValue]:
        """Yield the elements of a list, or the members of an object, that ends with `end`."""
        self._advance(self._position + 1)
        keys: set[str] = set()
        while (char := self._peek()) != end:
            if not char:
                reason = f"the file ends before its {'list' if end == ']' else 'object'} is closed"
                yield next(self._number), self._line, None, reason
                return
            if char == ",":
                self._advance(self._position + 1)
            elif not (yield from self._record(keys, keyed=end == "}")):
                return
        self._advance(self._position + 1)

    def _object(self) -> Iterator[JsonValue]:
        """Yield the records in the list of an API's reply; of another object, itself."""
        line = self._line
        try:
            members = yield from self._members()
        except _BrokenValueError as error:
            more = self._skip_to_similar_object(set())
            yield next(self._number), line, None, str(error) if more else f"{error}; nothing readable follows it"
            return
        if members is not None:
            yield next(self._number), line, members, ""

    def _members(self) -> Generator[JsonValue, None, JsonObject | None]:
        """Yield the elements of the list of records in an object; return the object where it has none."""
        members: dict[str, Any] = {}
        is_reply = False
        self._advance(self._position + 1)
        while (char := self._peek()) != "}":
            if char == ",":
                self._advance(self._position + 1)
                continue
            if is_reply and not char:
                return None  # the end of its list is reported
            key = self._key()
            may_list = self._has_list or _RECORD_KEYS.isdisjoint(members)
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
        return _OBJECTS.match(self._text, self._position) is not None

    def _record(self, keys: set[str], *, keyed: bool = False) -> Generator[JsonValue, None, bool]:
        """Yield the value that begins here and say whether more can follow.

        The keys of an object are added to `keys`, which describe the objects of this list.
        """
        number, line = next(self._number), self._line
        try:
            key = self._key() if keyed else ""
            value = self._value()
        except _BrokenValueError as error:
            more = self._skip_to_similar_object(keys)
            yield number, line, None, str(error) if more else f"{error}; nothing readable follows it"
            return more
        if isinstance(value, dict):
            keys.update(value)
        yield number, line, (key, value) if keyed else value, ""
        return True

    def _key(self) -> Any:
        """Decode and skip the key that begins here, and its colon."""
        key = self._value()
        if self._peek() != ":":
            raise _BrokenValueError(f"no colon after a key (line {self._line})", self._position)
        self._advance(self._position + 1)
        self._peek()
        return key

    def _value(self) -> Any:
        """Decode and skip the value that begins here; _BrokenValueError leaves us near the fault."""
        try:
            value, end = self._decode()
        except _BrokenValueError as error:
            self._advance(max(error.position, self._position + 1))
            raise
        self._advance(end)
        return value

    def _skip_to_similar_object(self, keys: set[str]) -> bool:
        """Skip to the next record that shares half of `keys`; say whether there is one.

        Their keys distinguish objects inside the broken one (its authors, say) from those after it.
        """
        pattern = _NEXT_MEMBER if self._layout.keyed else _NEXT_OBJECT
        while True:
            match = pattern.search(self._text, self._position)
            if match is None:
                comma = self._text.rfind(",", self._position)
                self._advance(comma if comma >= 0 else len(self._text))
                if not self._read_more():
                    self._advance(len(self._text))
                    return False
                continue
            self._advance(match.start("start"))
            try:
                value, _ = self._decode(match.end() - match.start("start"))
            except _BrokenValueError as error:
                self._advance(error.position if error.nested else self._position)  # inside all is nearly as deep
                continue
            if 2 * len(keys & value.keys()) >= len(keys) if keys else len(value) > 2:
                return True

    def _decode(self, offset: int = 0) -> tuple[Any, int]:
        """Decode the value at an offset from our position, in a text that grows until it has all of it."""
        while True:
            start = self._position + offset
            try:
                value, end = _DECODER.raw_decode(self._text, start)
            except json.JSONDecodeError as error:
                cut_off = error.msg.startswith("Unterminated") or error.pos > len(self._text) - 16
                too_long = len(self._text) - self._position > self._most
                if cut_off and not too_long and self._read_more():
                    continue
                line = self._line + self._text.count("\n", self._position, error.pos)
                reason = describe_excess("record") if cut_off and too_long else error.msg
                raise _BrokenValueError(f"{reason} (line {line})", error.pos) from None
            except RecursionError as error:
                ends = [opening.end() for opening in islice(_OPENING.finditer(self._text, start), _DEEP)]
                raise _BrokenValueError(str(error), max(ends), nested=True) from None
            except ValueError as error:  # thousands of digits
                raise _BrokenValueError(str(error), self._position) from None
            if end < len(self._text) or not self._read_more():  # a number at the end may go on
                return value, end

    def _peek(self) -> str:
        """Skip white space and return the next character, or an empty text at the end."""
        while True:
            self._advance(_after_space(self._text, self._position))
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
        if length:
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


def find_text(row: Any, *keys: str) -> str:
    """Return the first value among `keys` that is a text or a number, as text, or an empty text."""
    values = map(row.get, keys) if isinstance(row, Mapping) else ()
    return next((str(value) for value in values if value and type(value) in (str, int, float)), "")


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


def first_text(value: Any, *keys: str) -> str:
    """Return a text or a number as text; of a list its first text, of an object the first value of `keys`."""
    return next(iter(list_texts(value, *keys)), "")


def parse_year(value: Any) -> int | None:
    """Return the year in a number or in a text such as `2007-04-02`, or None."""
    if isinstance(value, int | float) and abs(value) < 10_000:
        return int(value)
    return find_year(value) if isinstance(value, str) else None
