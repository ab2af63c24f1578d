"""BibTeX and BibLaTeX.

Files are split into entries here; bibtexparser parses each.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sciprism.papers.bibliographic_fields import find_year, split_keywords
from sciprism.papers.cleaning import decode_latex, normalise_arxiv
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_OPENING = re.compile(r"(?<![\w.])@\s*([A-Za-z][\w-]*)\s*([{(])")
_TYPE_ALONE = re.compile(r"(?<![\w.])@\s*(?:[A-Za-z]+\s*)?$")
# An entry whose line goes on without its brace. Other words after an @ are text between entries.
_UNOPENED = re.compile(
    r"\s*@\s*(?:article|book|booklet|collection|conference|dataset|inbook|incollection|inproceedings|manual"
    r"|mastersthesis|misc|online|patent|phdthesis|proceedings|report|software|techreport|thesis|unpublished)\b"
    r"(?!\s*(?:[{(]|$))",
    re.IGNORECASE,
)
_BRACE = re.compile(r"(?<!\\)[{}]")
_IN_PARENTHESES = re.compile(r"(?<!\\)[{})\"]")
# At the start of a line this opens an entry even if the one before it is not closed.
_NEXT_ENTRY = re.compile(r"\s*@\s*[A-Za-z][\w-]*\s*\{[^{}=\",]*,\s*(?:$|[\w-]+\s*=)")
_RECOGNISED = re.compile(r"^\s*@\s*[A-Za-z]+\s*[{(][^{}\"]*[,=]", re.MULTILINE)
_NO_PAPERS = ("comment", "preamble", "string", "xdata", "set", "control", "bstctl", "ieeetranbstctl")
_VENUES = ("journal", "journaltitle", "booktitle", "eventtitle", "school", "institution", "series", "publisher")
_ARXIV_NOTE = re.compile(r"arxiv:\s*(\S+)", re.IGNORECASE)
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_COMMA = re.compile(r",")
_BRACE_OR_QUOTE = re.compile(r"(?<!\\)[{}\"]")
_ESCAPE = re.compile(r"\\([_%&#$~])")
_WRAPPING = re.compile(r"\\url\s*|[{}]")


@paper_readers.reader("bibtex", "BibTeX and BibLaTeX", (".bib", ".bibtex", ".biblatex"), patterns=(_RECOGNISED,))
def read_bibtex(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield the entries that are papers; an unclosed one is a BadRecord, and those after it are still read.

    The id is the citation key. What an entry leaves to its parent (`crossref`) it lacks: venue or year, whose absence
    is noticed.
    """
    # The parser logs what it cannot read; here that is a BadRecord.
    logging.getLogger("bibtexparser").addHandler(logging.NullHandler())
    macros: dict[str, str] = {}
    number = 0
    for block in _split_blocks(file):
        if block.type == "string" and block.closed:
            # `@string{name = value}`; the name of a malformed macro stays in the values.
            name, _, value = block.text[block.text.index(block.bracket) + 1 : -1].partition("=")
            with suppress(ValueError):
                macros[name.strip().lower()] = _evaluate(name, value, macros)
        if block.type in _NO_PAPERS and block.closed:
            continue
        number += 1
        file.record_line = block.line
        try:
            fields = _fields(block, macros)
            paper = _build_paper(fields)
        except ValueError as error:
            yield BadRecord(number, block.line, str(error))
            continue
        if fields.get("crossref") and not (paper.venue and paper.year):
            file.noticed["unfollowed crossref"] += 1
        yield paper


@dataclass(slots=True)
class _Block:
    """One `@type{...}` while its lines are collected; `closed` after its last brace."""

    line: int
    type: str
    bracket: str
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    quoted: bool = False
    closed: bool = False

    @property
    def text(self) -> str:
        return f"@{self.type}{self.bracket}" + "\n".join(self.lines)

    def add(self, text: str) -> str | None:
        """Add the part of a line that belongs to the block; return the rest, None while the block is open."""
        closing = text.count("}")
        if self.bracket == "{" and closing < self.depth and "\\" not in text:
            self.depth += text.count("{") - closing
            self.lines.append(text)
            return None
        for match in (_BRACE if self.bracket == "{" else _IN_PARENTHESES).finditer(text):
            if match[0] == "{":
                self.depth += 1
            elif match[0] == '"':
                self.quoted ^= self.depth == 1
            elif match[0] == "}" or (self.depth == 1 and not self.quoted):
                self.depth -= 1
            if not self.depth:
                self.closed = True
                self.lines.append(text[: match.end()])
                return text[match.end() :]
        self.lines.append(text)
        return None


def _split_blocks(file: InputFile) -> Iterator[_Block]:
    """Split the file at the braces; a new entry at the start of a line also ends an open one."""
    block: _Block | None = None
    waiting = ""  # a type whose brace may be in the next line
    began = 0
    for line, text in file.lines():
        if block is not None and block.type != "comment" and _NEXT_ENTRY.match(text):
            yield block
            block = None
        rest: str | None = waiting + text
        if block is None and _UNOPENED.match(waiting + text):
            yield _Block(began if waiting else line, "", "")
            rest = text
        waiting = ""
        while rest is not None:
            if block is None:
                opening = _OPENING.search(rest)
                if opening is None:
                    waiting = alone[0] if (alone := _TYPE_ALONE.search(rest)) else ""
                    began = line if text.strip() else began
                    break
                block = _Block(line, opening[1].lower(), opening[2])
                rest = rest[opening.end() :]
            rest = block.add(rest)
            if rest is not None:
                yield block
                block = None
    if block is not None or waiting.strip():
        yield block or _Block(began, "", "")


