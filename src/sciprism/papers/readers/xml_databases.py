"""PubMed's XML (baseline, updates, efetch); replies of arXiv's API (Atom), and its snapshot, one JSON record a line.

A PMID may have several versions; files of XML list the deleted PMIDs after their articles. Of arXiv categories are the
fields; the first version gives the year. A withdrawn paper stays a paper, and is counted: its abstract is still there,
or says why. One without abstract is a deletion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element

from sciprism.papers.bibliographic_fields import choose_title
from sciprism.papers.cleaning import decode_latex, join_name, normalize_arxiv
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.paper_rows import build_listed_paper
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Deletion, Paper
from sciprism.papers.rows import JsonObject, get_first, get_path, list_texts, parse_year
from sciprism.papers.xml_records import read_xml_records, text_of, texts_of

_AUTHORS = "AuthorList/Author"  # with ValidYN="N" a name that an erratum corrected (NLM, elements of MEDLINE)
_CITED = "Reference/ArticleIdList/ArticleId[@IdType='pubmed']"
_LATER_VERSION = re.compile(r"(?!1$)[1-9]\d{0,2}", re.ASCII)
_DELETIONS = ("DeleteCitation", "DeleteDocument")


@paper_readers.reader("pubmed_xml")
def read_pubmed_xml(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield every article, chapter and deleted PMID; ids and references are PMIDs."""
    for record in read_xml_records(file, ("PubmedArticle", "PubmedBookArticle", *_DELETIONS)):
        if isinstance(record, BadRecord):
            yield record
        elif record.tag in _DELETIONS:
            for number in record.iterfind("PMID"):
                file.record_version = _read_version(number)
                yield Deletion(text_of(number))
        else:
            file.record_version = _read_version(record.find("*/PMID"))
            yield _build_xml_paper(record)


def _read_version(number: Element | None) -> int | None:
    """Return the version of a PMID from 2, None for the first."""
    version = "" if number is None else number.get("Version", "")
    return int(version) if _LATER_VERSION.fullmatch(version) else None


def _build_xml_paper(record: Element) -> Paper:
    chapter = record.find("BookDocument")
    citation = record.find("MedlineCitation") if chapter is None else chapter
    if citation is None:
        citation = record
    article = citation.find("Article") if chapter is None else chapter
    article = citation if article is None else article
    ids = _collect_xml_ids(record, citation, article)
    headings = texts_of(citation, "MeshHeadingList/MeshHeading/DescriptorName")
    keywords = texts_of(citation, "KeywordList/Keyword")
    paper = build_listed_paper(
        "pubmed_xml",
        lambda path: texts_of(article, path),
        id=ids.get("pmid", ""),
        title=choose_title(text_of(article, path) for path in ("ArticleTitle", "VernacularTitle", "Book/BookTitle")),
        abstract=_build_abstract(article.find("Abstract")) or _build_abstract(citation.find("OtherAbstract")),
        authors=tuple(filter(None, map(_join_name, article.iterfind(_AUTHORS)))),
        keywords=tuple(dict.fromkeys(headings + keywords)),
        references=texts_of(record, f"PubmedData/ReferenceList//{_CITED}"),
        ids=ids,
        orcids={
            _join_name(author): orcid
            for author in article.iterfind(_AUTHORS)
            if (orcid := text_of(author, "Identifier[@Source='ORCID']")) and author.get("ValidYN") != "N"
        },
    )
    return paper if paper.venue else replace(paper, venue=text_of(citation, "MedlineJournalInfo/MedlineTA"))


def _collect_xml_ids(record: Element, citation: Element, article: Element) -> dict[str, str]:
    listed = {
        item.get("IdType", ""): text_of(item)
        for place in ("PubmedData", "PubmedBookData", "BookDocument")
        for item in record.iterfind(f"{place}/ArticleIdList/ArticleId")
    }
    ids = {
        "pmid": text_of(citation, "PMID") or listed.get("pubmed", ""),
        "doi": listed.get("doi") or text_of(article, "ELocationID[@EIdType='doi']"),
        "pmcid": listed.get("pmc", ""),
    }
    return {system: value for system, value in ids.items() if value}


