"""Read the records of a large XML file one at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

from sciprism.errors import InputError
from sciprism.papers.input_file import BadRecord, InputFile


def read_xml_records(file: InputFile, tags: Collection[str] | None) -> Iterator[Element | BadRecord]:
    """Yield each element named in `tags`; a fault of the file is one BadRecord, the last item.

    None as tags means each child of the root.

    An element is emptied when the next one is read, and what is between records at once, so memory stays
    constant.
    """
    number = inside = 0
    path: list[Element] = []

    def is_record(element: Element) -> bool:
        return len(path) == 1 if tags is None else element.tag in tags

    with file.binary() as stream:
        for event in _parse_events(stream):
            if not isinstance(event, tuple):
                yield BadRecord(number + 1, event.line, event.reason)
                return
            kind, element = event
            if kind == "start":
                inside += is_record(element)
                path.append(element)
                continue
            path.pop()
            if is_record(element):
                inside -= 1
                number += not inside
                if not inside:
                    yield element
            if not inside and path:
                path[-1].clear()


def text_of(element: Element | None, path: str = "") -> str:
    """Return all text in the first match of `path`, inner tags included, with single spaces."""
    found = element.find(path) if element is not None and path else element
    return "" if found is None else " ".join("".join(found.itertext()).split())


def texts_of(element: Element, path: str) -> tuple[str, ...]:
    """Return the distinct texts of all matches of `path` that are not empty."""
    return tuple(dict.fromkeys(text for found in element.iterfind(path) if (text := text_of(found))))


def _parse_events(stream: BinaryIO) -> Iterator[tuple[str, Element] | BadRecord]:
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
    except (LookupError, ValueError) as error:
        yield BadRecord(0, None, f"the XML cannot be decoded: {error}; convert the file to UTF-8")
