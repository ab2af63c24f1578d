"""JSON of databases: CSL and Crossref, DataCite, Europe PMC, Semantic Scholar, OpenAlex, OpenReview.

Each format has a function that builds the paper of one object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any

import sciprism.papers.readers.registry as registry
import sciprism.papers.rows as rows
from sciprism.limits import describe_excess, limit
from sciprism.papers.bibliographic_fields import (
    RETRACTED,
    find_noted_ids,
    find_retraction,
    find_year,
    nest_columns,
    reorder_name,
    split_keywords,
    split_names,
)
from sciprism.papers.cleaning import clean_text, join_name, normalize_arxiv, normalize_doi
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.paper_rows import RecordRows, build_listed_paper
from sciprism.papers.records import Deletion, Paper

_ITEM = re.compile(r"https?://zotero\.org/.*/items/")  # Zotero's own export: the address of the item
_RESOLVED = re.compile(r"https?://(?:dx\.)?doi\.org/10\.")
_ACRONYM = re.compile(r"(?=(?:.*[A-Z]){2})\S{2,20}")
_WORD = re.compile(r"[^\W_]+")
# What persons are called, by their parts: the whole as it is, given names, particles, last name, suffix, another whole.
_NAME_KEYS = (
    *("literal", "given givenName firstName initials", "dropping-particle", "non-dropping-particle"),
    *("family familyName lastName", "suffix", "name fullName collectiveName"),
)
_TITLES, _DATES = (rows.FIELD_NAMES["formats"]["csl_json"][field] for field in ("title", "year"))


@registry.paper_readers.json_objects("csl_json")
def _build_csl_paper(row: rows.JsonObject) -> Paper:
    row = message if isinstance(message := row.get("message"), dict) else row
    people, words = rows.get_first(row, "author", "editor"), rows.get_first(row, "keyword", "categories")
    people = split_names(people) if isinstance(people, str) else rows.list_items(people)
    number = rows.first_text(rows.get_first(row, "id", "citation-key"))
    if _ITEM.match(number):
        number = rows.first_text(row.get("citation-key")) or number.rpartition("/")[2]
    resolved = _RESOLVED.match(number) is not None  # DataCite: the address of the DOI
    # The best first: `created` is when its DOI was, years later for old works.
    issue = [rows.get_path(row, "journal-issue", key) for key in ("published-print", "published-online")]
    dates = [*map(row.get, _DATES), *issue, row.get("created")]
    note, preprint = row.get("note"), rows.first_text(row.get("number"))  # Zotero: "arXiv:1706.03762" of a preprint
    ids = find_noted_ids(note) if isinstance(note, str) else {}
    ids |= {"doi": number} if resolved else {}
    ids |= {"arxiv": preprint} if preprint.lower().startswith("arxiv:") and "arxiv" not in ids else {}
    return build_listed_paper(
        "csl_json",
        partial(rows.find_texts, row),
        id="" if resolved else number,
        title=_join_titles(row),
        authors=tuple(filter(None, map(_name_person, people))),
        year=next(filter(None, map(_parse_year, dates)), None),
        keywords=split_keywords(words) if isinstance(words, str) else rows.list_texts(words, "tag", "name"),
        references=tuple(f"doi:{doi}" for doi in map(normalize_doi, rows.find_texts(row, "reference.DOI")) if doi),
        ids=ids,
        orcids={_name_person(who): orcid for who in people if (orcid := rows.first_text(rows.get_path(who, "ORCID")))},
        notice=RETRACTED if "retraction" in rows.find_texts(row, "updated-by.type") else "",
    )


def _join_titles(row: rows.JsonObject) -> str:
    """Return the title of a work: Crossref has its acronym, as a short title, and its subtitle apart."""
    titles = (text for key in _TITLES for text in rows.find_texts(row, key) if text.strip())
    title = join_title(next(titles, ""), rows.list_texts(row.get("subtitle")))
    acronym = rows.first_text(row.get("short-title")).strip(" :")
    if _ACRONYM.fullmatch(acronym) and _words(acronym) not in _words(title):
        return f"{acronym}: {title}"
    return title


def join_title(title: str, subtitles: Iterable[str]) -> str:
    """Return title and subtitles as one title; a subtitle that the title has already is not repeated."""
    for subtitle in subtitles:
        words, more = _words(title), _words(subtitle)
        if more in words:
            continue
        if more.startswith(words) or not title.strip():
            title = subtitle
            continue
        colon = "" if title.rstrip().endswith((":", "?", "!", ".")) or subtitle.lstrip().startswith("(") else ":"
        title = f"{title.rstrip()}{colon} {subtitle.lstrip(': ')}"
    return title


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(clean_text(text).casefold()))} "


def _name_person(person: Any) -> str:
    """Return the name of a person, given names first; converters make a person of BibTeX's "and others"."""
    if not isinstance(person, dict):
        return rows.first_text(person)
    parts = [next(filter(None, (rows.first_text(person.get(key)) for key in keys.split())), "") for keys in _NAME_KEYS]
    literal, *whole, last, suffix, name = parts
    given, *particles = whole
    joined = join_name(given, " ".join(filter(None, (*particles, last))), suffix)
    name = literal or (joined if last else name or joined)
    return "" if name == "others" else name


