"""BibTeX and BibLaTeX.

Files are split into entries here; bibtexparser parses each.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from sciprism.errors import InputError
from sciprism.limits import LINE_SIZE, describe_excess, limit
from sciprism.papers.bibliographic_fields import (
    find_noted_ids,
    find_retraction,
    find_year,
    split_keywords,
    split_outside_braces,
)
from sciprism.papers.cleaning import decode_latex, normalize_arxiv
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
_RECOGNIZED = re.compile(r"^[^\S\n]*@\s*[A-Za-z]+\s*[{(][^{}\"]*[,=]", re.MULTILINE)
_NO_PAPERS = ("comment", "preamble", "string", "xdata", "set", "control", "bstctl", "ieeetranbstctl")
_VENUES = ("journal", "journaltitle", "booktitle", "eventtitle", "school", "institution", "series", "publisher")
# Commands of AASTeX, with which NASA ADS exports journals: `journal = {\\apj}`.
_JOURNAL = re.compile(r"\s*\{?\s*\\([a-z]+)\s*\}?\s*")
_JOURNAL_NAMES = tomllib.loads((files(__package__) / "aastex_journals.toml").read_text(encoding="utf-8"))
_ARXIV_NOTE = re.compile(r"arxiv:\s*(\S+)", re.IGNORECASE)
_AND = re.compile(" and ", re.IGNORECASE)
_SPACE = re.compile(r"\s*")
_COMMA = re.compile(r",")
_BRACE_OR_QUOTE = re.compile(r"(?<!\\)[{}\"]")
_ESCAPE = re.compile(r"\\([_%&#$~])")
_WRAPPING = re.compile(r"\\url\s*|[{}]")


@paper_readers.reader("bibtex", "BibTeX and BibLaTeX", (".bib", ".bibtex", ".biblatex"), patterns=(_RECOGNIZED,))
def read_bibtex(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield the entries that are papers; an unclosed one is a BadRecord, and those after it are still read.

    The id is the citation key. What an entry leaves to its parent (`crossref`) it lacks: venue or year, whose absence
    is noticed.
    """
    # The parser logs what it cannot read; here that is a BadRecord.
    logging.getLogger("bibtexparser").addHandler(logging.NullHandler())
    macros: dict[str, str] = {}
    number = size = 0
    for block in _split_blocks(file):
        if block.type == "string" and block.closed:
            # `@string{name = value}`; the name of a malformed macro stays in the values.
            name, _, value = block.text[block.text.index(block.bracket) + 1 : -1].partition("=")
            try:
                macros[name.strip().lower()] = text = _evaluate(name, value, macros)
            except OverflowError as error:
                raise InputError(f"{file.path}, line {block.line}: {error}") from None
            except ValueError:
                continue
            if (size := size + len(text)) > limit("record"):
                raise InputError(f"{file.path}, line {block.line}: all macros hold {describe_excess('record')}")
        if block.type in _NO_PAPERS and block.closed:
            continue
        number += 1
        file.record_line = block.line
        try:
            yield _build_paper(_fields(block, macros))
        except (ValueError, OverflowError) as error:
            yield BadRecord(number, block.line, str(error))


@dataclass(slots=True)
class _Block:
    """One `@type{...}` while its lines are collected; `closed` after its last brace."""

    line: int
    type: str
    bracket: str
    lines: list[str] = field(default_factory=list)
    size: int = 0
    depth: int = 1
    quoted: bool = False
    closed: bool = False

    @property
    def text(self) -> str:
        return f"@{self.type}{self.bracket}" + "\n".join(self.lines)

    def add(self, text: str, start: int) -> int | None:
        """Add the part of a line from `start` that belongs to the block; return its end, None while it is open."""
        self.size += len(text) - start + LINE_SIZE
        if not start and self.bracket == "{" and (closing := text.count("}")) < self.depth and "\\" not in text:
            self.depth += text.count("{") - closing
            self.lines.append(text)
            return None
        for match in (_BRACE if self.bracket == "{" else _IN_PARENTHESES).finditer(text, start):
            if match[0] == "{":
                self.depth += 1
            elif match[0] == '"':
                self.quoted ^= self.depth == 1
            elif match[0] == "}" or (self.depth == 1 and not self.quoted):
                self.depth -= 1
            if not self.depth:
                self.closed = True
                self.lines.append(text[start : match.end()])
                return match.end()
        self.lines.append(text[start:])
        return None


def _split_blocks(file: InputFile) -> Iterator[_Block]:
    """Split the file at the braces; a new entry at the start of a line also ends an open one."""
    block: _Block | None = None
    waiting = ""  # a type whose brace may be in the next line
    began, most = 0, limit("record")
    for line, text in file.lines():
        if block is not None and block.type != "comment" and _NEXT_ENTRY.match(text):
            yield block
            block = None
        joined = waiting + text
        if block is None and _UNOPENED.match(joined):
            yield _Block(began if waiting else line, "", "")
            joined = text
        waiting = ""
        start: int | None = 0
        while start is not None:
            if block is None:
                opening = _OPENING.search(joined, start)
                if opening is None:
                    waiting = "".join(alone[0].split()) if (alone := _TYPE_ALONE.search(joined, start)) else ""
                    began = line if text.strip() else began
                    break
                block, start = _Block(line, opening[1].lower(), opening[2]), opening.end()
            start = block.add(joined, start)
            if start is not None:
                yield block
                block = None
            elif block.size > most:
                raise InputError(f"{file.path}, line {block.line}: {describe_excess('record')}")
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
    fields, room = {"@": entry.key}, block.size + limit("macros")
    for item in entry.fields:
        fields.setdefault(item.key.lower(), text := _evaluate(item.key, item.value, macros))
        if (room := room - len(text)) < 0:
            raise ValueError(f"the entry has {describe_excess('macros')}")
    return fields


