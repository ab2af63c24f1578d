"""Papers as `Paper.to_json` writes them, JSON of others with the headers of tables as keys, BEIR's `corpus.jsonl`.

Most JSON formats have an id and a title, so a file with a key of another format is excluded. In BEIR's files `text` is
the abstract; `metadata` may hold further fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.json_rows import JsonLayout
from sciprism.papers.paper_rows import RecordRows
from sciprism.papers.readers.registry import (
    JSON_SUFFIXES,
    KEYED_RECORDS,
    STARTS_JSON,
    paper_readers,
    read_objects,
    without,
)
from sciprism.papers.records import Deletion, Paper

_ID = re.compile(r'"(?:id|paper_?id|corpus_id|pid|bibcode|pmid|pubmed_id|doi|arxiv_id|lens_id)"\s*:', re.IGNORECASE)
_TEXT = re.compile(r'"(?:title|abstract|text)"\s*:', re.IGNORECASE)
_BEIR = (re.compile(r'"_id"\s*:'), re.compile(r'"text"\s*:'))
_OTHER_FORMATS = without(
    r'"(_id|abstract_inverted_index|referenced_works|authorships|paperId|corpusid|externalIds|outCitations'
    r"|authors_parsed|update_date|container-title|issued|invitations?|tcdate|itemType|message-type|recommendedPapers"
    r'|authorString|resultList)"\s*:|"content"\s*:\s*\{|"titles"\s*:\s*\['
    r'|"id"\s*:\s*"https://openalex\.org/W'
    rf"|{KEYED_RECORDS}"
)
_LAYOUT = JsonLayout(
    ("results", "items", "data", "articles", "papers", "records", "docs", "hit", "References"),
    containers=("response", "result", "hits"),
)


@paper_readers.reader(
    "jsonl",
    "Papers as `Paper.to_json` writes them, and JSON whose keys are named as the columns of tables",
    JSON_SUFFIXES,
    patterns=(STARTS_JSON, _ID, _TEXT, _OTHER_FORMATS),
)
@paper_readers.reader(
    "beir",
    "The `corpus.jsonl` of a retrieval test collection in BEIR's layout",
    JSON_SUFFIXES,
    patterns=(STARTS_JSON, *_BEIR),
)
def read_json_papers(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield one paper from each object; its keys may be the headers of any table of papers."""
    return read_objects(file, RecordRows(file, exact=True).build, _LAYOUT)
