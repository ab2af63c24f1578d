"""arXiv metadata: the snapshot of all of arXiv, one record a line, and replies of its API, which are Atom.

Categories are the fields; the first version gives the year. A withdrawn paper stays a paper, and is counted: its
abstract is still there, or says why. One without abstract is a deletion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sciprism.papers.cleaning import decode_latex, normalize_arxiv
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.json_rows import JsonObject, get_first, get_path, list_texts, parse_year
from sciprism.papers.readers.registry import build_record, paper_readers
from sciprism.papers.records import Deletion, Paper
from sciprism.papers.xml_records import read_xml_records, text_of, texts_of

_KEYS = re.compile(r'"(authors_parsed|journal-ref|report-no|update_date)"\s*:')
_AFFILIATION = re.compile(r"\((?:[^()]|\([^()]*\))*\)")
_WITHDRAWN = re.compile(
    r"\b(?:paper|article|manuscript|submission|preprint|version|work|it)\s+(?:has\s+been|have\s+been|was|is)\s+"
    r"(?:now\s+|temporarily\s+)?withdrawn\b|\A\W*withdrawn\b",
    re.IGNORECASE,
)
_ATOM, _ARXIV = "{http://www.w3.org/2005/Atom}", "{http://arxiv.org/schemas/atom}"
_BETWEEN_AUTHORS = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")


@paper_readers.json_objects(
    "arxiv",
    "arXiv metadata, one record a line, as in the snapshot of all of arXiv",
    (_KEYS,),
)
def _build_record(row: JsonObject) -> Paper | Deletion:
    notice = "withdrawn paper" if _WITHDRAWN.search(str(row.get("comments") or "")) else ""
    if notice and not str(row.get("abstract") or "").strip() and row.get("id"):
        return Deletion(str(row["id"]))
    number = row.get("id")
    dois = str(get_first(row, "doi") or "").split()
    versions = row.get("versions")
    first = get_path(versions[0], "created") if isinstance(versions, list) and versions else None
    categories = row.get("categories")
    return Paper.from_json(
        {
            "id": number,
            "title": row.get("title"),
            "abstract": row.get("abstract"),
            "authors": _parse_authors(row),
            "venue": get_first(row, "journal-ref") or "arXiv",
            "year": parse_year(first) or parse_year(row.get("update_date")),
            "fields": list_texts(categories.split() if isinstance(categories, str) else categories),
            "ids": {"arxiv": number, **({"doi": dois[0]} if dois else {})} if number else {},
        },
        notice=notice,
    )


def _parse_authors(row: JsonObject) -> tuple[str, ...]:
    """Prefer the split names, in which arXiv has decoded LaTeX accents."""
    parsed = row.get("authors_parsed")
    if isinstance(parsed, list) and parsed:
        names = []
        for parts in parsed:  # [family, given, suffix, affiliation ...]
            family, given, suffix = [*list_texts(parts[:3] if isinstance(parts, list) else parts), "", "", ""][:3]
            names.append(" ".join(filter(None, (given, family, suffix))))
        return list_texts(names)
    listed = row.get("authors")
    if isinstance(listed, str):
        listed = _AFFILIATION.sub("", " ".join(decode_latex(listed).split()))
        return list_texts(list(filter(None, map(str.strip, _BETWEEN_AUTHORS.split(listed)))))
    return list_texts(listed)


@paper_readers.reader(
    "arxiv_atom",
    "Replies of arXiv's API (Atom)",
    (".atom", ".xml"),
    patterns=(re.compile(r"<feed\b"), re.compile(r"https?://arxiv\.org/(?:api|schemas/atom)")),
)
def read_arxiv_atom(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield the paper of every entry, as the snapshot has it: ids are without version, the first one gives the year."""
    for number, entry in enumerate(read_xml_records(file, (f"{_ATOM}entry",)), 1):
        if isinstance(entry, BadRecord):
            yield entry
            continue
        row = {
            "id": normalize_arxiv(text_of(entry, f"{_ATOM}id")),
            "title": text_of(entry, f"{_ATOM}title"),
            "abstract": text_of(entry, f"{_ATOM}summary"),
            "authors": list(texts_of(entry, f"{_ATOM}author/{_ATOM}name")),
            "journal-ref": text_of(entry, f"{_ARXIV}journal_ref"),
            "doi": text_of(entry, f"{_ARXIV}doi"),
            "categories": [category.get("term", "") for category in entry.iterfind(f"{_ATOM}category")],
            "versions": [{"created": text_of(entry, f"{_ATOM}published")}],
            "comments": text_of(entry, f"{_ARXIV}comment"),
        }
        if not row["id"]:  # wrong requests are answered so
            yield BadRecord(number, None, f"no paper, but the reply {row['title']}: {row['abstract']}")
            continue
        yield build_record(_build_record, row, number, file)
