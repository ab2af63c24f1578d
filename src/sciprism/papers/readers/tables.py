"""Tables with a header line (CSV, TSV ...): from Zotero, Scopus, Web of Science, or written by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sciprism.errors import InputError
from sciprism.papers.bibliographic_fields import find_year, split_keywords, split_list, split_names
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import ID_SYSTEMS, Paper
from sciprism.papers.table_columns import cell_getter, find_columns, guess_columns, normalise_header
from sciprism.papers.table_rows import detect_layout, read_rows

# Our fields and their normalised headers, the best first.
_HEADERS = {
    "id": "id key citationkey paperid articleid recordid documentid eid uniquewosid utuniquewosid ut",
    "title": "title articletitle documenttitle papertitle primarytitle ti t1",
    "abstract": "abstract abstractnote abstracttext summary ab n2",
    "authors": "authorfullnames authorsfullnames authors author authornames creators creator af au a1",
    "venue": "venue journal sourcetitle publicationtitle journaltitle journalbook containertitle booktitle "
    "conference conferencetitle conferencename publication source so jo jf t2",
    "year": "year publicationyear pubyear py publicationdate datepublished coverdate published pubdate date issued y1",
    "fields": "fields field fieldsofstudy subjects subject subjectareas categories category researchareas "
    "woscategories wc sc",
    "keywords": "keywords keyword authorkeywords manualtags tags mesh meshterms de kw",
    "references": "references referencedworks citedids",
    "doi": "doi di do digitalobjectidentifier doilink",
    "pmid": "pmid pubmedid pm",
    "pmcid": "pmcid pmc",
    "arxiv": "arxiv arxivid",
    "openalex": "openalex openalexid",
    "s2": "s2 s2id semanticscholarid corpusid",
    "isbn": "isbn",
    "url": "url link articleurl ur",
}
_AUTHOR_NUMBER = re.compile(r"\s*\(\d+\)")  # Scopus: "Smith, John (57000000000); ..."


class PaperTableReader:
    """Read one paper from each row; the header or `options.columns` says which field a column holds."""

    suffixes: tuple[str, ...] = (".csv", ".tsv", ".tab")

    def recognises(self, head: str) -> bool:
        """Look for a header line with a title and another known field."""
        columns = _guess_columns(detect_layout(head, _guess_columns).headers)
        return "title" in columns and len(columns) > 1

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
        """Yield the papers; raises InputError for a table without a title (`options.required_column`)."""
        layout = detect_layout(file.head(), _guess_columns)
        known = _known_headers(layout.headers)
        required = options.required_column
        if required == "abstract" and required not in guess_columns(layout.headers, known):
            listed = ", ".join(filter(None, layout.headers))
            raise InputError(f"{file.path}: no column holds the abstract; columns: {listed}; rename one to abstract")
        columns = find_columns(file.path, layout.headers, known, chosen=options.columns, required=required)
        for number, (cells, fault) in enumerate(read_rows(file, layout), 1):
            if fault:
                yield BadRecord(number, file.record_line, fault)
                continue
            text = cell_getter(cells, columns)
            yield Paper(
                id=text("id"),
                title=text("title"),
                abstract=text("abstract"),
                authors=split_names(_AUTHOR_NUMBER.sub("", text("authors"))),
                venue=text("venue"),
                year=find_year(text("year")),
                fields=split_list(text("fields")),
                keywords=split_keywords(text("keywords")),
                # Ids have no spaces; Scopus writes whole references under this header.
                references=tuple(item for item in split_list(text("references")) if " " not in item),
                ids={system: text(system) for system in ID_SYSTEMS if text(system)},
            )


paper_readers.register("tables")(PaperTableReader())


def _known_headers(headers: Sequence[str]) -> dict[str, str]:
    """Return the known headers of each field; in Web of Science's tables ID means further keywords."""
    web_of_science = {"pt", "ti", "ut"} <= set(map(normalise_header, headers))
    return _HEADERS | {"id": _HEADERS["id"].removeprefix("id ")} if web_of_science else _HEADERS


def _guess_columns(headers: Sequence[str]) -> dict[str, int]:
    return guess_columns(headers, _known_headers(headers))
