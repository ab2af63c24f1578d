"""Articles of a Wikipedia dump: pages-articles XML, plain or compressed, without the markup of their text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import chain

from sciprism.papers.input_file import BadRecord
from sciprism.papers.records import Paper
from sciprism.papers.xml_records import read_xml_records, text_of
from sciprism.text.documents.document import Document, DocumentFile, join_paragraphs, register_reader

LICENCE = "CC BY-SA"
NOT_ARTICLE, REDIRECT = "page that is not an article", "redirect"
_START = re.compile(r"<mediawiki\b[^>]*>")
_NAMESPACE = re.compile(r'xmlns="([^"]*)"')
_LANGUAGE = re.compile(r'xml:lang="([^"]*)"')


@register_reader("wikipedia", (".xml",), lambda head: _START.search(head) is not None)
def read_wikipedia(file: DocumentFile) -> Iterator[Document]:
    """Yield each article (namespace 0, no redirects), its title first; ids are page ids."""
    root = match[0] if (match := _START.search(file.input_file.head())) else ""
    space = f"{{{match[1]}}}" if (match := _NAMESPACE.search(root)) else ""
    language = match[1] if (match := _LANGUAGE.search(root)) else ""
    for page in read_xml_records(file.input_file, (f"{space}page",)):
        if isinstance(page, BadRecord):
            file.drop_record(file.path.name, page.reason)
            continue
        name, title = text_of(page, f"{space}id"), text_of(page, f"{space}title")
        if text_of(page, f"{space}ns") not in ("", "0"):
            file.dropped.add(NOT_ARTICLE, title)
        elif page.find(f"{space}redirect") is not None:
            file.dropped.add(REDIRECT, title)
        else:
            text = strip_wikitext(page.findtext(f"{space}revision/{space}text") or "")
            yield Document(
                id=f"wikipedia:{name}",
                text=join_paragraphs(title, text) if text else "",
                paper=Paper(id=f"wikipedia:{name}", title=title, abstract=text[:2000]),
                language=language,
                licence=LICENCE,
            )


# ---- markup ----


_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HIDDEN_ELEMENTS = "ref|math|chem|gallery|timeline|syntaxhighlight|source|score|imagemap|hiero|graph"
_EMPTY_ELEMENT = re.compile(rf"<(?:{_HIDDEN_ELEMENTS})\b[^<>]*/>", re.IGNORECASE)
_ELEMENT = re.compile(rf"(<(?:{_HIDDEN_ELEMENTS})\b[^<>]*>)|</(?:{_HIDDEN_ELEMENTS})\s*>", re.IGNORECASE)
_TEMPLATE = re.compile(r"(\{\{)|\}\}")
_TABLE = re.compile(r"(^[ \t:]*\{\|)|^[ \t]*\|\}", re.MULTILINE)
_LINK = re.compile(r"\[\[([^\[\]]*)\]\]")
_EXTERNAL_LINK = re.compile(r"\[(?:https?:|ftp:|mailto:)?//\S+[ \t]*")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,300}>")
_EMPHASIS = re.compile("'{2,5}")
_HEADING = re.compile(r"^[ \t]*(={1,6})([^\n]*)$", re.MULTILINE)
_LIST_MARK = re.compile(r"^[*#:;]+[ \t]*", re.MULTILINE)
_SWITCH = re.compile(r"__[A-Z]+__")
_UNMATCHED = re.compile(r"\{\{|\}\}|\[\[|\]\]|^[ \t:]*\{\||^[ \t]*\|\}?[^\n]*$", re.MULTILINE)
_BLANK = re.compile(r"\n\s*\n")
_EMPTY_BRACKETS = re.compile(r"\((?:\s*[;,])?\s*\)")
_SHOWN_ELSEWHERE = {"file", "image", "category", "media"}
_MAX_LINK_DEPTH = 5  # levels of links in captions of links that are resolved


def strip_wikitext(text: str) -> str:
    """Return the running text: no templates, tables, notes, formulas, files; links as their text."""
    text = _remove_enclosed(_EMPTY_ELEMENT.sub("", _COMMENT.sub("", text)), _ELEMENT)
    text = _remove_enclosed(_remove_enclosed(text, _TEMPLATE), _TABLE)
    for _ in range(_MAX_LINK_DEPTH):
        text, count = _LINK.subn(_link_text, text)
        if not count:
            break
    text = _replace_external_links(text)
    text = _EMPHASIS.sub("", _SWITCH.sub("", _TAG.sub("", text)))
    text = _HEADING.sub(_separate_heading, text)
    text = html.unescape(_LIST_MARK.sub("", _UNMATCHED.sub("", text)))
    return _BLANK.sub("\n\n", _EMPTY_BRACKETS.sub("", text)).strip()


def _remove_enclosed(text: str, marks: re.Pattern[str]) -> str:
    """Remove what is between an opening mark (the pattern's group) and its closing mark."""
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    for mark in marks.finditer(text):
        if mark[1]:
            opened.append(mark.start())
        elif opened:
            start = opened.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, mark.end()))
    edges = [0, *chain.from_iterable(spans), len(text)]
    return "".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))


def _link_text(link: re.Match[str]) -> str:
    target, *shown = link[1].split("|")
    if target.partition(":")[0].strip().lower() in _SHOWN_ELSEWHERE:
        return ""
    return shown[-1] if shown else target.lstrip(":")


def _replace_external_links(text: str) -> str:
    """Replace each link in single brackets, which a line holds as a whole, by the text after its address."""
    *closed, rest = text.split("]")
    parts = []
    for part in closed:
        link = _EXTERNAL_LINK.search(part, part.rfind("\n") + 1)
        parts.append(f"{part}]" if link is None else part[: link.start()] + part[link.end() :])
    return "".join([*parts, rest])


def _separate_heading(line: re.Match[str]) -> str:
    """Put a heading in a paragraph of its own; another line that begins with = stays."""
    text = line[2].rstrip(" \t")
    if not text and len(line[1]) > 1:  # a heading without a name
        return "\n\n"
    marks = next((line[1][:count] for count in range(len(line[1]), 0, -1) if text.endswith(line[1][:count])), "")
    name = (line[1].removeprefix(marks) + text.removesuffix(marks)).strip(" \t")
    return f"\n\n{name}\n\n" if marks else line[0]