def _build_abstract(abstract: Element | None) -> str:
    """Join the sections of a structured abstract, each after its label."""
    sections = []
    for section in () if abstract is None else abstract.iterfind("AbstractText"):
        label, text = section.get("Label", "").strip(), text_of(section)
        # UNLABELLED is PubMed's own word for a section that has no label.
        sections.append(f"{label}: {text}" if label and text and label != "UNLABELLED" else text)
    return " ".join(filter(None, sections))


def _join_name(author: Element) -> str:
    if author.get("ValidYN") == "N":
        return ""
    given = text_of(author, "ForeName") or text_of(author, "Initials")
    name = join_name(given, text_of(author, "LastName"), text_of(author, "Suffix"))
    return name or text_of(author, "CollectiveName")


_AFFILIATION = re.compile(r"\((?:[^()]|\([^()]*\))*\)")
_WITHDRAWN = re.compile(
    r"\b(?:paper|article|manuscript|submission|preprint|version|work|it)\s+(?:has\s+been|have\s+been|was|is)\s+"
    r"(?:now\s+|temporarily\s+)?withdrawn\b|\A\W*withdrawn\b",
    re.IGNORECASE,
)
_ATOM, _ARXIV = "{http://www.w3.org/2005/Atom}", "{http://arxiv.org/schemas/atom}"
_CREATOR = "{http://purl.org/dc/elements/1.1/}creator"  # all authors, in daily feeds
_ANNOUNCED = re.compile(r"arXiv:(?P<year>\d\d)\d\d\.\d+(?:v\d+)? Announce Type: \S+\s+Abstract:\s*")
_BETWEEN_AUTHORS = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")


@paper_readers.json_objects("arxiv")
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
            names.append(join_name(given, family, suffix))
        return list_texts(names)
    listed = row.get("authors")
    if isinstance(listed, str):
        listed = _AFFILIATION.sub("", " ".join(decode_latex(listed).split()))
        return list_texts(list(filter(None, map(str.strip, _BETWEEN_AUTHORS.split(listed)))))
    return list_texts(listed)


@paper_readers.xml_elements("arxiv_atom", f"{_ATOM}entry", "item")
def _build_entry(entry: Element) -> Paper | Deletion:
    """Return the paper of an entry, as the snapshot has it: its id is without version, the first one gives the year.

    A daily feed announces versions: the year of a paper is that of its id.
    """
    name = text_of(entry, f"{_ATOM}id") or text_of(entry, "guid")
    summary = text_of(entry, f"{_ATOM}summary") or text_of(entry, "description")
    announced, categories = _ANNOUNCED.match(summary), entry.iterfind(f"{_ATOM}category")
    row = {
        "id": normalize_arxiv(name.removeprefix("oai:arXiv.org:")),
        "title": text_of(entry, f"{_ATOM}title") or text_of(entry, "title"),
        "abstract": summary[announced.end() :] if announced else summary,
        "authors": [*texts_of(entry, f"{_ATOM}author/{_ATOM}name"), *text_of(entry, _CREATOR).split(", ")],
        "journal-ref": text_of(entry, f"{_ARXIV}journal_ref"),
        "doi": text_of(entry, f"{_ARXIV}doi"),
        "categories": [*(category.get("term", "") for category in categories), *texts_of(entry, "category")],
        "versions": [{"created": f"20{announced['year']}" if announced else text_of(entry, f"{_ATOM}published")}],
        "comments": text_of(entry, f"{_ARXIV}comment"),
    }
    if not row["id"]:  # wrong requests are answered so
        raise ValueError(f"no paper, but the reply {row['title']}: {row['abstract']}")
    return _build_record(row)
