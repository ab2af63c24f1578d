"""Read the records of a large XML file one at a time.

A file is cut at the start and the end of each record, and each is parsed alone: a fault in one does no harm to others,
files that were joined are read as one, and memory stays constant. Entities, which can fill the memory or read other
files, are declared before the root, which no parser sees: a record that uses one has a fault.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from xml.parsers import expat

from sciprism.errors import InputError
from sciprism.limits import describe_excess, limit
from sciprism.papers.cleaning import raise_powers
from sciprism.papers.input_file import BadRecord, InputFile, check_encoding

_DECLARED = re.compile(r"\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([\w.:-]+)")
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z_][^\s<>/]*+)[^<>]*?(?P<alone>/?)>")
_PIECE = 1 << 18  # characters that are read at once
_MOST_AROUND = 20  # records of other names around one
_TAIL = 1 << 12  # characters that are kept between records: a tag may be cut


def read_xml_records(file: InputFile, tags: Collection[str]) -> Iterator[Element | BadRecord]:
    """Yield each element named in `tags`, in place of one with a fault a BadRecord.

    A name in a namespace begins with a brace. The text is decoded and cleaned as that of other formats. An element of
    such a name in another namespace may hold one of these, as records of OAI hold those of MARC.
    """
    names = "|".join(re.escape(tag.rpartition("}")[2]) for tag in tags)
    prefix = r"(?:[\w.-]+:)?" if any("}" in tag for tag in tags) else ""
    mark = re.compile(rf"<(?P<end>/?){prefix}(?:{names})(?=[\s>/])[^<>]*?(?P<alone>/?)>")
    head = file.head()
    first = mark.search(head)
    around = [_keep_open(head[: first.start()] if first else head)]  # tags around the record
    number, nesting = 0, limit("nesting")
    for line, kind, text in _cut_elements(file, mark):
        record: Element | None = None
        fault, row = "", 0
        if kind == "end" and len(around) > 1:
            around.pop()
            continue
        if kind == "end":
            fault = "broken XML: the end of a record without its beginning"
        elif kind == "long":
            fault = f"{describe_excess('record')}, nothing after this can be read"
        elif kind == "rest":
            root = _TAG.match(around[0])
            if root and f"</{root['name']}" not in text:
                fault = "broken XML: the file ends before its root is closed"
        else:
            document, fault, row = _parse("".join(around) + text)
            record = next((element for element in document.iter() if element.tag in tags), None)
            if record is None:
                fault = ""
                around += [_keep_open(text)] * (kind == "open")
            elif kind == "open":
                fault = fault or "broken XML: a record does not end"
            if len(around) > _MOST_AROUND or (text.count("<") > nesting and _is_too_deep(document, nesting)):
                fault = describe_excess("nesting")
        if fault or record is not None:
            number += 1
            yield BadRecord(number, line + row, fault) if fault or record is None else record
        if len(around) > _MOST_AROUND:
            return


def _keep_open(text: str) -> str:
    """Return the tags of a text that it does not close."""
    left: list[str] = []
    for tag in _TAG.finditer(text):
        if tag["end"]:
            del left[-1:]
        elif not tag["alone"]:
            left.append(" ".join(tag[0].split()))
    return "".join(left)


def _cut_elements(file: InputFile, mark: re.Pattern[str]) -> Iterator[tuple[int, str, str]]:
    """Yield line, kind and text of each element: whole; open where another begins before its end, which comes alone.

    The last is the rest of the file, or an element that is too long.
    """
    text, line, counted, start, position, most = "", 1, 0, -1, 0, limit("record")
    declared = _DECLARED.match(file.head())  # another encoding is followed
    if declared and not file.chosen_encoding and declared[1].lower() not in ("utf-8", "utf-16"):
        with suppress(InputError):  # an unknown encoding: that of the bytes
            file.chosen_encoding = check_encoding(declared[1])
    for piece in file.chunks(_PIECE):
        text += piece
        for found in mark.finditer(text, position):
            position = found.end()
            if start < 0 or not found["end"]:
                if start >= 0:
                    yield line, "open", text[start : found.start()]
                start = found.start()
                line, counted = line + text.count("\n", counted, start), start
            if position - start > most:
                break
            if found["end"] or found["alone"]:
                yield line, "end" if found["end"] and start == found.start() else "whole", text[start:position]
                start = -1
        if start >= 0 and len(text) - start > most:
            yield line, "long", ""
            return
        keep = start if start >= 0 else max(position, len(text) - _TAIL)
        line, counted = line + text.count("\n", counted, keep), 0
        text, start, position = text[keep:], min(start, 0), max(0, len(text) - keep - _TAIL, position - keep)
    yield line, "open" if start >= 0 else "rest", text


def _parse(text: str) -> tuple[Element, str, int]:
    """Return an element that holds the root of a text, as far as it goes; its fault, and lines before that."""
    builder = TreeBuilder()
    document = builder.start("document", {})  # the root is put into it, and can be seen where its end is missing
    parser = XMLParser(target=builder)
    try:
        parser.feed(text)
    except ParseError as error:
        return document, f"broken XML: {expat.ErrorString(error.code)}", error.position[0] - 1
    return document, "", 0


def _is_too_deep(element: Element, most: int) -> bool:
    """Say whether more elements than the limit are inside each other."""
    level = [element]
    for _ in range(most):
        level = [child for parent in level for child in parent]
    return bool(level)


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
