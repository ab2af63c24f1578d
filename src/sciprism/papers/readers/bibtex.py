"""BibTeX and BibLaTeX."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.resources import files

from sciprism.errors import InputError
from sciprism.limits import LINE_SIZE, describe_excess, limit
from sciprism.papers.bibliographic_fields import find_noted_ids, split_keywords, split_outside_braces
from sciprism.papers.cleaning import decode_latex, join_name, normalize_arxiv
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.paper_rows import build_listed_paper
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

# An entry with its opening brace, or, at the start of a line, one of a known type without it. Other words after an @
# are text between entries.
_ENTRY = re.compile(
    r"(?<![\w.])@\s*(?P<type>[A-Za-z][\w-]*)\s*(?P<bracket>[{(])"
    r"|^[^\S\n]*@\s*(?:article|book|booklet|collection|conference|dataset|inbook|incollection|inproceedings|manual"
    r"|mastersthesis|misc|online|patent|phdthesis|proceedings|report|software|techreport|thesis|unpublished)\b"
    r"(?!\s*[{(])",
    re.IGNORECASE | re.MULTILINE,
)
_TYPE_ALONE = re.compile(r"(?<![\w.])@\s*(?:[A-Za-z]+\s*)?\Z")  # at the end of a file
# At the start of a line this opens an entry even if the one before it is not closed.
_NEXT_ENTRY = re.compile(r"\s*@\s*[A-Za-z][\w-]*\s*[{(][^{}=\",]*,\s*(?:$|[\w-]+\s*=)")
_COMMENT = re.compile(r"\s*@\s*comment\s*\{", re.IGNORECASE)
_NO_PAPERS = ("comment", "preamble", "string", "xdata", "set", "control", "bstctl", "ieeetranbstctl")
_MARKS = {mark: re.compile(rf'(?<!\\)[{{}}"{mark}]') for mark in ',#}")'}
_CLOSING = {"{": "}", "(": ")", '"': '"'}
# Commands of AASTeX, with which NASA ADS exports journals: `journal = {\\apj}`.
_JOURNAL = re.compile(r"\s*\{?\s*\\([a-z]+)\s*\}?\s*")
_JOURNAL_NAMES = tomllib.loads((files(__package__) / "aastex_journals.toml").read_text(encoding="utf-8"))
_ARXIV_NOTE = re.compile(r"arxiv:\s*(\S+)", re.IGNORECASE)
_AND, _COMMA = re.compile(" and ", re.IGNORECASE), re.compile(",")
_ESCAPE = re.compile(r"\\([_%&#$~])")
_WRAPPING = re.compile(r"\\url\s*|[{}]")


@paper_readers.reader("bibtex")
def read_bibtex(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield the entries that are papers; an unclosed one is a BadRecord, and those after it are still read.

    The id is the citation key. What an entry leaves to its parent (`crossref`) it lacks: venue or year, whose absence
    is noticed.
    """
    macros: dict[str, str] = {}
    number = size = 0
    for line, kind, body, fault in _split_entries(file):
        if kind == "string" and not fault:  # `name = value`; the name of a malformed macro stays in the values
            name, _, value = body.partition("=")
            try:
                macros[name.strip().lower()] = text = _evaluate(name, value, macros)
            except OverflowError as error:
                raise InputError(f"{file.path}, line {line}: {error}") from None
            except ValueError:
                continue
            if (size := size + len(text)) > limit("record"):
                raise InputError(f"{file.path}, line {line}: all macros hold {describe_excess('record')}")
        if kind in _NO_PAPERS and not fault:
            continue
        number += 1
        file.record_line = line
        try:
            yield BadRecord(number, line, fault) if fault else _build_paper(_read_fields(body, macros))
        except (ValueError, OverflowError) as error:
            yield BadRecord(number, line, str(error))


def _split_entries(file: InputFile) -> Iterator[tuple[int, str, str, str]]:
    """Yield line, type and content of each entry, and what is wrong with it, else an empty text."""
    unopened = "the type of an entry without its opening brace"
    for line, text in _split_sections(file):
        start = counted = 0
        while entry := _ENTRY.search(text, start):
            start = entry.end()
            line, counted = line + text.count("\n", counted, start), start
            if entry["type"] is None:
                yield line, "", "", unopened
                continue
            end = next(_find_marks(text, _CLOSING[entry["bracket"]], start - 1), None)
            fault = "the entry is never closed: a brace is missing, or the file is truncated" if end is None else ""
            yield line, entry["type"].lower(), text[start:end], fault
            start = len(text) if end is None else end + 1
    if alone := _TYPE_ALONE.search(text, start):
        yield line + text.count("\n", counted, alone.start()), "", "", unopened


