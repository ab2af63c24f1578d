"""Take the markup off the text of a wiki page."""

from __future__ import annotations

import html
import re

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NAMES = "ref|math|chem|gallery|timeline|syntaxhighlight|source|score|imagemap|hiero|graph"
_LONE = re.compile(rf"<(?:{_NAMES})\b[^<>]*/>", re.IGNORECASE)
_ELEMENT = re.compile(rf"(<(?:{_NAMES})\b[^<>]*>)|</(?:{_NAMES})\s*>", re.IGNORECASE)
_TEMPLATE = re.compile(r"(\{\{)|\}\}")
_TABLE = re.compile(r"(^[ \t:]*\{\|)|^[ \t]*\|\}", re.MULTILINE)
_LINK = re.compile(r"\[\[([^\[\]]*)\]\]")
_OUTSIDE = re.compile(r"\[(?:https?:|ftp:|mailto:)?//[^\s\]]+[ \t]*([^\]\n]*)\]")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,300}>")
_EMPHASIS = re.compile("'{2,5}")
_HEADING = re.compile(r"^[ \t]*(={1,6})[ \t]*([^\n]*?)[ \t]*\1[ \t]*$", re.MULTILINE)
_LIST_MARK = re.compile(r"^[*#:;]+[ \t]*", re.MULTILINE)
_SWITCH = re.compile(r"__[A-Z]+__")
_LEFT = re.compile(r"\{\{|\}\}|\[\[|\]\]|^[ \t:]*\{\||^[ \t]*\|\}?[^\n]*$", re.MULTILINE)
_BLANK = re.compile(r"\n\s*\n")
_EMPTY_BRACKETS = re.compile(r"\(\s*[;,]?\s*\)")
_SHOWN_ELSEWHERE = {"file", "image", "category", "media"}
_DEEPEST = 5
"""Links in captions in links: so many levels are looked at."""


def plain_wikitext(text: str) -> str:
    """Return the running text: no templates, tables, notes, formulas, files; of links their words."""
    text = _without(_LONE.sub("", _COMMENT.sub("", text)), _ELEMENT)
    text = _without(_without(text, _TEMPLATE), _TABLE)
    for _ in range(_DEEPEST):
        text, found = _LINK.subn(_words, text)
        if not found:
            break
    text = _OUTSIDE.sub(r"\1", text)
    text = _EMPHASIS.sub("", _SWITCH.sub("", _TAG.sub("", text)))
    text = _HEADING.sub(r"\n\n\2\n\n", text)
    text = html.unescape(_LIST_MARK.sub("", _LEFT.sub("", text)))
    return _BLANK.sub("\n\n", _EMPTY_BRACKETS.sub("", text)).strip()


def _without(text: str, marks: re.Pattern[str]) -> str:
    """Cut out what stands between an opening mark (the pattern's group) and its closing one."""
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
    kept, at = [], 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])


def _words(link: re.Match[str]) -> str:
    target, *shown = link[1].split("|")
    if target.partition(":")[0].strip().lower() in _SHOWN_ELSEWHERE:
        return ""
    return shown[-1] if shown else target.lstrip(":")
