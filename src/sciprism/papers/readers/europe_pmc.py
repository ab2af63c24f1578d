"""Europe PMC: replies of its API about a search, and about the citations or references of a paper.

The id is Europe PMC's: the PMID of a paper of MEDLINE, else such as `PPR1234`; a reference that it does not have is
without one. Only replies with `resultType=core` hold abstracts.
"""

from __future__ import annotations

import re
from typing import Any

from sciprism.papers.bibliographic_fields import find_retraction, split_names
from sciprism.papers.json_rows import JsonLayout, JsonObject, first_text, get_first, get_path, list_texts, parse_year
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_KEYS = re.compile(r'"(?:resultList|citationList|referenceList|authorString)"\s*:')
_REPLY = JsonLayout(("result", "citation", "reference"), containers=("resultList", "citationList", "referenceList"))


@paper_readers.json_objects(
    "europe_pmc", "Europe PMC: replies of its API about a search, citations or references", (_KEYS,), layout=_REPLY
)
def _build_paper(row: JsonObject) -> Paper:
    medical = first_text(row.get("source")) == "MED"
    number = first_text(row.get("id"))
    headings, words = get_path(row, "meshHeadingList", "meshHeading"), get_path(row, "keywordList", "keyword")
    ids = {
        "doi": first_text(row.get("doi")),
        "pmid": first_text(row.get("pmid")) or (number if medical else ""),
        "pmcid": first_text(row.get("pmcid")),
    }
    return Paper(
        id=number,
        title=first_text(row.get("title")),
        abstract=first_text(row.get("abstractText")),
        authors=_name_authors(row),
        venue=first_text(get_path(row, "journalInfo", "journal", "title"))
        or first_text(get_first(row, "journalTitle", "journalAbbreviation", "publicationTitle"))
        or first_text(get_path(row, "bookOrReportDetails", "publisher")),
        year=parse_year(get_first(row, "pubYear", "firstPublicationDate")),
        keywords=list_texts([*list_texts(headings, "descriptorName"), *list_texts(words)]),
        ids={system: value for system, value in ids.items() if value},
        volume=first_text(get_path(row, "journalInfo", "volume") or row.get("journalVolume")),
        issue=first_text(get_path(row, "journalInfo", "issue") or row.get("issue")),
        pages=first_text(row.get("pageInfo")),
        notice=find_retraction(*list_texts(get_path(row, "pubTypeList", "pubType"))),
    )


def _name_authors(row: JsonObject) -> tuple[str, ...]:
    people = get_path(row, "authorList", "author")
    if not isinstance(people, list):
        return split_names(first_text(row.get("authorString")).removesuffix("."))
    return tuple(filter(None, map(_parse_person, people)))


def _parse_person(value: Any) -> str:
    last = first_text(get_path(value, "lastName"))
    given = first_text(get_path(value, "firstName")) or first_text(get_path(value, "initials"))
    return f"{given} {last}".strip() if last else first_text(value, "fullName", "collectiveName")