def _split_sections(file: InputFile) -> Iterator[tuple[int, str]]:
    """Yield the text from the start of one entry to the next that begins a line, with its first line."""
    lines, first, size, depth, most = list[str](), 1, 0, 0, limit("record")
    for line, text in file.lines():
        if depth > 0 or _COMMENT.match(text):  # entries inside of a comment are none
            depth += text.count("{") - text.count("}")
        elif _NEXT_ENTRY.match(text):
            yield first, "\n".join(lines)
            lines, first, size = [], line, 0
        lines.append(text)
        if (size := size + len(text) + LINE_SIZE) > most:
            raise InputError(f"{file.path}, line {first}: {describe_excess('record')}")
    yield first, "\n".join(lines)


def _find_marks(text: str, mark: str, start: int = 0) -> Iterator[int]:
    """Yield the positions of a mark that is outside of braces and quotation marks, or ends the outermost."""
    depth, quoted = 0, False
    for match in _MARKS[mark].finditer(text, start):
        depth += (match[0] == "{") - (match[0] == "}")
        quoted ^= match[0] == '"' and not depth
        if match[0] == mark and not (depth or quoted):
            yield match.start()


def _split(text: str, mark: str) -> list[str]:
    """Split a text at the marks outside of braces and quotation marks."""
    ends = [*_find_marks(text, mark), len(text)]
    return [text[start:end] for start, end in zip([0, *(end + 1 for end in ends)], ends, strict=False)]


def _read_fields(body: str, macros: Mapping[str, str]) -> dict[str, str]:
    """Return the values of an entry, of a repeated field the first, and its key as `@`."""
    key, *parts = _split(body, ",")
    key, parts = ("", [key, *parts]) if "=" in key else (key.strip(), parts)
    fields, room = {"@": key}, len(body) + limit("macros")
    for part in filter(str.strip, parts):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"not BibTeX: {part.strip()[:60]!r} is not `name = value`")
        fields.setdefault(name.strip().lower(), text := _evaluate(name, value, macros))
        if (room := room - len(text)) < 0:
            raise ValueError(f"the entry has {describe_excess('macros')}")
    return fields


def _evaluate(name: str, raw: str, macros: Mapping[str, str]) -> str:
    """Return the text of a value: braced, quoted, a number, a macro, or several of these joined by `#`."""
    raw = raw.strip()
    if raw.startswith("{") and raw.rfind("{") == 0 and raw.find("}") == len(raw) - 1:  # most are such, and soon read
        return raw[1:-1]
    texts, room = list[str](), max(limit("macros"), len(raw))
    for piece in map(str.strip, _split(raw, "#")):
        text, *rest = _split(piece, _CLOSING[piece[0]]) if piece[:1] in ("{", '"') else ("", "")
        if rest != [""]:
            follows = piece[len(text) + 1 :].strip()[:40]
            raise ValueError(f"field {name.strip()}: {follows!r} follows its value; is a comma missing?")
        texts.append(text[1:] if text else macros.get(piece.lower(), piece))
        if (room := room - len(texts[-1])) < 0:
            raise OverflowError(f"field {name.strip()}: {describe_excess('macros')}")
    return "".join(texts)


def _build_paper(fields: Mapping[str, str]) -> Paper:
    def find(name: str) -> tuple[str, ...]:
        return (decode_latex(fields[name]),) if fields.get(name) else ()

    command = _JOURNAL.fullmatch(fields.get("journal", ""))
    people = split_outside_braces(_AND, " ".join((fields.get("author") or fields.get("editor") or "").split()))
    words = (*find("keywords"), *find("keyword"), *find("author_keywords"), "")
    paper = build_listed_paper(
        "bibtex",
        find,
        id=fields["@"],
        authors=tuple(name for name in map(_join_name, people) if name and name != "others"),
        keywords=split_keywords(words[0]),
        ids=_collect_ids(fields),
    )
    journal = command and _JOURNAL_NAMES.get(command[1])
    subtitle, paper = find("subtitle"), replace(paper, venue=journal or paper.venue)
    unfollowed = fields.get("crossref") and not (paper.venue and paper.year)
    return replace(
        paper,
        title=": ".join((paper.title, *subtitle)),
        notice=paper.notice or ("unfollowed crossref" if unfollowed else ""),
    )


def _join_name(name: str) -> str:
    """Return `First von Last Junior` of `von Last, Junior, First`."""
    parts = [decode_latex(part).strip() for part in split_outside_braces(_COMMA, name)]
    if len(parts) > 2:
        parts = [parts[0], " ".join(parts[2:]), parts[1]]
    last, given, *junior = [*parts, ""]
    return join_name(given, last, *junior)


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
