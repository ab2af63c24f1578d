"""Iterate the JSON records of a file of any size: JSON lines, one array, or an object holding a list."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from itertools import count
from typing import Any

from sciprism.papers.source import Source

JsonValue = tuple[int, int | None, Any | None, str]
"""Record number, line, the value or None, and why there is none (else an empty text)."""

_LIST_KEYS = ("results", "items", "data")
_LARGEST = 1 << 28  # characters; more is no record but a quotation mark that was never closed
_DECODER = json.JSONDecoder(strict=False)  # exporters leave tabs and line ends inside of strings
_SPACE = re.compile(r"[ \t\n\r]*")
_NEXT_OBJECT = re.compile(r",[ \t\n\r]*(?=\{)")


def json_values(source: Source) -> Iterator[JsonValue]:
    """Yield every record of the file; a broken one is told as such and those after it are still read.

    `source.record_line` follows.
    """
    head = source.head()
    if _is_json_lines(head):
        values = _line_values(source)
    else:
        values = _Stream(_Buffer(source.chunks()), _list_key(head) is not None).values()
    for value in values:
        source.record_line = value[1]
        yield value


def _line_values(source: Source) -> Iterator[JsonValue]:
    number = 0
    for line, text in source.lines():
        if not text or text.isspace():
            continue
        number += 1
        try:
            yield number, line, _DECODER.decode(text), ""
        except json.JSONDecodeError as error:
            yield number, line, None, f"not valid JSON: {error.msg} (character {error.pos + 1})"
        except (ValueError, RecursionError) as error:  # numbers of thousands of digits, endless nesting
            yield number, line, None, f"not valid JSON: {error}"


def _is_json_lines(head: str) -> bool:
    text = head.lstrip()
    if text.startswith("[") or _list_key(head) is not None:
        return False
    first, _, rest = text.partition("\n")
    try:
        _DECODER.decode(first)
    except (ValueError, RecursionError) as error:
        # An object printed over several lines breaks off at the end of the first, and its second line
        # does not begin another object.
        position = error.pos if isinstance(error, json.JSONDecodeError) else 0
        return rest.lstrip().startswith("{") or not rest or position < len(first.rstrip())
    return True


def _list_key(head: str) -> str | None:
    """Return which member of the first object holds the list of records, if one does."""
    position = _after_space(head, 0)
    try:
        while head[position] in "{,":
            key, position = _DECODER.raw_decode(head, _after_space(head, position + 1))
            position = _after_space(head, _after_space(head, position) + 1)  # past the colon
            if key in _LIST_KEYS and head[position] == "[" and head[_after_space(head, position + 1)] in "{]":
                return str(key)
            _, position = _DECODER.raw_decode(head, position)
            position = _after_space(head, position)
    except (ValueError, IndexError, TypeError, RecursionError):
        return None
    return None


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


class _BrokenValueError(Exception):
    """A value that is not JSON, or that the end of the file cut off; `position` is where that showed."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(f"not valid JSON: {reason}")
        self.position = position


class _Buffer:
    """A window on the text of a file, with the line that its position stands in."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self._chunks = chunks
        self._text = ""
        self._position = 0
        self.line = 1

    def peek(self) -> str:
        """Step over white space and return the character that follows, or an empty text at the end."""
        while True:
            self._advance(_after_space(self._text, self._position))
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._more():
                return ""

    def take(self) -> None:
        """Step over one character."""
        self._advance(self._position + 1)

    def value(self) -> Any:
        """Decode the value that begins here and step over it; _BrokenValueError leaves us near the fault."""
        try:
            value, end = self._decode()
        except _BrokenValueError as error:
            self._advance(max(error.position, self._position + 1))
            raise
        self._advance(end)
        return value

    def skip_to_object_like(self, keys: set[str]) -> bool:
        """Step to the next list element that shares half of `keys`; say whether there is one.

        Objects inside of the broken one (its authors, say) are told from its successors by their keys.
        """
        while True:
            match = _NEXT_OBJECT.search(self._text, self._position)
            if match is None:
                comma = self._text.rfind(",", self._position)
                self._advance(comma if comma >= 0 else len(self._text))
                if not self._more():
                    return False
                continue
            self._advance(match.end())
            try:
                value, _ = self._decode()
            except _BrokenValueError:
                continue
            if 2 * len(keys & value.keys()) >= len(keys) if keys else len(value) > 2:
                return True

    def _decode(self) -> tuple[Any, int]:
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._position)
            except json.JSONDecodeError as error:
                cut_off = error.msg.startswith("Unterminated") or error.pos > len(self._text) - 16
                too_long = len(self._text) - self._position > _LARGEST
                if cut_off and not too_long and self._more():
                    continue
                line = self.line + self._text.count("\n", self._position, error.pos)
                raise _BrokenValueError(f"{error.msg} (line {line})", error.pos) from None
            except (ValueError, RecursionError) as error:  # thousands of digits, endless nesting
                raise _BrokenValueError(str(error), self._position) from None
            if end < len(self._text) or not self._more():  # a number at the end may go on
                return value, end

    def _more(self) -> bool:
        """Read as much as is still held, so that a long record is decoded anew only a few times."""
        held = self._text[self._position :]
        parts = [held]
        new = 0
        for chunk in self._chunks:
            parts.append(chunk)
            new += len(chunk)
            if new >= len(held):
                break
        self._text = "".join(parts)
        self._position = 0
        return new > 0

    def _advance(self, position: int) -> None:
        self.line += self._text.count("\n", self._position, position)
        self._position = min(position, len(self._text))


class _Stream:
    """Walk lists, objects that hold a list, and values standing side by side."""

    def __init__(self, buffer: _Buffer, holds_list: bool) -> None:
        self._buffer = buffer
        self._holds_list = holds_list
        self._number = count(1)

    def values(self) -> Iterator[JsonValue]:
        """Yield all records of the file."""
        while char := self._buffer.peek():
            if char == "[":
                yield from self._elements()
            elif char == "{" and self._holds_list:
                yield from self._members()
            else:
                yield from self._one(set())

    def _elements(self) -> Iterator[JsonValue]:
        self._buffer.take()
        keys: set[str] = set()
        while (char := self._buffer.peek()) != "]":
            if not char:
                yield self._bad("the file ends before its list is closed")
                return
            if char == ",":
                self._buffer.take()
                continue
            if not (yield from self._one(keys)):
                return
        self._buffer.take()

    def _members(self) -> Iterator[JsonValue]:
        """Yield the elements of the listed member; step over the others (counts, page marks)."""
        try:
            while self._buffer.peek() in ("{", ","):
                self._buffer.take()
                key = self._buffer.peek() and self._buffer.value()
                if self._buffer.peek() == ":":
                    self._buffer.take()
                if self._buffer.peek() == "[" and key in _LIST_KEYS:
                    yield from self._elements()
                else:
                    self._buffer.value()
        except _BrokenValueError as error:
            yield self._bad(str(error))
        if self._buffer.peek() == "}":
            self._buffer.take()

    def _one(self, keys: set[str]) -> Generator[JsonValue, None, bool]:
        """Yield the value that begins here and say whether more can follow.

        `keys` learns what the objects of this list look like.
        """
        number, line = next(self._number), self._buffer.line
        try:
            value = self._buffer.value()
        except _BrokenValueError as error:
            more = self._buffer.skip_to_object_like(keys)
            yield number, line, None, str(error) if more else f"{error}; nothing readable follows it"
            return more
        if isinstance(value, dict):
            keys.update(value)
        yield number, line, value, ""
        return True

    def _bad(self, reason: str) -> JsonValue:
        return next(self._number), self._buffer.line, None, reason
