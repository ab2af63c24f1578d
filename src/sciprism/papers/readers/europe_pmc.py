"""Europe PMC: replies of its API about a search, and about the citations or references of a paper.

The id is Europe PMC's: the PMID of a paper of MEDLINE, else such as `PPR1234`; a reference that it does not have is
without one. Only replies with `resultType=core` hold abstracts.
"""

from __future__ import annotations

import re
from typing import Any

from sciprism.papers.bibliographic_fields import split_names
from sciprism.papers.json_rows import JsonLayout, JsonObject, first_text, get_path, list_texts
from sciprism.papers.paper_rows import build_listed_paper
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

_KEYS = re.compile(r'"(?:resultList|citationList|referenceList|authorString)"\s*:')
_REPLY = JsonLayout(("result", "citation", "reference"), containers=("resultList", "citationList", "referenceList"))


@paper_readers.json_objects(
    "europe_pmc", "Europe PMC: replies of its API about a search, citations or references", (_KEYS,), layout=_REPLY
)
def _build_paper(row: JsonObject) -> Paper:
    medical = first_text(row.get("source")) == "MED"
    people = get_path(row, "authorList", "author")
    written = split_names(first_text(row.get("authorString")).removesuffix("."))
    return build_listed_paper(
        "europe_pmc",
        lambda path: list_texts(get_path(row, *path.split(".")), "descriptorName"),
        authors=tuple(filter(None, map(_parse_person, people))) if isinstance(people, list) else written,
        ids={"pmid": first_text(row.get("id")) if medical else ""},
    )


def _parse_person(value: Any) -> str:
    last = first_text(get_path(value, "lastName"))
    given = first_text(get_path(value, "firstName")) or first_text(get_path(value, "initials"))
    return f"{given} {last}".strip() if last else first_text(value, "fullName", "collectiveName")