def _parse_year(value: Any) -> int | None:
    if not isinstance(value, dict):
        return find_year(rows.first_text(value))
    parts = value.get("date-parts")
    for part in parts if isinstance(parts, list) else ():
        first = part[0] if isinstance(part, list) and part else part
        if isinstance(first, int | float | str) and (year := re.match(r"0*([1-9]\d{0,3})\b", str(first))):
            return int(year[1])
    return find_year(
        " ".join(rows.first_text(value.get(key)) for key in ("raw", "literal", "season", "year", "date-time"))
    )


_ORCID = re.compile(r"\b\d{4}-\d{4}-\d{4}-\d{3}[\dX]\b")


@registry.paper_readers.json_objects("datacite")
def _build_datacite_paper(answer: rows.JsonObject) -> Paper:
    outer = answer["data"] if isinstance(answer.get("data"), dict) else answer
    row = outer["attributes"] if isinstance(outer.get("attributes"), dict) else outer
    titles = _select(row, "titles", "titleType", "title", "") or rows.find_texts(row, "titles.title")
    people = rows.list_items(row.get("creators"))
    return build_listed_paper(
        "datacite",
        partial(rows.find_texts, row),
        id="" if row.get("doi") else rows.first_text(outer.get("id")),
        title=join_title(next(iter(titles), ""), _select(row, "titles", "titleType", "title", "Subtitle")),
        abstract=next(iter(_select(row, "descriptions", "descriptionType", "description", "Abstract")), ""),
        authors=tuple(filter(None, map(_name_creator, people))),
        orcids={
            _name_creator(person): orcid
            for person in people
            if (orcid := next(filter(_ORCID.search, rows.find_texts(person, "nameIdentifiers.nameIdentifier")), ""))
        },
    )


def _select(row: rows.JsonObject, name: str, type_key: str, key: str, kind: str) -> tuple[str, ...]:
    """Return the texts of one type ("" for those without a type) in a list of typed texts."""
    items = (item for item in rows.list_items(row.get(name)) if isinstance(item, dict))
    return rows.list_texts([item.get(key) for item in items if (item.get(type_key) or "") == kind])


def _name_creator(person: Any) -> str:
    name = _name_person(person)
    return name if rows.get_path(person, "nameType") == "Organizational" else reorder_name(name)


@registry.paper_readers.json_objects("europe_pmc")
def _build_europe_paper(row: rows.JsonObject) -> Paper:
    medical = rows.first_text(row.get("source")) == "MED"
    people = rows.get_path(row, "authorList", "author")
    written = split_names(rows.first_text(row.get("authorString")).removesuffix("."))
    return build_listed_paper(
        "europe_pmc",
        partial(rows.find_texts, row),
        authors=tuple(filter(None, map(_name_person, people))) if isinstance(people, list) else written,
        ids={"pmid": rows.first_text(row.get("id")) if medical else ""},
    )


_S2_SYSTEMS = {"doi": "doi", "arxiv": "arxiv", "pubmed": "pmid", "pubmedcentral": "pmcid", "mag": "mag"}
_HASH = re.compile("[0-9a-f]{40}")
_WRAPPERS = ("citedPaper", "citingPaper", "paper")  # of the papers in replies about citations and snippets


def _find_s2_omission(answer: Any) -> str:
    """Name what stands for an id that Semantic Scholar does not know: null in a batch, in a list of citations."""
    is_unknown = answer is None or (isinstance(answer, dict) and any(answer.get(key, "") is None for key in _WRAPPERS))
    return "unknown id" if is_unknown else ""


