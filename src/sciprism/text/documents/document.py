"""Documents to train on: their kinds, reading files and folders of any kind, and their readers but Wikipedia's.

Read are records of ADS and CMR, JATS articles, papers, plain text, and rows with a text.
"""

from __future__ import annotations

import bz2
import io
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal
from xml.etree.ElementTree import Element

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.cleaning import clean_paper, clean_text
from sciprism.papers.input_file import BadRecord, InputFile
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import PAPER_ID_SYSTEMS, Paper
from sciprism.papers.rows import NOT_READ, get_first, get_path, list_texts, read_named_rows
from sciprism.papers.s2orc import is_s2orc, read_s2orc
from sciprism.papers.xml_records import read_xml_records, text_of
from sciprism.registry import Registry

PARAGRAPH_BREAK = "\n\n"  # separates the title and the paragraphs of a text; no sentence crosses it

EMPTY, UNKNOWN = "empty file", "file of no known kind"
BROKEN = "file that is damaged or truncated"
NO_TEXT = "no text"
_FAULTS = (InputError, OSError, EOFError, zlib.error, tarfile.TarError)
NOT_UTF8 = "file that is not valid UTF-8, still read"

_COMMONS = re.compile(r"creativecommons\.org/(?:licen[sc]es|publicdomain)/([a-z-]+)", re.IGNORECASE)
_CC = re.compile(r"(?:cc|creative commons)[\s-]*(0|by(?:[\s-]+(?:nc|nd|sa))*)(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One text with its metadata; unknown metadata are empty.

    language: a code (`en`) or a name (`English`). licence: in the form of `normalize_licence`. paper: title
    and ids, to recognize papers of tests.
    """

    id: str
    text: str
    paper: Paper
    language: str = ""
    licence: str = ""


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A file, as its reader sees it.

    columns: columns of rows that hold the text. dropped: unusable records, by reason.
    """

    input_file: InputFile
    columns: tuple[str, ...] = ()
    dropped: DropReport = field(default_factory=DropReport)

    @property
    def path(self) -> Path:
        """Return the path of the file; documents are read from disks."""
        path = self.input_file.path
        assert isinstance(path, Path)
        return path

    def note_repairs(self, note: str) -> None:
        """Count the file as repaired, with a note how; does nothing for an empty note."""
        if note:
            self.dropped.add(NOT_UTF8, f"{self.path}: {note}")

    def drop_record(self, location: str, reason: str) -> None:
        """Count a record that cannot be read."""
        self.dropped.add(NOT_READ, f"{location}: {reason}"[:300])


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """A kind of document files.

    suffixes: of their names, without .gz and .bz2. recognizes: says whether the decompressed beginning of a file
    with such a suffix looks like this kind. read: yields the documents in file order, counts unusable records by
    reason, and never raises for content; a truncated file raises InputError or OSError at its end.
    """

    suffixes: tuple[str, ...]
    recognizes: Callable[[str], bool]
    read: Callable[[DocumentFile], Iterator[Document]]


ReadDocuments = Callable[[DocumentFile], Iterator[Document]]
JSON_SUFFIXES = (".jsonl", ".json", ".ndjson")
document_readers: Registry[DocumentReader] = Registry("kind of document")
"""The first reader that recognizes a file reads it."""


def register_reader(
    kind: str, suffixes: tuple[str, ...], recognizes: Callable[[str], bool]
) -> Callable[[ReadDocuments], ReadDocuments]:
    """Register a function that reads files of a kind."""

    def add(read: ReadDocuments) -> ReadDocuments:
        document_readers.register(kind)(DocumentReader(suffixes, recognizes, read))
        return read

    return add


def is_json(head: str) -> bool:
    """Return whether the beginning of a file looks like JSON."""
    return head.lstrip()[:1] in ("{", "[")


# ---- reading ----


def read_documents(
    path: Path, *, kind: str = "", columns: Sequence[str] = (), dropped: DropReport
) -> Iterator[Document]:
    """Yield the documents with text of a file, or of all files of a folder in sorted order.

    kind: of all files, else recognized by suffix and content. columns: columns of rows that hold the text.
    dropped: counts files and records without a text; a file that is not UTF-8 is counted but read. Raises
    InputError for a missing path and for a single file of no known kind.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if kind:
        document_readers[kind]  # raises InputError for an unknown kind
    if path.is_dir() and is_s2orc(path):
        yield from map(build_document, read_s2orc(path, dropped=dropped))
        return
    files = sorted(filter(Path.is_file, path.rglob("*"))) if path.is_dir() else [path]
    for file in files:
        if not file.name.startswith(".") and (file_kind := _find_kind(file, kind, dropped, alone=file == path)):
            yield from _read_file(DocumentFile(open_input_file(file), tuple(columns), dropped), file_kind)


def _find_kind(path: Path, kind: str, dropped: DropReport, *, alone: bool) -> str:
    """Return the kind of a file, or count the reason why it cannot be read and return ""."""
    try:
        head = open_input_file(path).head()
    except _FAULTS as error:
        dropped.add(BROKEN, f"{path}: {error}")
        return ""
    if not head.strip("\x00\x1a \t\r\n"):
        dropped.add(EMPTY, str(path))
        return ""
    name = path.name.lower().removesuffix(".gz").removesuffix(".bz2")
    if kind and (alone or name.endswith(document_readers[kind].suffixes)):
        return kind
    for candidate, reader in document_readers.items() if not kind else ():
        if name.endswith(reader.suffixes) and reader.recognizes(head):
            return candidate
    if alone:
        kinds = ", ".join(f"{n} ({' '.join(r.suffixes)})" for n, r in document_readers.items())
        raise InputError(f"{path}: of no known kind; known: {kinds}; name one with --kind")
    dropped.add(UNKNOWN, str(path))
    return ""


def _read_file(file: DocumentFile, kind: str) -> Iterator[Document]:
    try:
        for document in document_readers[kind].read(file):
            if document.text.strip():
                yield document
            else:
                file.dropped.add(NO_TEXT, document.id)
    except _FAULTS as error:
        file.dropped.add(BROKEN, str(error) if str(file.path) in str(error) else f"{file.path}: {error}")
    if file.input_file.encoding:
        file.note_repairs(f"read as {file.input_file.encoding}")
    elif damaged := file.input_file.damaged_characters:
        file.note_repairs(f"{damaged:,} damaged characters replaced")


# ---- what the readers share ----


class PackedInputFile(InputFile):
    """An input file with its own way to open it: a bz2 file, or a member of an archive."""

    def __init__(self, path: Path, open_bytes: Callable[[], BinaryIO]) -> None:
        super().__init__(path)
        self._open_bytes = open_bytes

    def _open(self) -> BinaryIO:
        return self._open_bytes()


def open_input_file(path: Path) -> InputFile:
    """Return the input file of a path: plain, gzip or bz2."""
    if path.name.lower().endswith(".bz2"):
        return PackedInputFile(path, lambda: io.BufferedReader(bz2.BZ2File(path)))
    return InputFile(path)


def normalize_licence(text: str) -> str:
    """Return a Creative Commons licence in the form "CC BY-NC", without version, and others unchanged.

    >>> normalize_licence("https://creativecommons.org/licenses/by-nc-sa/4.0/")
    'CC BY-NC-SA'
    """
    licence = _COMMONS.search(text) or _CC.search(text)
    if licence is None:
        return " ".join(text.split())
    if licence[1].lower() in ("zero", "0"):
        return "CC0"
    return "CC " + "-".join(re.split(r"[\s-]+", licence[1].upper()))


def build_paper(text: str, name: str) -> Paper:
    """Return a bare text as a paper; the first of several lines is its title."""
    first, _, rest = text.strip().partition("\n")
    return Paper(id=name, title=first, abstract=rest) if rest.strip() else Paper(id=name, abstract=first)


def build_document(paper: Paper, body: str = "", *, language: str = "", licence: str = "") -> Document:
    """Return the title and the abstract of a paper, and what follows them, as a document."""
    text = join_paragraphs(paper.title, paper.abstract, body)
    return Document(id=paper.id, text=text, paper=paper, language=language, licence=licence)


def join_paragraphs(*parts: str) -> str:
    """Join the parts that are not empty."""
    return PARAGRAPH_BREAK.join(filter(None, (part.strip() for part in parts)))


_BIBCODE = re.compile(r'"bibcode"\s*:')


@register_reader("ads", JSON_SUFFIXES, lambda head: is_json(head) and _BIBCODE.search(head) is not None)
def read_ads(file: DocumentFile) -> Iterator[Document]:
    """Yield title, abstract and body of each record; a file may be a response, `{"response": {"docs": [..]}}`."""
    for place, value in read_named_rows(file.input_file, file.dropped):
        docs = get_path(value, "response", "docs")
        for row in docs if isinstance(docs, list) else [value]:
            try:
                yield _build_ads(row)
            except ValueError as error:
                file.drop_record(f"{file.path.name}, {place}", str(error))


def _build_ads(row: Any) -> Document:
    if not isinstance(row, Mapping) or not isinstance(row.get("bibcode"), str):
        raise ValueError("not an object with a bibcode")

    def text(key: str) -> str:
        return " ".join(list_texts(row.get(key)))

    arxiv = [name[6:] for name in list_texts(row.get("identifier")) if name.lower().startswith("arxiv:")]
    listed = {"doi": list_texts(row.get("doi")), "arxiv": arxiv[-1:]}
    ids = {system: names[0] for system, names in listed.items() if names}
    paper = clean_paper(Paper(id=row["bibcode"], title=text("title"), abstract=text("abstract"), ids=ids))
    return build_document(
        paper,
        clean_text(text("body")),
        language=" ".join(list_texts(row.get("language"))[:1]),
        licence=normalize_licence(text("license")),
    )


_KEYS = (re.compile(r'"EntryTitle"\s*:'), re.compile(r'"(Abstract|umm)"\s*:'))


@register_reader(
    "cmr", (*JSON_SUFFIXES, ".umm_json"), lambda head: is_json(head) and all(key.search(head) for key in _KEYS)
)
def read_cmr(file: DocumentFile) -> Iterator[Document]:
    """Yield title and abstract of each collection: a UMM-C object, alone or as `umm` next to its `meta`.

    A file may be a response with `items`.
    """
    for place, value in read_named_rows(file.input_file, file.dropped):
        umm = value.get("umm", value)
        if isinstance(umm, Mapping):
            yield _build_cmr(value, umm, f"{file.path.name}, {place}")
        else:
            file.drop_record(f"{file.path.name}, {place}", "umm is not an object")


def _build_cmr(row: Mapping[str, Any], umm: Mapping[str, Any], location: str) -> Document:
    def string(*keys: str) -> str:
        return value if isinstance(value := get_path(umm, *keys), str) else ""

    paper = clean_paper(
        Paper(
            id=str(get_path(row, "meta", "concept-id") or get_first(row, "concept-id", "ShortName") or location),
            title=string("EntryTitle"),
            abstract=string("Abstract"),
            ids={"doi": doi} if (doi := string("DOI", "DOI")) else {},
        )
    )
    licence = string("UseConstraints", "LicenseURL", "Linkage") or string("UseConstraints", "Description")
    return build_document(paper, language=string("DataLanguage"), licence=normalize_licence(licence))


_START = re.compile(r"<(\w+:)?article\b")
_NAMESPACE = re.compile(r"\{.*\}")
_NO_RUNNING_TEXT = """
ref-list table-wrap table-wrap-group table fig fig-group disp-formula disp-formula-group inline-formula
math tex-math graphic inline-graphic media supplementary-material fn-group
"""
_DROPPED_TAGS = frozenset(_NO_RUNNING_TEXT.split())
_SYSTEMS = {"pmid": "pmid", "pmc": "pmcid", "pmcid": "pmcid", "doi": "doi"}
_ID_ORDER = ("pmcid", "pmid", "doi")
MAX_ARTICLE_BYTES = 1 << 28  # of an article in an archive


# an article, or an archive
@register_reader(
    "jats", (".xml", ".nxml", ".tar", ".tgz"), lambda head: _START.search(head) is not None or head[257:262] == "ustar"
)
def read_jats(file: DocumentFile) -> Iterator[Document]:
    """Yield title, abstract and body of each article of a file, or of every XML file of an archive.

    References, tables, figures and formulas are left out.
    """
    if not file.path.name.lower().endswith((".tar", ".tgz", ".tar.gz", ".tar.bz2")):
        yield from _read_articles(file, file.input_file)
        return
    with tarfile.open(file.path, "r|*") as archive:
        for member in archive:
            if not member.isfile() or not member.name.lower().endswith((".xml", ".nxml")):
                continue
            if member.size > MAX_ARTICLE_BYTES or (stream := archive.extractfile(member)) is None:
                file.drop_record(f"{file.path.name}, {member.name}", f"{member.size:,} bytes")
                continue
            content = partial(io.BytesIO, stream.read())
            yield from _read_articles(file, PackedInputFile(file.path / member.name, content))


def _read_articles(file: DocumentFile, input_file: InputFile) -> Iterator[Document]:
    name, number = input_file.path.name, 0
    for number, record in enumerate(read_xml_records(input_file, _ArticleTags(("{}article",))), 1):
        if isinstance(record, BadRecord):
            file.drop_record(input_file.locate(number, record.line), record.reason)
        else:
            yield _build_document(record, f"{name}#{number}" if number > 1 else name)
    if not number:
        file.drop_record(name, "no article in it")


class _ArticleTags(frozenset[str]):
    """The tag `article` in any namespace."""

    def __contains__(self, tag: object) -> bool:
        return isinstance(tag, str) and _NAMESPACE.sub("", tag) == "article"


def _build_document(article: Element, name: str) -> Document:
    language = article.get("{http://www.w3.org/XML/1998/namespace}lang", "")
    _strip_markup(article)
    meta = article.find("front/article-meta")
    meta = article if meta is None else meta
    ids = {
        _SYSTEMS[kind]: text_of(item)
        for item in meta.iterfind("article-id")
        if (kind := item.get("pub-id-type", "")) in _SYSTEMS
    }
    abstracts = [section for section in meta.iterfind("abstract") if not section.get("abstract-type")]
    abstract = [text for section in abstracts for text in _read_paragraphs(section)]
    paper = clean_paper(
        Paper(
            id=next((f"{system}:{ids[system]}" for system in _ID_ORDER if system in ids), name),
            title=text_of(meta, "title-group/article-title"),
            abstract=join_paragraphs(*abstract),
            ids=ids,
        )
    )
    body = article.find("body")
    paragraphs = () if body is None else _read_paragraphs(body)
    text = join_paragraphs(paper.title, *abstract, *paragraphs)
    return Document(id=paper.id, text=text, paper=paper, language=language, licence=_find_licence(meta))


def _strip_markup(article: Element) -> None:
    """Remove namespaces and elements without running text; the text after them stays."""
    for element in article.iter():
        last = None
        for child in list(element):
            child.tag = _NAMESPACE.sub("", child.tag) if isinstance(child.tag, str) else ""
            if child.tag and child.tag not in _DROPPED_TAGS:
                last = child
                continue
            tail = child.tail or ""
            if last is None:
                element.text = (element.text or "") + tail
            else:
                last.tail = (last.tail or "") + tail
            element.remove(child)


def _read_paragraphs(element: Element) -> Iterator[str]:
    """Yield headings and paragraphs in order; a paragraph inside another is part of the outer one."""
    inner: set[Element] = set()
    for part in element.iter():
        if part.tag in ("title", "p") and part not in inner:
            inner.update(part.iter())
            yield text_of(part)


def _find_licence(meta: Element) -> str:
    """Return the licence by its link, text or type, preferring Creative Commons."""
    statements = []
    for licence in meta.iterfind("permissions/license"):
        links = [value for entry in licence.iter() for key, value in entry.attrib.items() if key.endswith("href")]
        statements += [*links, text_of(licence), licence.get("license-type", "")]
    statements += [text_of(entry) for entry in meta.iterfind("permissions//license_ref")]
    plain = [normalize_licence(entry) for entry in statements if entry.strip()]
    return next((entry for entry in plain if entry.startswith("CC")), plain[0] if plain else "")[:200]


_TABLES_OF_OTHERS = "parquet"
"""Reader of papers whose files the reader of documents of the same name reads: text is in any column."""
_PAPER_KEYS = re.compile(r'"(title|abstract|abstract_inverted_index)"\s*:')


_FORMATS = [reader for name, reader in paper_readers.items() if name != _TABLES_OF_OTHERS]
_SUFFIXES = tuple(dict.fromkeys(suffix for reader in _FORMATS for suffix in reader.suffixes))


def _recognizes_papers(head: str) -> bool:
    """Ask every paper reader; JSON with neither titles nor abstracts is left to `rows`."""
    has_papers = not is_json(head) or _PAPER_KEYS.search(head) is not None
    return has_papers and any(reader.recognizes(head) for reader in _FORMATS)


@register_reader("papers", _SUFFIXES, _recognizes_papers)
def read_paper_documents(file: DocumentFile) -> Iterator[Document]:
    """Yield each paper; a record that cannot be read is counted with the reason."""
    report = ReadReport()
    try:
        for paper in read_papers(file.path, skip_bad=True, report=report):
            yield build_document(paper)
    finally:
        unnamed = report.skipped_count - len(report.skipped)
        for name in [*map(str, report.skipped), *[str(file.path)] * unnamed]:
            file.dropped.add(NOT_READ, name)
        for read_file in report.files:
            file.note_repairs(read_file.note)


MAX_DOCUMENT_CHARS = 1 << 24  # a longer document is split, so that memory stays constant
Separator = Literal["blank line", "line", "file"]
SPLIT = f"text split after {MAX_DOCUMENT_CHARS:,} characters"


def read_plain_text(separator: Separator, file: DocumentFile) -> Iterator[Document]:
    """Yield each document, named by the number of its first line. separator: what separates documents."""
    lines: list[str] = []
    size = first = 0
    for number, line in file.input_file.lines():
        blank = not line.strip()
        ends = separator == "line" or (blank and separator == "blank line")
        if lines and (ends or size >= MAX_DOCUMENT_CHARS):
            if size >= MAX_DOCUMENT_CHARS:
                file.dropped.add(SPLIT, file.input_file.locate(0, first))
            yield _build_plain(file, lines, first)
            lines, size = [], 0
        if lines or not blank:
            first = first if lines else number
            lines.append(line)
            size += len(line)
    if lines:
        yield _build_plain(file, lines, first)


def _build_plain(file: DocumentFile, lines: list[str], first: int) -> Document:
    text, name = "\n".join(lines).strip(), file.input_file.locate(0, first)
    return Document(id=name, text=text, paper=build_paper(text, name))


# texts separated by blank lines are recognized; the other kinds must be named
register_reader("text", (".txt",), lambda _: True)(partial(read_plain_text, "blank line"))
register_reader("text-line", (".txt",), lambda _: False)(partial(read_plain_text, "line"))
register_reader("text-file", (".txt",), lambda _: False)(partial(read_plain_text, "file"))


TEXTS = ("text", "body", "content", "contents", "abstract")
IDS = ("id", "_id", "paper_id", *PAPER_ID_SYSTEMS)
LANGUAGES, LICENCES = ("language", "lang"), ("licence", "license")
_READ = {*IDS, *LANGUAGES, *LICENCES, *TEXTS, "title"}


@register_reader("parquet", (".parquet",), lambda head: head.startswith("PAR1"))
@register_reader("rows", JSON_SUFFIXES, is_json)
def read_text_rows(file: DocumentFile) -> Iterator[Document]:
    """Yield the text of each object or row: its title and the first of `TEXTS`, or the columns given."""
    for place, row in read_named_rows(file.input_file, file.dropped, (*_READ, *file.columns)):
        if file.path.suffix == ".parquet" and (missing := [name for name in file.columns if name not in row]):
            raise InputError(f"{file.path}: no column {missing[0]!r}; it has {', '.join(row)}")
        yield build_row_document(row, file.columns, f"{file.path.name}, {place}")


def build_row_document(row: Mapping[str, Any], columns: tuple[str, ...], location: str) -> Document:
    """Return a row as a document; its text may be empty. location: its id if it has none."""
    name, title = _text(get_first(row, *IDS)) or location, _text(row.get("title"))
    parts = [_text(row.get(column)) for column in columns] or [title, _text(get_first(row, *TEXTS))]
    text = join_paragraphs(*parts)
    paper = Paper(id=name, title=title, abstract=text) if title else build_paper(text, name)
    ids = {system: _text(row[system]) for system in PAPER_ID_SYSTEMS if row.get(system)}
    return Document(
        id=name,
        text=text,
        paper=replace(paper, ids=ids),
        language=_text(get_first(row, *LANGUAGES)),
        licence=normalize_licence(_text(get_first(row, *LICENCES))),
    )


def _text(value: Any) -> str:
    """Return a text or number as text, the texts of a list joined, and "" for anything else."""
    if isinstance(value, list):
        return join_paragraphs(*map(_text, value))
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
