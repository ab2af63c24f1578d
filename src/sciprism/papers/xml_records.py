"""Read the records of a large XML file one at a time."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from itertools import islice
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from xml.parsers import expat

from sciprism.errors import InputError
from sciprism.limits import describe_excess, limit
from sciprism.papers.cleaning import raise_powers
from sciprism.papers.input_file import BadRecord, InputFile, check_encoding

_PIECE = 1 << 16
_DECLARED = re.compile(r"\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([\w.:-]+)")


def read_xml_records(
    file: InputFile, tags: Collection[str] | None, *, as_text: bool = False
) -> Iterator[Element | BadRecord]:
    """Yield each element named in `tags`, in place of one with a fault a BadRecord.

    Reading goes on where the next record begins; where that is unknown, or memory is at stake, the BadRecord is the
    last item. None as tags means each child of the root. Elements are dropped with the piece of the file that ends
    them, so memory stays constant. as_text: the text is decoded and cleaned as that of other formats, a little slower;
    control characters and wrong bytes are then no fault. A chosen encoding implies it.
    """
    number, most = 0, limit("nesting")
    with closing(_TextStream(file) if as_text or file.chosen_encoding else file.binary()) as source:
        stream = _Stream(source, tags)
        while not stream.has_ended:
            builder = TreeBuilder()
            document = builder.start("document", {})  # the root is put into it, and can be seen while it grows
            parser, fault = XMLParser(target=builder), ""
            parser.feed(stream.before)
            while not (fault or stream.has_ended):
                fault, line = _parse_piece(parser, stream)
                if fault or stream.has_ended:
                    builder.start("end", {})  # what precedes it is complete
                records = _take_records(document, tags, stream)
                for record in (*records, document):
                    if _is_too_deep(record, most):
                        yield BadRecord(number + 1, None, describe_excess("nesting"))
                        return
                    if record is not document:
                        number += 1
                        yield record
            if fault:
                number += 1
                left = "" if stream.skip_record(len(records)) else ", nothing after this can be read"
                yield BadRecord(number, line, f"{fault}{left}")


def _parse_piece(parser: XMLParser, stream: _Stream) -> tuple[str, int | None]:
    """Parse the next piece of a file, or end; return what is wrong with it, and its line."""
    try:
        if piece := stream.read():
            parser.feed(piece)
        else:
            parser.close()
        return "", None
    except InputError:  # the file cannot be read at all
        raise
    except (ParseError, expat.ExpatError) as error:
        line = error.position[0] if isinstance(error, ParseError) else error.lineno
        return f"broken XML: {expat.ErrorString(error.code)}", stream.skipped_lines + line
    except _RefusedError as error:
        fault = str(error)
    except (LookupError, ValueError) as error:
        fault = f"the XML cannot be decoded: {error}; convert the file to UTF-8"
    stream.has_ended = True
    return fault, None


def _take_records(document: Element, tags: Collection[str] | None, stream: _Stream) -> list[Element]:
    """Take all that is complete out of a tree that grows, and return the records among it.

    Complete is every child but the last of an element that may go on; inside a record nothing is taken.
    """

    def is_record(element: Element) -> bool:
        return depth == 1 if tags is None else element.tag in tags

    records, parent, depth = list[Element](), document, 0
    while len(parent):
        *complete, last = parent
        for element in complete:
            records += [element] if is_record(element) else _find_records(element, tags)
        del parent[:-1]
        if complete:
            stream.count = 0
        if is_record(last):
            break
        parent, depth = last, depth + 1
    return records


def _find_records(element: Element, tags: Collection[str] | None) -> Iterator[Element]:
    """Yield the records inside a complete element, in their order."""
    left = [*reversed(element)]
    while left:
        if tags is None or left[-1].tag in tags:
            yield left.pop()
        else:
            left += reversed(left.pop())


def _is_too_deep(element: Element, most: int) -> bool:
    """Say whether more elements than the limit are inside each other."""
    if next(islice(element.iter(), most, None), None) is None:
        return False
    level = [element]
    for _ in range(most):
        level = [child for parent in level for child in parent]
    return bool(level)


class _RefusedError(Exception):
    """What may fill the memory: a record that is too long, an entity."""


class _Stream:
    """The bytes or the text of a file for a parser, in large pieces, most of which begin with a record.

    Raises _RefusedError. Entities can fill the memory or read other files. They are declared in the prolog, before the
    root element, so a second expat parser reads the prolog first: ElementTree's parser, which is in C, reports no
    declarations.
    """

    def __init__(self, stream: BinaryIO | _TextStream, tags: Collection[str] | None) -> None:
        self._stream, self._most = stream, limit("record")
        is_text = isinstance(stream, _TextStream)
        self._line_end: Any = "\n" if is_text else b"\n"
        names = "|".join(re.escape(tag.rpartition("}")[2]) for tag in tags or ())
        start = rf"(<(?:[\w.-]+:)?(?:{names}))[\s>/]" if names else "(?!)"  # of a record
        self._start: re.Pattern[Any] = re.compile(start if is_text else start.encode())
        self._mark: Any = None  # how the first record begins, empty where it is not near
        empty: Any = self._line_end[:0]
        self._piece = self._rest = self._head = empty  # the latest; read ahead; before the first record
        self.before: Any = self._head  # what a new parser reads first: the tags around all records
        self._lines = self.skipped_lines = 0  # returned; those of them that the parser does not read
        self._follows = self._has_record = False  # whether a record precedes the latest piece, the next one
        self.count = 0  # of bytes or characters since something was complete
        self.has_ended = False  # or cannot be read further
        self._has_root = False
        self._prolog = expat.ParserCreate(namespace_separator="}")
        self._prolog.EntityDeclHandler = _refuse_entity
        self._prolog.StartElementHandler = self._find_root

    def read(self) -> Any:
        """Return the next piece, of a long record a large one: in small ones the parser would take quadratic time."""
        size, piece = max(_PIECE, self.count), self._rest
        if len(piece) < size:
            piece += self._stream.read(size)
        if self._mark is None:
            first = self._start.search(piece)
            self._mark, cut = (first[1], first.start()) if first else (piece[:0], 0)
            self._head = piece[:cut]
        else:
            cut = piece.rfind(self._mark, 1) if self._mark else 0
        self._piece, self._rest = (piece[:cut], piece[cut:]) if cut > 0 else (piece, piece[:0])
        self.has_ended = not piece
        self._follows, self._has_record = self._has_record, self._piece != self._head
        self._lines += self._piece.count(self._line_end)
        self.count += len(self._piece)
        if self.count > 2 * self._most:
            raise _RefusedError(describe_excess("record"))
        try:
            if not self._has_root:
                self._prolog.Parse(self._piece)
        except expat.ExpatError:
            if not self._has_root:  # a fault behind its start is for the other parser, which keeps what precedes it
                raise
        return self._piece

    def skip_record(self, complete: int) -> bool:
        """Go to the record after one with a fault, for a new parser; return whether it is known where that begins.

        complete: the number of records that the latest piece made complete. A record is so when the next one begins.
        """
        complete -= self._follows and self._start.match(self._piece) is not None
        starts = [0, *(start.start() for start in islice(self._start.finditer(self._piece, 1), complete + 1))]
        left = self._piece[starts[complete + 1] :] if len(starts) > complete + 1 else self._piece[:0]
        self._lines -= left.count(self._line_end)
        self._rest, self.count, self._has_record = left + self._rest, 0, False
        while self._mark and not self.has_ended and self._piece != self._head:
            if start := self._start.search(self._rest):
                self._lines += self._rest.count(self._line_end, 0, start.start())
                self._rest = self._rest[start.start() :]
                self.before, self.skipped_lines = self._head, self._lines - self._head.count(self._line_end)
                return True
            self._lines += self._rest.count(self._line_end)
            self._rest = self._stream.read(_PIECE)
            self.has_ended = not self._rest
        self.has_ended = True
        return False

    def _find_root(self, *_: object) -> None:
        self._has_root = True


def _refuse_entity(name: str, *_: object) -> None:
    raise _RefusedError(f"entity {name!r}: entities are refused, as they can fill the memory or read other files")


class _TextStream:
    """The text of a file for a parser, which reads it in pieces; another declared encoding is followed."""

    def __init__(self, file: InputFile) -> None:
        declared = _DECLARED.match(file.head())
        if declared and not file.chosen_encoding and declared[1].lower() not in ("utf-8", "utf-16"):
            with suppress(InputError):  # an unknown encoding: that of the bytes
                file.chosen_encoding = check_encoding(declared[1])
        self._chunks = file.chunks()
        self.close = self._chunks.close

    def read(self, size: int = -1) -> str:  # noqa: ARG002 - the parser's signature
        """Return the next piece of text, whatever its size."""
        return next(self._chunks, "")


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