@registry.paper_readers.json_objects("semantic_scholar", find_omission=_find_s2_omission)
def _build_s2_paper(answer: rows.JsonObject) -> Paper:
    answer = nest_columns(answer)
    inner = next((answer[key] for key in _WRAPPERS if isinstance(answer.get(key), dict)), answer)
    # The API writes corpusId and fieldsOfStudy, the bulk files corpusid and fieldsofstudy.
    row = {key.lower(): value for key, value in inner.items()}
    number = rows.first_text(rows.get_first(row, "paperid", "id", "corpusid"))
    listed = rows.get_path(row, "externalids")
    external = {key.lower(): value for key, value in listed.items()} if isinstance(listed, dict) else {}
    ids = {
        "s2": number,
        **{ours: rows.first_text(external.get(s2) or row.get(ours)) for s2, ours in _S2_SYSTEMS.items()},
    }
    return build_listed_paper(
        "semantic_scholar",
        partial(rows.find_texts, row),
        id=number,  # a cited paper that Semantic Scholar does not have is without one
        authors=rows.list_texts(row.get("authors"), "name"),
        year=rows.parse_year(rows.get_first(row, "year", "publicationdate")),
        references=rows.list_texts(rows.get_first(row, "references", "outcitations"), "paperId", "corpusId"),
        ids=ids,
    )


