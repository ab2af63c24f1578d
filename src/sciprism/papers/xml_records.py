"""Read the records of a large XML file one at a time."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import BinaryIO, Self
from xml.etree.ElementTree import Element, ParseError

from sciprism.errors import InputError
from sciprism.limits import describe_excess, limit
from sciprism.papers.cleaning import raise_powers
from sciprism.papers.encodings import check_encoding
from sciprism.papers.input_file import BadRecord, InputFile

_PIECE = 1 << 16
_DECLARED = re.compile(r"\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([\w.:-]+)")


def read_xml_records(
    file: InputFile, tags: Collection[str] | None, *, as_text: bool = False
) -> Iterator[Element | BadRecord]:
    """Yield each element named in `tags`; a fault of the file is one BadRecord, the last item.

    None as tags means each child of the root.

    An element is emptied when the next one is read, and what is between records at once, so memory stays
    constant. as_text: the text is decoded and cleaned as that of other formats, a little slower; control
    characters and wrong bytes are then no fault. A chosen encoding implies it.
    """
    number, inside, most = 0, 0, limit("nesting")
    path: list[Element] = []

    def is_record(element: Element) -> bool:
        return len(path) == 1 if tags is None else element.tag in tags

    with _Stream(_TextStream(file) if as_text or file.chosen_encoding else file.binary()) as stream:
        for event in _parse_events(stream):
            if not isinstance(event, tuple):
                yield BadRecord(number + 1, event.line, event.reason)
                return
            kind, element = event
            if kind == "start":
                inside += is_record(element)
                path.append(element)
                if len(path) > most:
                    yield BadRecord(number + 1, None, describe_excess("nesting"))
                    return
                continue
            path.pop()
            if is_record(element):
                inside -= 1
                number += not inside
                if not inside:
                    yield element
            if not inside and path:
                path[-1].clear()
                stream.count = 0


class _Stream:
    """The bytes or the text of a file for a parser, in large pieces; OverflowError where a record is too long."""

    def __init__(self, stream: BinaryIO | _TextStream) -> None:
        self._stream, self._most = stream, limit("record")
        self.count = 0  # of bytes or characters since the last record

    def read(self, size: int = -1) -> bytes | str:  # noqa: ARG002 - the parser's signature
        """Return the next piece, of a long record a large one: in small ones the parser would take quadratic time."""
        piece = self._stream.read(max(_PIECE, self.count))
        self.count += len(piece)
        if self.count > 2 * self._most:
            raise OverflowError(describe_excess("record"))
        return piece

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._stream.__exit__(None, None, None)


class _TextStream:
    """The text of a file for a parser, which reads it in pieces; another declared encoding is followed."""

    def __init__(self, file: InputFile) -> None:
        declared = _DECLARED.match(file.head())
        if declared and not file.chosen_encoding and declared[1].lower() not in ("utf-8", "utf-16"):
            with suppress(InputError):  # an unknown encoding: that of the bytes
                file.chosen_encoding = check_encoding(declared[1])
        self._chunks = file.chunks()

    def read(self, size: int = -1) -> str:  # noqa: ARG002 - the parser's signature
        """Return the next piece of text, whatever its size."""
        return next(self._chunks, "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._chunks.close()


def text_of(element: Element | None, path: str = "") -> str:
    """Return all text in the first match of `path`, inner tags included, with single spaces."""
    match = element.find(path) if element is not None and path else element
    if match is None:
        return ""
    if next(match.iter("sup"), None) is None:
        return " ".join("".join(match.itertext()).split())
    text = raise_powers("".join(_iterate_texts(match)))
    return " ".join(text.replace("<sup>", "").replace("</sup>", "").split())


def _iterate_texts(element: Element) -> Iterator[str]:
    """Yield all text in an element, with the tags of superscripts."""
    left: list[Element | str] = [element]
    while left:
        node = left.pop()
        if isinstance(node, str):
            yield node
            continue
        yield from ("<sup>" if node.tag == "sup" else "", node.text or "")
        left.append("</sup>" if node.tag == "sup" else "")
        for child in reversed(node):
            left += [child.tail or "", child]


def texts_of(element: Element, path: str) -> tuple[str, ...]:
    """Return the distinct texts of all matches of `path` that are not empty."""
    return tuple(dict.fromkeys(text for match in element.iterfind(path) if (text := text_of(match))))


def _parse_events(stream: _Stream) -> Iterator[tuple[str, Element] | BadRecord]:
    """Yield the parser's events, then a BadRecord (its number is meaningless) where parsing failed."""
    from defusedxml import ElementTree
    from defusedxml.common import EntitiesForbidden

    try:
        yield from ElementTree.iterparse(stream, events=("start", "end"))
    except InputError:  # the file cannot be read at all
        raise
    except ParseError as error:
        line, _ = error.position
        yield BadRecord(0, line, f"not well-formed XML, nothing after this can be read: {error}")
    except EntitiesForbidden as error:
        reason = "entities are refused, as they can fill the memory or read other files"
        yield BadRecord(0, None, f"the file defines the entity {error.name!r}; {reason}")
    except OverflowError as error:
        yield BadRecord(0, None, f"nothing after this can be read: {error}")
    except (LookupError, ValueError) as error:
        yield BadRecord(0, None, f"the XML cannot be decoded: {error}; convert the file to UTF-8")