def _fields(block: _Block, macros: Mapping[str, str]) -> dict[str, str]:
    """Return the values of an entry, and its key as `@`; raises ValueError for a malformed one."""
    if not block.bracket:
        raise ValueError("the type of an entry without its opening brace")
    if not block.closed:
        raise ValueError("the entry is never closed: a brace is missing, or the file is truncated")
    from bibtexparser.entrypoint import parse_string

    library = parse_string(block.text, parse_stack=[])
    entry: Any = library.entries[0] if library.entries else None
    for failed in library.failed_blocks:
        entry = failed.ignore_error_block  # of a duplicate field the first value counts
        if entry is None:
            reason = getattr(failed.error, "abort_reason", None) or str(failed.error)
            raise ValueError(f"not BibTeX: {' '.join(reason.split())}")
    if entry is None:
        raise ValueError(f"not BibTeX: {block.text[:60]!r}")
    fields = {"@": entry.key}
    for item in entry.fields:
        fields.setdefault(item.key.lower(), _evaluate(item.key, item.value, macros))
    return fields


def _evaluate(name: str, raw: str, macros: Mapping[str, str]) -> str:
    """Return the text of a value: braced, quoted, a number, a macro, or several of these joined by `#`."""
    raw = raw.strip()
    inner = raw[1:-1]
    if raw.startswith("{") and raw.endswith("}") and "{" not in inner and "}" not in inner:
        return inner
    pieces = []
    while True:
        piece, raw = _first_piece(raw, macros)
        pieces.append(piece)
        raw = raw.lstrip()
        if not raw:
            return "".join(pieces)
        if not raw.startswith("#"):
            raise ValueError(f"field {name}: {raw[:40]!r} follows its value; is a comma missing?")
        raw = raw[1:].lstrip()


def _first_piece(raw: str, macros: Mapping[str, str]) -> tuple[str, str]:
    if raw[:1] not in ("{", '"'):
        word, hash_sign, rest = raw.partition("#")
        word = word.strip()
        return macros.get(word.lower(), word), hash_sign + rest
    depth = 0
    for match in _BRACE_OR_QUOTE.finditer(raw):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0 and match.start() > 0 and (match[0] == "}") == (raw[0] == "{"):
            return raw[1 : match.start()], raw[match.end() :]
    return raw[1:], ""


def _build_paper(fields: Mapping[str, str]) -> Paper:
    def text(*names: str) -> str:
        return next((decode_latex(fields[name]) for name in names if fields.get(name)), "")

    ids = _collect_ids(fields)
    people = _split_outside_braces(_AND, (fields.get("author") or fields.get("editor") or "").strip())
    title, subtitle = text("title", "maintitle"), text("subtitle")
    return Paper(
        id=fields["@"],
        title=f"{title}: {subtitle}" if subtitle else title,
        abstract=text("abstract"),
        authors=tuple(name for name in map(_join_name, people) if name and name != "others"),
        venue=text(*_VENUES),
        year=find_year(fields.get("year", "")) or find_year(fields.get("date", "")),
        keywords=split_keywords(text("keywords", "keyword", "author_keywords")),
        ids=ids,
        volume=text("volume"),
        issue=text("number", "issue"),
        pages=text("pages", "eid", "articleno", "article-number"),
    )


def _join_name(name: str) -> str:
    """Return `First von Last Junior` of `von Last, Junior, First`."""
    parts = [decode_latex(part).strip() for part in _split_outside_braces(_COMMA, name)]
    if len(parts) > 2:
        parts = [parts[0], " ".join(parts[2:]), parts[1]]
    last, given, *junior = [*parts, ""]
    return " ".join(filter(None, (given, last, *junior)))


def _split_outside_braces(separator: re.Pattern[str], text: str) -> list[str]:
    if "{" not in text:
        return separator.split(text)
    parts, start, seen, depth = [], 0, 0, 0
    for match in separator.finditer(text):
        depth += text.count("{", seen, match.start()) - text.count("}", seen, match.start())
        seen = match.start()
        if depth == 0:
            parts.append(text[start : match.start()])
            start = match.end()
    return [*parts, text[start:]]


def _collect_ids(fields: Mapping[str, str]) -> dict[str, str]:
    systems = ("doi", "pmid", "pmcid", "isbn", "url")
    ids = {system: _verbatim(fields[system]) for system in systems if fields.get(system)}
    if "doi.org/10." in ids.get("url", ""):
        ids.setdefault("doi", ids["url"])
    eprint = _verbatim(fields.get("eprint", ""))
    archive = (fields.get("archiveprefix") or fields.get("eprinttype") or "").lower()
    if archive == "pubmed":
        ids.setdefault("pmid", eprint)
    elif eprint and ("arxiv" in archive or (not archive and normalise_arxiv(eprint))):
        ids["arxiv"] = eprint
    elif noted := _ARXIV_NOTE.search(fields.get("journal", "")):  # "arXiv preprint arXiv:1706.03762"
        ids["arxiv"] = noted[1]
    return ids


def _verbatim(text: str) -> str:
    """Return a link or an identifier without LaTeX's escapes; dashes and tildes stay."""
    return _WRAPPING.sub("", _ESCAPE.sub(r"\1", text)).strip()