@registry.paper_readers.reader("specter")
def read_specter(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield one paper from each member; numbers among its authors are not names."""
    builder = RecordRows(file, exact=True)

    def build(row: rows.JsonObject) -> Paper:
        cited = row.get("references")
        paper = builder.build({**row, "references": list(cited)} if isinstance(cited, dict) else row)
        names = tuple(name for name in paper.authors if not name.isdecimal())
        ids = {"s2": paper.id} if _HASH.fullmatch(paper.id) else {}
        return replace(paper, authors=names, ids={**ids, **paper.ids})

    return registry.read_objects(file, build, rows.JsonLayout(keyed=True))


_WORK = re.compile(r'"id"\s*:\s*"https://openalex\.org/W|"(abstract_inverted_index|referenced_works|authorships)"\s*:')
_MERGED = re.compile(r"\A[^\n]*\bmerge_into_id\b")
_MERGED_COLUMNS = {name: name for name in ("mergedate", "id", "mergeintoid")}
_WORK_ID = re.compile(r"(?:https?://openalex\.org/(?:works/)?)?([Ww]\d+)/?")
_LISTS = ("authorships", "keywords", "topics", "concepts", "mesh", "referenced_works")
_MIN_SCORE = 0.3  # OpenAlex assigns no concepts below


def _build_openalex_paper(row: rows.JsonObject) -> Paper:
    row = nest_columns(row, lists=_LISTS, maps=("abstract_inverted_index",))
    row = {key: value.split("|") if key in _LISTS and isinstance(value, str) else value for key, value in row.items()}
    number = _shorten(rows.get_path(row, "id") or rows.get_path(row, "ids", "openalex"))
    if not number:
        raise ValueError("no id")
    people = rows.list_items(row.get("authorships"))
    names = [
        rows.first_text(rows.get_path(person, "author", "display_name") or rows.get_path(person, "raw_author_name"))
        for person in people
    ]
    orcids = [rows.first_text(rows.get_path(person, "author", "orcid")) for person in people]
    fields, narrower = _fields(row)
    return build_listed_paper(
        "openalex",
        partial(rows.find_texts, row),
        id=str(number),
        abstract=_build_abstract(row.get("abstract_inverted_index")) or rows.first_text(row.get("abstract")),
        authors=rows.list_texts(names),
        year=rows.parse_year(rows.get_first(row, "publication_year", "publication_date")),
        fields=fields,
        keywords=rows.list_texts([*rows.find_texts(row, "keywords"), *rows.find_texts(row, "mesh"), *narrower]),
        references=rows.list_texts([_shorten(work) for work in rows.list_items(row.get("referenced_works"))]),
        ids={"openalex": str(number)}
        | {system: str(_shorten(rows.get_path(row, "ids", system)) or "") for system in ("pmid", "pmcid", "mag")},
        orcids={name: orcid for name, orcid in zip(names, orcids, strict=True) if name and orcid},
        notice=find_retraction(str(row.get("is_retracted"))),
    )


def _build_abstract(index: Any) -> str:
    """Put the words of an inverted index, word -> positions, in order."""
    if index is None:
        return ""
    try:
        most = limit("words")
        listed = ((int(position), word) for word, positions in index.items() for position in positions)
        words = list(islice(listed, most + 1))
        if len(words) > most or sum(len(word) for _, word in words) > limit("field"):
            raise ValueError(describe_excess("words" if len(words) > most else "field"))
    except (AttributeError, TypeError) as error:
        raise ValueError(f"abstract_inverted_index does not map words to positions: {error}") from None
    return " ".join(word for _, word in sorted(words))


def _fields(row: rows.JsonObject) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields and the narrower topics; concepts without levels are all fields."""
    # A table may have the name of the primary topic without its field.
    primary = row.get("primary_topic")
    topics = rows.list_items(row.get("topics")) or ([primary] if rows.get_path(primary, "field") is not None else [])
    if topics:
        narrower = [*rows.find_texts(topics, "subfield.display_name"), *rows.find_texts(topics, "display_name")]
        return rows.find_texts(topics, "field.display_name"), rows.list_texts(narrower)
    scored = ((item, rows.get_path(item, "score")) for item in rows.list_items(row.get("concepts")))
    concepts = [item for item, score in scored if score is None or float(score) >= _MIN_SCORE]
    if all(rows.get_path(item, "level") is None for item in concepts):
        return rows.list_texts(concepts, "display_name"), ()
    widest = [item for item in concepts if rows.get_path(item, "level") in (0, "0")]
    return rows.list_texts(widest, "display_name"), rows.list_texts(
        [c for c in concepts if c not in widest], "display_name"
    )


def _shorten(address: Any) -> Any:
    """Return the last part of an address such as `https://openalex.org/W2741809807`."""
    return address.rstrip("/").rsplit("/", 1)[-1] if isinstance(address, str) else address


@registry.paper_readers.reader(
    "openalex",
    check=lambda head: bool(_MERGED.match(head) or (registry.STARTS_JSON.match(head) and _WORK.search(head))),
    build=_build_openalex_paper,
)
def read_openalex(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield every work of a file, or the deletion of every work that was merged into another."""
    return _read_merged(file) if _MERGED.match(file.head()) else registry.read_objects(file, _build_openalex_paper)


def _read_merged(file: InputFile) -> Iterator[Deletion | BadRecord]:
    layout, columns = rows.detect_columns(file.head(), _MERGED_COLUMNS)
    number, file.deletes = 0, True
    for cells, fault in rows.read_rows(file, layout):
        work = None if fault else _WORK_ID.fullmatch(rows.cell_getter(cells, columns)("id"))
        if work is None and not fault:
            file.omitted["other merged id"] += 1
            continue
        number += 1
        yield BadRecord(number, file.record_line, fault) if work is None else Deletion(work[1].upper())


def _find_openreview_omission(note: Any) -> str:
    if not isinstance(note, dict):
        return ""
    if note.get("ddate"):
        return "deleted note"
    is_reply = note.get("replyto") or note.get("forum") not in (None, "", note.get("id"))
    return "reply" if is_reply else ""


@registry.paper_readers.json_objects("openreview", find_omission=_find_openreview_omission)
def _build_openreview_paper(note: rows.JsonObject) -> Paper:
    content = note.get("content")
    if not isinstance(content, dict):
        raise ValueError("the note has no content")
    # Version 2 writes {"title": {"value": "..."}}, version 1 {"title": "..."}.
    row = {key: rows.get_path(item, "value") if isinstance(item, dict) else item for key, item in content.items()}
    people, words, link = row.get("authors"), row.get("keywords"), rows.first_text(row.get("html"))
    return build_listed_paper(
        "openreview",
        partial(rows.find_texts, row),
        id=rows.first_text(note.get("id")),
        authors=split_names(people) if isinstance(people, str) else rows.list_texts(people, "fullname", "name"),
        year=_parse_date(note.get("pdate")) or rows.parse_year(row.get("venue")) or _parse_date(note.get("cdate")),
        keywords=split_keywords(words) if isinstance(words, str) else rows.list_texts(words),
        ids={"doi": link if "doi.org/" in link else "", "arxiv": normalize_arxiv(link), "url": link},
    )


def _parse_date(milliseconds: Any) -> int | None:
    """Return the year of a time in milliseconds since 1970."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).year
    except (ValueError, OverflowError, OSError):
        return None
