"""The columns of tables of papers: their headers in the exports of databases, and the paper in a row."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from sciprism.papers.bibliographic_fields import find_year, split_keywords, split_list, split_names
from sciprism.papers.records import ID_SYSTEMS, Paper
from sciprism.papers.table_columns import guess_columns, normalise_header

# Our fields and their normalised headers, the best first.
PAPER_HEADERS = {
    "id": "id key citationkey paperid articleid recordid documentid publicationid lensid eid uniquewosid utuniquewosid "
    "ut",
    "title": "title articletitle documenttitle papertitle itemtitle primarytitle ti t1",
    "abstract": "abstract abstractnote abstracttext summary ab n2",
    "authors": "authorfullnames authorsfullnames authors author authornames contributors creators creator af au a1",
    "venue": "venue journal sourcetitle publicationtitle journaltitle journalbook pubtitle containertitle booktitle "
    "conference conferencetitle conferencename publication source so jo jf t2",
    "year": "year publicationyear pubyear py publicationdate datepublished coverdate published pubdate date issued y1",
    "fields": "fields field fieldsofstudy fieldsofresearch fieldsofresearchanzsrc2020 subjects subject "
    "subjectareas categories category researchareas woscategories wc sc",
    "keywords": "keywords keyword authorkeywords manualtags tags mesh meshterms de kw",
    "more_keywords": "indexkeywords keywordsplus automatictags meshterms",
    "references": "references referencedworks citedids",
    "doi": "doi di do digitalobjectidentifier itemdoi doilink",
    "pmid": "pmid pubmedid medlinepmid pm",
    "pmcid": "pmcid pmc",
    "arxiv": "arxiv arxivid",
    "openalex": "openalex openalexid",
    "s2": "s2 s2id semanticscholarid corpusid",
    "isbn": "isbn",
    "url": "url link articleurl dimensionsurl externalurl ur",
}
_AUTHOR_NUMBER = re.compile(r"\s*\(\d+\)")  # Scopus: "Smith, John (57000000000); ..."
_NO_AUTHOR = re.compile(r"\[no author name available\]", re.IGNORECASE)  # Scopus


def known_headers(headers: Sequence[str]) -> Mapping[str, str]:
    """Return the known headers of each field; in Web of Science's tables ID means further keywords."""
    web_of_science = {"pt", "ti", "ut"} <= set(map(normalise_header, headers))
    if not web_of_science:
        return PAPER_HEADERS
    return PAPER_HEADERS | {"id": PAPER_HEADERS["id"].removeprefix("id "), "more_keywords": "id"}


def guess_paper_columns(headers: Sequence[str]) -> dict[str, int]:
    """Return field -> column, of the fields that have one."""
    return guess_columns(headers, known_headers(headers))


def build_paper(text: Callable[[str], str]) -> Paper:
    """Build the paper of one row. text: returns the text of a field's cell."""
    authors = _NO_AUTHOR.sub("", _AUTHOR_NUMBER.sub("", text("authors")))
    return Paper(
        id=text("id"),
        title=text("title"),
        abstract=text("abstract"),
        # PubMed ends the list with a full stop.
        authors=split_names(authors.removesuffix(".") if authors.count(".") == 1 else authors),
        venue=text("venue"),
        year=find_year(text("year")),
        fields=split_list(text("fields")),
        keywords=tuple(dict.fromkeys(split_keywords(text("keywords")) + split_keywords(text("more_keywords")))),
        # Ids have no spaces; Scopus writes whole references under this header.
        references=tuple(item for item in split_list(text("references")) if " " not in item),
        ids={system: text(system) for system in ID_SYSTEMS if text(system)},
    )
