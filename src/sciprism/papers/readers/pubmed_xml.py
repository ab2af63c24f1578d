"""PubMed XML, as the baseline files and `efetch` give it: articles and book chapters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from sciprism.papers.notations import find_year
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper
from sciprism.papers.source import BadRecord, ReadOptions, Source
from sciprism.papers.xml_records import text_of, texts_of, xml_records

_START = re.compile(r"<Pubmed(Book)?Article(Set)?\b")
_DATES = (
    "Journal/JournalIssue/PubDate/Year",
    "Journal/JournalIssue/PubDate/MedlineDate",  # "1998 Dec-1999 Jan", "Spring 2000"
    "Book/PubDate/Year",
    "Book/PubDate/MedlineDate",
    "ArticleDate/Year",
    "ContributionDate/Year",
)
_CITED = "Reference/ArticleIdList/ArticleId[@IdType='pubmed']"
_VENUES = ("Journal/Title", "Journal/ISOAbbreviation", "Book/BookTitle")


class PubmedXml:
    """Read articles and chapters one at a time; ids and references are PMIDs."""

    suffixes: tuple[str, ...] = (".xml",)

    def recognises(self, head: str) -> bool:
        """Look for the outer elements of PubMed's files."""
        return _START.search(head) is not None

    def read(self, source: Source, options: ReadOptions) -> Iterator[Paper | BadRecord]:
        """Yield every article; the fault of a broken file is one BadRecord after the articles before it."""
        for record in xml_records(source, ("PubmedArticle", "PubmedBookArticle")):
            yield record if isinstance(record, BadRecord) else _paper(record)


def _paper(record: Element) -> Paper:
    chapter = record.find("BookDocument")
    citation = record.find("MedlineCitation") if chapter is None else chapter
    if citation is None:
        citation = record
    found = citation.find("Article") if chapter is None else chapter
    article = citation if found is None else found
    ids = _ids(record, citation, article)
    headings = texts_of(citation, "MeshHeadingList/MeshHeading/DescriptorName")
    keywords = texts_of(citation, "KeywordList/Keyword")
    return Paper(
        id=ids.get("pmid", ""),
        title=_first(article, "ArticleTitle", "VernacularTitle", "Book/BookTitle"),
        abstract=_abstract(article),
        authors=tuple(filter(None, map(_name, article.iterfind("AuthorList/Author")))),
        venue=_first(article, *_VENUES) or text_of(citation, "MedlineJournalInfo/MedlineTA"),
        year=_year(article),
        keywords=tuple(dict.fromkeys(headings + keywords)),
        references=texts_of(record, f"PubmedData/ReferenceList//{_CITED}"),
        ids=ids,
    )


def _ids(record: Element, citation: Element, article: Element) -> dict[str, str]:
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


def _abstract(article: Element) -> str:
    """Join the sections of a structured abstract, each behind its label."""
    sections = []
    for section in article.iterfind("Abstract/AbstractText"):
        label, text = section.get("Label", "").strip(), text_of(section)
        # UNLABELLED is PubMed's own word for a section that has no label.
        sections.append(f"{label}: {text}" if label and text and label != "UNLABELLED" else text)
    return " ".join(filter(None, sections))


def _name(author: Element) -> str:
    given = text_of(author, "ForeName") or text_of(author, "Initials")
    name = " ".join(filter(None, (given, text_of(author, "LastName"), text_of(author, "Suffix"))))
    return name or text_of(author, "CollectiveName")


def _year(article: Element) -> int | None:
    for path in _DATES:
        if year := find_year(text_of(article, path)):
            return year
    return None


def _first(element: Element, *paths: str) -> str:
    return next(filter(None, (text_of(element, path) for path in paths)), "")


paper_readers.register("pubmed_xml")(PubmedXml())
