"""Read the records of a large XML file one at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

from sciprism.errors import InputError
from sciprism.papers.source import BadRecord, Source


def xml_records(source: Source, tags: Collection[str]) -> Iterator[Element | BadRecord]:
    """Yield each element named in `tags`; at a fault of the file one BadRecord, and then no more.

    An element is emptied as soon as the next one is asked for, and what lies between records at once, so
    memory stays flat.
    """
    number = inside = 0
    path: list[Element] = []
    with source.binary() as stream:
        for event in _events(stream):
            if not isinstance(event, tuple):
                yield BadRecord(number + 1, event.line, event.reason)
                return
            kind, element = event
            if kind == "start":
                path.append(element)
                inside += element.tag in tags
                continue
            path.pop()
            if element.tag in tags:
                inside -= 1
                number += not inside
                if not inside:
                    yield element
            if not inside and path:
                path[-1].clear()


def text_of(element: Element | None, path: str = "") -> str:
    """Return all text at the first match of `path`, with that of inner tags, white space folded."""
    found = element.find(path) if element is not None and path else element
    return "" if found is None else " ".join("".join(found.itertext()).split())


def texts_of(element: Element, path: str) -> tuple[str, ...]:
    """Return the text of every match of `path`, without the empty ones, each once."""
    return tuple(dict.fromkeys(text for found in element.iterfind(path) if (text := text_of(found))))


def _events(stream: BinaryIO) -> Iterator[tuple[str, Element] | BadRecord]:
    """Yield the parser's events, then a BadRecord (its number is meaningless) where parsing stopped short."""
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
        reason = f"the file defines the entity {error.name!r}; entities are refused: they can fill the memory"
        yield BadRecord(0, None, f"{reason} or read other files")
    except (LookupError, ValueError) as error:
        yield BadRecord(0, None, f"the XML cannot be decoded: {error}; convert the file to UTF-8")
