"""Papers from rows of any format (CSV, Excel, JSON, Parquet): the names of their fields, and what values may be."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any

import sciprism.papers.rows as rows
from sciprism.papers.bibliographic_fields import (
    find_keyword_joint,
    find_name_joint,
    find_noted_ids,
    find_retraction,
    find_year,
    join_pages,
    name_item,
    name_object,
    parse_cell,
    parse_printed_list,
    reorder_name,
    split_keywords,
    split_list,
    split_names,
)
from sciprism.papers.cleaning import is_missing
from sciprism.papers.input_file import InputFile
from sciprism.papers.records import ID_SYSTEMS, Paper

PAPER_HEADERS: Mapping[str, str] = rows.FIELD_NAMES["fields"]
"""Our fields and their normalized headers, the best first."""
RECORD_IDS = frozenset(("id", "_id", "paper_id", "corpus_id", "pmid", "doi", "pid", "bibcode"))
"""Keys of JSON and Parquet that name a record of a database."""
# pubmed_parser writes "last|first|initials|identifier;", and MeSH with numbers.
_PARTED_NAME = re.compile(r"(?:(?<=;)|\A)([^|;]+)\|([^|;]*)\|[^|;]*\|[^|;]*(?:;|$)")
_HEADING_NUMBER = re.compile(r"\AD\d{6,9}:(?=\S)")
_LIST_STARTS = frozenset(("['", '["', "{'", '{"'))
_NEEDED = ("id", "title", "abstract")  # whose values must be texts
_REFERENCE = ("id", "paper_id", "paperId", "doi", "lens_id", "name")  # keys of the object of a reference
_MAX_SHAPES, _MAX_UNREAD = 1000, 100  # kinds of objects whose keys are remembered; keys that are named
_OPENALEX_ID = re.compile(r"https?://openalex\.org/(?:works/)?(W\d+)/?", re.IGNORECASE)
_CATEGORY = r"(?:[a-z-]+\.[A-Za-z-]{2,}|(?:astro|cond|gr|hep|math|nucl|quant)-[a-z]+)"
_CATEGORIES = re.compile(rf"{_CATEGORY}(?:,? {_CATEGORY})+")
_AUTHOR_NUMBER = re.compile(r"\(\d+\)")  # Scopus: "Smith, John (57000000000); ..."
# Springer Link writes "Ann AlderBo Birch", and has McBeth and LeRoy too.
_GLUED = re.compile(r"(?<=[^\W\d_A-ZÀ-Þ])(?<!\bMc)(?<!\bMac)(?<!\b[DL][aeiu])(?=[A-ZÀ-Þ])")
_SPRINGER = frozenset(["itemtitle", "itemdoi"])
# OpenCitations Meta (oc_meta 3.0.0): ids are "doi:10.1/x omid:br/061", authors "Doe, Jane [orcid:... omid:...]".
_MARKED = r"[a-z][a-z0-9]*:\S+"
_MARKED_IDS, _MARKED_NOTE = re.compile(rf"{_MARKED}(?: {_MARKED})*"), re.compile(rf"\s*\[{_MARKED}(?: {_MARKED})*\]")
_MARKED_NAME = re.compile(r"([^;\[\]]*[^;\[\]\s])\s*\[[^\[\]]*\borcid:(\S+?)[ \]]")
_NO_AUTHOR = re.compile(r"\[no author name available\]", re.IGNORECASE)  # Scopus


def known_headers(headers: Sequence[str], *, records: bool = False) -> Mapping[str, str]:
    """Return the known headers of each field. records: of JSON and Parquet, whose values have types."""
    present = set(map(rows.normalize_header, headers))
    variants = [table for table in rows.FIELD_NAMES["tables"] if present.issuperset(table["marks"])]
    if records:
        of_databases = [rows.FIELD_NAMES["databases"]] * (not RECORD_IDS.isdisjoint(headers))
        variants += [rows.FIELD_NAMES["records"], *of_databases]
    known = dict(PAPER_HEADERS)
    for variant in variants:
        for field, name in variant.get("without", {}).items():
            known[field] = " ".join(other for other in known[field].split() if other != name)
        known |= {field: f"{names} {known.get(field, '')}" for field, names in variant["first"].items()}
    return known


def guess_paper_columns(headers: Sequence[str]) -> dict[str, Sequence[int]]:
    """Return the columns of the fields that have one."""
    return rows.guess_columns(headers, known_headers(headers))


def list_unread(headers: Sequence[str], columns: rows.Columns) -> tuple[str, ...]:
    """Return the headers that are of no field."""
    read = {column for numbers in columns.values() for column in numbers}
    return tuple(header for n, header in enumerate(headers) if header and n not in read)


def table_row_builder(
    headers: Sequence[str], columns: rows.Columns, sample: Sequence[Sequence[str]]
) -> Callable[[Sequence[str]], Paper]:
    """Return a function that builds the paper of the cells of a row, all texts.

    sample: rows that show how the cells of a column join several values.
    """
    names, keywords = (
        [row[column].strip() for row in sample for column in columns.get(field, ())[:1] if column < len(row)]
        for field in ("authors", "keywords")
    )
    glued = set(map(rows.normalize_header, headers)) >= _SPRINGER
    joints = "glued" if glued else find_name_joint(names), find_keyword_joint(keywords)
    return lambda cells: build_paper(_select_values(cells, columns).get, *joints)


class RecordRows:
    """Builds the papers of objects, whose keys may differ (JSON), or of rows with typed values (Parquet).

    What keys are not read is said in the file. exact: whether texts mean what they are, also "NA" and spaces around
    them. chosen: field -> key.
    """

    def __init__(
        self, file: InputFile, *, exact: bool = False, chosen: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._file, self._exact, self._chosen = file, exact, chosen
        self._columns: dict[tuple[str, ...], dict[str, Sequence[int]]] = {}  # of the keys of an object
        self._unread: dict[str, None] = {}

    def build(self, row: rows.JsonObject) -> Paper:
        """Return the paper of an object; raises ValueError where it is none."""
        if isinstance(inner := row.get("metadata"), Mapping):
            row = {**inner, **row}  # of BEIR, and of replies of Zenodo
        if isinstance(inner := row.get("info"), Mapping):
            row = inner  # DBLP
        keys = tuple(row)
        if (columns := self._columns.get(keys)) is None:
            known = known_headers(keys, records=True)
            columns = rows.find_columns(self._file.path, keys, known, chosen=self._chosen)
            if len(self._columns) < _MAX_SHAPES:
                self._columns[keys] = columns
            if len(self._unread) < _MAX_UNREAD:
                self._unread |= dict.fromkeys(list_unread(keys, columns))
                self._unread.pop("metadata", None)
                self._file.unread_columns = tuple(self._unread)
        if columns.keys().isdisjoint(("id", "title", "abstract")):
            raise ValueError(f"no title and no abstract; keys: {', '.join(row)}")
        authors = columns.get("authors", ())
        as_written = len(authors) > 0 and keys[authors[0]] == "authors"
        return build_paper(_select_values([*row.values()], columns, self._exact).get, as_written=as_written)


def _select_values(cells: Sequence[Any], columns: rows.Columns, exact: bool = False) -> dict[str, Any]:
    """Return the value of each field that has one: of its columns, the first that is not empty."""
    values: dict[str, Any] = {}
    for field, numbers in columns.items():
        for number in numbers:
            value = cells[number] if number < len(cells) else None
            if not exact and type(value) is str:
                value = value.strip()
                value = "" if is_missing(value, title=field == "title") else value
            if value or value == 0:
                values[field] = value
                break
    return values


def build_paper(
    get: Callable[[str], Any], name_joint: str = "", keyword_joint: str = "", *, as_written: bool = False
) -> Paper:
    """Build the paper of one row. get: returns the value of a field, a text, number, list or object, or None.

    The joints are those of `split_names` and `split_keywords`; names without any are "glued". as_written: whether
    names in a list stay as they are, else given names come first. Raises ValueError for a title, an abstract or an id
    that is not a text, and for lists of something else.
    """

    def text(field: str, joint: str = "") -> str:
        return "" if (value := get(field)) is None else _as_text(field, value, joint)

    number, marked = text("id").partition("\n")[0], {}
    work = _OPENALEX_ID.fullmatch(number)
    # PyMed lists cited ones behind the first:
    ids = {system: found for system in ID_SYSTEMS if (found := text(system).partition("\n")[0])}
    if number == "0" == ids.get("pmid"):
        number = ""  # it is the PMID, and there is none
    if _MARKED_IDS.fullmatch(number):
        marked = dict(part.split(":", 1) for part in reversed(number.split()))  # the first of a system
        marked = {system: marked[system] for system in ID_SYSTEMS if system in marked}
        number = "" if " " in number and {"doi", "pmid"} & (marked.keys() | ids.keys()) else number
    authors, orcids = get("authors"), {}
    if isinstance(authors, str):
        authors = _NO_AUTHOR.sub("", _AUTHOR_NUMBER.sub("", authors))
        authors = _GLUED.sub("; ", authors) if name_joint == "glued" else _PARTED_NAME.sub(r"\2 \1;", authors)
        orcids = {reorder_name(name.strip()): orcid for name, orcid in _MARKED_NAME.findall(authors)}
        names = split_names(_MARKED_NOTE.sub("", authors), name_joint)
    else:
        names = _as_list(authors)
        kept = as_written and isinstance(authors, list) and all(isinstance(item, str) for item in authors)
        names = names if kept else tuple(map(reorder_name, names))
    fields = (
        re.split(",? ", text) if _CATEGORIES.fullmatch(text) else [text]
        for field in ("fields", "more_fields")
        for text in _as_list(get(field), split_list)
    )
    keywords = _as_list(get("keywords"), partial(split_keywords, joined_by=keyword_joint))
    keywords += _as_list(get("more_keywords"))
    references = get("references")  # ids in a text have no spaces; Scopus writes whole references under this header
    listed = split_list(references) if isinstance(references, str) else ()
    cited = tuple(_OPENALEX_ID.sub(r"\1", item) for item in listed if " " not in item)
    return Paper(
        id=work[1].upper() if work else number,
        title=text("title"),
        abstract=text("abstract", " "),
        authors=names,
        venue=_MARKED_NOTE.sub(
            "", text("venue") or (text("container") if isinstance(get("container"), Mapping) else "")
        ),
        year=rows.parse_year(year if isinstance(year := get("year"), str | int | float) else str(year)),
        fields=tuple(dict.fromkeys(chain.from_iterable(fields))),
        keywords=tuple(dict.fromkeys(_HEADING_NUMBER.sub("", word) if word[:1] == "D" else word for word in keywords)),
        references=cited if isinstance(references, str) else rows.list_texts(references, *_REFERENCE),
        ids=find_noted_ids(text("note")) | ({"openalex": work[1]} if work else {}) | marked | ids | _as_ids(get("ids")),
        volume=text("volume"),
        issue=text("issue"),
        pages=text("pages") or join_pages(text("first_page"), text("last_page")),
        orcids=orcids,
        notice=find_retraction(str(get("kind"))),
    )


def build_listed_paper(
    format: str, find: Callable[[str], Sequence[str]], *, is_apart: bool = False, **given: Any
) -> Paper:
    """Build the paper of a record by the table of its format: field -> tags or paths, the best first.

    find: returns the texts of a tag or a path. is_apart: whether a venue is never what the title is. given: fields that
    the format has in a way of its own; of ids those of the table come first.
    """
    table: Mapping[str, list[str]] = rows.FIELD_NAMES["formats"][format]

    def every(field: str) -> list[str]:
        groups = ([text for tag in group.split() for text in find(tag) if text] for group in table.get(field, ()))
        return next(filter(None, groups), [])

    def first(field: str) -> str:
        return next(iter(every(field)), "")

    title = given.get("title") or first("title")
    venues = (text for path in table.get("venue", ()) for text in find(path) if not (is_apart and text == title))
    years = (find_year(text) for path in table.get("year", ()) for text in ("year" not in given and find(path)) or ())
    ids: dict[str, str] = given.pop("ids", {}) | {
        system: text for system in table if system in ID_SYSTEMS and (text := first(system))
    }
    values: dict[str, Any] = {
        "id": first("id"),
        "title": title,
        "abstract": first("abstract"),
        "authors": tuple(dict.fromkeys(map(reorder_name, every("authors")))),
        "venue": next(filter(None, venues), ""),
        "year": next(filter(None, years), None),
        "fields": tuple(dict.fromkeys(every("fields"))),
        "keywords": tuple(dict.fromkeys(text for path in table.get("keywords", ()) for text in find(path))),
        "ids": {system: text for system, text in ids.items() if text},
        "volume": first("volume"),
        "issue": first("issue"),
        "pages": join_pages(first("first_page"), first("last_page")) or first("pages"),
        "notice": find_retraction(*every("kind")),
    }
    return Paper(**values | given)


def _as_text(field: str, value: Any, joint: str = "") -> str:
    """Return a value as text: of a list, also a printed one as Crossref's titles are, the first item, or all joined."""
    if type(value) is str:
        if value[:2] not in _LIST_STARTS or (items := parse_printed_list(value)) is None:
            return value
        return joint.join(items if joint else items[:1])
    if isinstance(value, list):
        items = [_as_text(field, item) for item in value]
        return joint.join(items if joint else items[:1])
    if isinstance(value, Mapping) and (name := name_object(value)) is not None:
        return _as_text(field, name, joint)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(int(value)) if value == value // 1 else str(value)
    if field in _NEEDED:
        raise ValueError(f"{field} is {value!r}, not a text")
    return ""


def _as_list(value: Any, split: Callable[[str], tuple[str, ...]] = split_keywords) -> tuple[str, ...]:
    """Return the items of a text, or of a list of texts and of objects that have a name."""
    if value is None:
        return ()
    if isinstance(value, str):
        return split(value)
    if isinstance(value, Mapping) and len(value) == 1:  # IEEE Xplore: {"authors": {"authors": [...]}}
        (inner,) = value.values()
        value = inner if isinstance(inner, list | Mapping) else value
    items = value if isinstance(value, list) else [value]
    return rows.list_texts([name_item(item) if isinstance(item, Mapping) else item for item in items])


def _as_ids(value: Any) -> dict[str, str]:
    """Return ids by system, of an object or of Lens' list of objects with a type and a value."""
    given = parse_cell(value) if isinstance(value, str) else value
    if isinstance(given, list) and all(isinstance(item, Mapping) for item in given):
        listed = {str(item.get("type")): item.get("value") for item in given}
        given = {system: listed.get(system) for system in ID_SYSTEMS}
    if given is not None and not isinstance(given, Mapping):
        raise ValueError(f"ids is {value!r}, not an object")
    return {str(system): str(found) for system, found in (given or {}).items() if found}
