"""Semantic Scholar: responses of its API, its bulk data sets, its older research corpus, and SPECTER's metadata.

The id is the paper's hash, else its corpus number. In a response about citations, the citing or cited paper is read,
in one about authors their papers. SPECTER's `metadata.json`, also SciDocs' `paper_metadata_*.json`, is one object,
id -> paper; authors are ids there, and only names are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.json_rows import JsonLayout, JsonObject, first_text, get_first, get_path, list_texts
from sciprism.papers.paper_rows import RecordRows, build_listed_paper
from sciprism.papers.printed_values import nest_columns
from sciprism.papers.readers.registry import KEYED_RECORDS, STARTS_JSON, paper_readers, read_objects
from sciprism.papers.records import Deletion, Paper

_KEYS = re.compile(
    r'"(paperid|corpusid|externalids|s2fieldsofstudy|outcitations|paperabstract|citedpaper|citingpaper'
    r'|recommendedpapers)"\s*:',
    re.IGNORECASE,
)
_SYSTEMS = {"doi": "doi", "arxiv": "arxiv", "pubmed": "pmid", "pubmedcentral": "pmcid", "mag": "mag"}
_HASH = re.compile("[0-9a-f]{40}")
_WRAPPERS = ("citedPaper", "citingPaper", "paper")  # of the papers in replies about citations and snippets
_REPLY = JsonLayout(("data", "results", "items", "recommendedPapers", "papers"))


def _find_omission(answer: Any) -> str:
    """Name what stands for an id that Semantic Scholar does not know: null in a batch, in a list of citations."""
    is_unknown = answer is None or (isinstance(answer, dict) and any(answer.get(key, "") is None for key in _WRAPPERS))
    return "unknown id" if is_unknown else ""


@paper_readers.json_objects(
    "semantic_scholar",
    "Semantic Scholar papers: responses of the API, the bulk data sets, and the older research corpus",
    (_KEYS,),
    layout=_REPLY,
    find_omission=_find_omission,
)
def _build_paper(answer: JsonObject) -> Paper:
    answer = nest_columns(answer)
    inner = next((answer[key] for key in _WRAPPERS if isinstance(answer.get(key), dict)), answer)
    # The API writes corpusId and fieldsOfStudy, the bulk files corpusid and fieldsofstudy.
    row = {key.lower(): value for key, value in inner.items()}
    if "authorid" in row and "title" not in row:
        raise ValueError("an author, not a paper; ask for the papers of the author")
    number = first_text(get_first(row, "paperid", "id", "corpusid"))
    listed = get_path(row, "externalids")
    external = {key.lower(): value for key, value in listed.items()} if isinstance(listed, dict) else {}
    ids = {"s2": number, **{ours: first_text(external.get(s2) or row.get(ours)) for s2, ours in _SYSTEMS.items()}}
    return build_listed_paper(
        "semantic_scholar",
        lambda path: list_texts(get_path(row, *path.split("."))),
        id=number,  # a cited paper that Semantic Scholar does not have is without one
        authors=list_texts(row.get("authors"), "name"),
        fields=list_texts([*list_texts(row.get("fieldsofstudy")), *list_texts(row.get("s2fieldsofstudy"), "category")]),
        references=list_texts(get_first(row, "references", "outcitations"), "paperId", "corpusId"),
        ids=ids,
    )


@paper_readers.reader(
    "specter",
    "SPECTER's `metadata.json`, also SciDocs' `paper_metadata_*.json`: one JSON object, id -> paper",
    (".json",),
    patterns=(STARTS_JSON, re.compile(KEYED_RECORDS)),
)
def read_specter(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield one paper from each member; numbers among its authors are no names."""
    rows = RecordRows(file, exact=True)

    def build(row: JsonObject) -> Paper:
        cited = row.get("references")
        paper = rows.build({**row, "references": list(cited)} if isinstance(cited, dict) else row)
        names = tuple(name for name in paper.authors if not name.isdecimal())
        ids = {"s2": paper.id} if _HASH.fullmatch(paper.id) else {}
        return replace(paper, authors=names, ids={**ids, **paper.ids})

    return read_objects(file, build, JsonLayout(keyed=True))