def _evaluate(name: str, raw: str, macros: Mapping[str, str]) -> str:
    """Return the text of a value: braced, quoted, a number, a macro, or several of these joined by `#`."""
    raw = raw.strip()
    inner = raw[1:-1]
    if raw.startswith("{") and raw.endswith("}") and "{" not in inner and "}" not in inner:
        return inner
    pieces, start, room = list[str](), 0, max(limit("macros"), len(raw))
    while True:
        piece, start = _read_piece(raw, start, macros)
        pieces.append(piece)
        if (room := room - len(piece)) < 0:
            raise OverflowError(f"field {name}: {describe_excess('macros')}")
        start = _after_space(raw, start)
        if start == len(raw):
            return "".join(pieces)
        if raw[start] != "#":
            raise ValueError(f"field {name}: {raw[start : start + 40]!r} follows its value; is a comma missing?")
        start = _after_space(raw, start + 1)


def _after_space(text: str, start: int) -> int:
    return space.end() if (space := _SPACE.match(text, start)) else start


def _read_piece(raw: str, start: int, macros: Mapping[str, str]) -> tuple[str, int]:
    """Return the text of the first piece of a value from `start`, and its end."""
    if raw[start : start + 1] not in ("{", '"'):
        end = raw.find("#", start) % (len(raw) + 1)
        word = raw[start:end].strip()
        return macros.get(word.lower(), word), end
    depth = 0
    for match in _BRACE_OR_QUOTE.finditer(raw, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0 and match.start() > start and (match[0] == "}") == (raw[start] == "{"):
            return raw[start + 1 : match.start()], match.end()
    return raw[start + 1 :], len(raw)


def _build_paper(fields: Mapping[str, str]) -> Paper:
    def text(*names: str) -> str:
        return next((decode_latex(fields[name]) for name in names if fields.get(name)), "")

    ids = _collect_ids(fields)
    command = _JOURNAL.fullmatch(fields.get("journal", ""))
    people = split_outside_braces(_AND, " ".join((fields.get("author") or fields.get("editor") or "").split()))
    title, subtitle = text("title", "maintitle"), text("subtitle")
    authors = tuple(name for name in map(_join_name, people) if name and name != "others")
    venue = (command and _JOURNAL_NAMES.get(command[1])) or text(*_VENUES)
    year = find_year(fields.get("year", "")) or find_year(fields.get("date", ""))
    retraction = find_retraction(fields.get("type", ""), fields.get("document_type", ""))
    unfollowed = fields.get("crossref") and not (venue and year)
    return Paper(
        id=fields["@"],
        title=f"{title}: {subtitle}" if subtitle else title,
        abstract=text("abstract"),
        authors=authors,
        venue=venue,
        year=year,
        keywords=split_keywords(text("keywords", "keyword", "author_keywords")),
        ids=ids,
        volume=text("volume"),
        issue=text("number", "issue"),
        pages=text("pages", "eid", "articleno", "article-number", "art_number"),  # the last is Scopus's
        notice=retraction or ("unfollowed crossref" if unfollowed else ""),
    )


def _join_name(name: str) -> str:
    """Return `First von Last Junior` of `von Last, Junior, First`."""
    parts = [decode_latex(part).strip() for part in split_outside_braces(_COMMA, name)]
    if len(parts) > 2:
        parts = [parts[0], " ".join(parts[2:]), parts[1]]
    last, given, *junior = [*parts, ""]
    return " ".join(filter(None, (given, last, *junior)))


def _collect_ids(fields: Mapping[str, str]) -> dict[str, str]:
    systems = ("doi", "pmid", "pmcid", "isbn", "url")
    ids = {system: _verbatim(fields[system]) for system in systems if fields.get(system)}
    for system, value in find_noted_ids(fields.get("note", "")).items():  # "PMID: 123" of Taylor & Francis and SAGE
        ids.setdefault(system, value)
    if "doi.org/10." in ids.get("url", ""):
        ids.setdefault("doi", ids["url"])
    eprint = _verbatim(fields.get("eprint", ""))
    archive = (fields.get("archiveprefix") or fields.get("eprinttype") or "").lower()
    if archive == "pubmed":
        ids.setdefault("pmid", eprint)
    elif eprint and ("arxiv" in archive or (not archive and normalize_arxiv(eprint))):
        ids["arxiv"] = eprint
    elif noted := _ARXIV_NOTE.search(fields.get("journal", "")):  # "arXiv preprint arXiv:1706.03762"
        ids["arxiv"] = noted[1]
    return ids


def _verbatim(text: str) -> str:
    """Return a link or an identifier without LaTeX's escapes; dashes and tildes stay."""
    return _WRAPPING.sub("", _ESCAPE.sub(r"\1", text)).strip()
