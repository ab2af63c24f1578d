"""CSL-JSON, as Zotero, Mendeley, Paperpile, pandoc and doi.org write it, and the works of Crossref's API; papis's JSON.

Crossref writes what CSL has as a text as a list, and the subtitle apart; the title is both. The year is that of the
first date that has one, as `issued` may be `[[null]]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from sciprism.papers.bibliographic_fields import RETRACTED, find_noted_ids, find_year, split_keywords, split_names
from sciprism.papers.cleaning import clean_text, normalize_doi
from sciprism.papers.json_rows import JsonLayout, JsonObject, find_text, first_text, get_first, get_path, list_texts
from sciprism.papers.readers.registry import paper_readers, without
from sciprism.papers.records import Paper
from sciprism.papers.rows import FIELD_NAMES

_MARK = re.compile(
    r'"(?:issued|date-parts|container-title|family|citation-key)"\s*:'
    r'|"type"\s*:\s*"(?:article-(?:journal|magazine|newspaper)|paper-conference|post-weblog|entry-encyclopedia)"'
    r'|"message-type"\s*:\s*"work'
)
_ZOTERO = without(r'"itemType"\s*:')  # whose replies may hold CSL too
_ITEM = re.compile(r"https?://zotero\.org/.*/items/")  # Zotero's own export: the address of the item
_RESOLVED = re.compile(r"https?://(?:dx\.)?doi\.org/10\.")
_ACRONYM = re.compile(r"(?=(?:.*[A-Z]){2})\S{2,20}")
_WORD = re.compile(r"[^\W_]+")
_SYSTEMS = ("DOI", "PMID", "PMCID", "ISBN", "URL")
_TITLES, _VENUES, _DATES = (FIELD_NAMES["csl"][field].split() for field in ("title", "venue", "year"))


@paper_readers.json_objects(
    "csl_json",
    "CSL-JSON, as Zotero, Mendeley, Paperpile, pandoc and doi.org write it, and replies of Crossref's API",
    (_MARK, _ZOTERO),
    suffixes=(".csl.json", ".csljson", ".json", ".jsonl", ".ndjson"),
    layout=JsonLayout(containers=("message",)),
)
def _build_paper(row: JsonObject) -> Paper:
    row = message if isinstance(message := row.get("message"), dict) else row
    people, words = get_first(row, "author", "editor"), get_first(row, "keyword", "categories")
    people = split_names(people) if isinstance(people, str) else people if isinstance(people, list) else [people]
    cited = row.get("reference")
    number = first_text(get_first(row, "id", "citation-key"))
    if _ITEM.match(number):
        number = first_text(row.get("citation-key")) or number.rpartition("/")[2]
    return Paper(
        id="" if _RESOLVED.match(number) else number,  # DataCite: the address of the DOI
        title=_join_titles(row),
        abstract=first_text(row.get("abstract")),
        authors=tuple(filter(None, map(_parse_person, people))),
        venue=_first_of(row, _VENUES),
        year=next(filter(None, map(_parse_year, _list_dates(row))), None),
        fields=list_texts(row.get("subject")),
        keywords=split_keywords(words) if isinstance(words, str) else list_texts(words, "tag", "name"),
        references=tuple(f"doi:{doi}" for doi in map(normalize_doi, list_texts(cited, "DOI")) if doi),
        ids=_collect_ids(row),
        volume=find_text(row, "volume"),
        issue=find_text(row, "issue"),
        pages=find_text(row, "page", "pages", "article-number", "number"),
        orcids={_parse_person(who): orcid for who in people if (orcid := find_text(who, "ORCID"))},
        notice=RETRACTED if "retraction" in list_texts(row.get("updated-by"), "type") else "",
    )


def _join_titles(row: JsonObject) -> str:
    """Return the title of a work: Crossref has its acronym, as a short title, and its subtitle apart."""
    title = join_title(_first_of(row, _TITLES), list_texts(row.get("subtitle")))
    acronym = first_text(row.get("short-title")).strip(" :")
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


def _first_of(row: JsonObject, keys: Iterable[str]) -> str:
    return next((text for key in keys if (text := first_text(row.get(key), "name", "title")).strip()), "")


def _parse_person(value: Any) -> str:
    if not isinstance(value, dict):
        return first_text(value)
    parts = ("given", "dropping-particle", "non-dropping-particle", "family", "suffix")
    whole = " ".join(filter(None, (first_text(value.get(part)) for part in parts)))
    name = first_text(value.get("literal")) or whole or first_text(value.get("name"))
    return "" if name == "others" else name  # converters make a person of BibTeX's "and others"


def _list_dates(row: JsonObject) -> Iterator[Any]:
    """Yield the dates of a work, the best first: `created` is when its DOI was, years later for old works."""
    yield from map(row.get, _DATES)
    yield from (get_path(row, "journal-issue", key) for key in ("published-print", "published-online"))
    yield row.get("created")


def _parse_year(value: Any) -> int | None:
    if not isinstance(value, dict):
        return find_year(first_text(value))
    parts = value.get("date-parts")
    for part in parts if isinstance(parts, list) else ():
        first = part[0] if isinstance(part, list) and part else part
        if isinstance(first, int | float | str) and (year := re.match(r"0*([1-9]\d{0,3})\b", str(first))):
            return int(year[1])
    return find_year(" ".join(first_text(value.get(key)) for key in ("raw", "literal", "season", "year", "date-time")))


def _collect_ids(row: JsonObject) -> dict[str, str]:
    ids = {name.lower(): value for name in _SYSTEMS if (value := first_text(row.get(name) or row.get(name.lower())))}
    if _RESOLVED.match(number := first_text(row.get("id"))):
        ids.setdefault("doi", number)
    note = row.get("note")
    for system, value in find_noted_ids(note).items() if isinstance(note, str) else ():
        ids.setdefault(system, value)
    preprint = first_text(row.get("number"))  # Zotero: "arXiv:1706.03762" of a preprint
    if preprint.lower().startswith("arxiv:"):
        ids.setdefault("arxiv", preprint)
    return ids
