"""Articles as PMC has them: JATS XML, a file each, in folders or archives, or many in one file."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterator
from functools import partial
from xml.etree.ElementTree import Element

from sciprism.papers.cleaning import clean_paper
from sciprism.papers.records import Paper
from sciprism.papers.source import BadRecord, Source
from sciprism.papers.xml_records import text_of, xml_records
from sciprism.text.documents.document import (
    NOT_READ,
    Document,
    DocumentFile,
    PackedSource,
    joined,
    plain_licence,
)
from sciprism.text.documents.registry import document_readers

_START = re.compile(r"<(\w+:)?article\b")
_ARCHIVE = "ustar"
_ARCHIVE_AT = slice(257, 262)
_NAMESPACE = re.compile(r"\{.*\}")
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_NO_TEXT = """
ref-list table-wrap table-wrap-group table fig fig-group disp-formula disp-formula-group inline-formula
math tex-math graphic inline-graphic media supplementary-material fn-group
"""
_WITHOUT = frozenset(_NO_TEXT.split())
_TEXTS = ("title", "p")
_SYSTEMS = {"pmid": "pmid", "pmc": "pmcid", "pmcid": "pmcid", "doi": "doi"}
LARGEST = 1 << 28
"""Bytes of an article in an archive."""


class Jats:
    """Read title, abstract and body; references, tables, figures and formulas are left out."""

    suffixes: tuple[str, ...] = (".xml", ".nxml", ".tar", ".tgz")

    def recognises(self, head: str) -> bool:
        """Look for an article, or for an archive."""
        return _START.search(head) is not None or head[_ARCHIVE_AT] == _ARCHIVE

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield the articles of a file, or of every XML file of an archive."""
        if not file.path.name.lower().endswith((".tar", ".tgz", ".tar.gz", ".tar.bz2")):
            yield from _articles(file, file.source)
            return
        with tarfile.open(file.path, "r|*") as archive:
            for member in archive:
                if not member.isfile() or not member.name.lower().endswith((".xml", ".nxml")):
                    continue
                if member.size > LARGEST or (opened := archive.extractfile(member)) is None:
                    file.dropped.add(NOT_READ, f"{file.path.name}, {member.name}: {member.size:,} bytes")
                    continue
                yield from _articles(
                    file, PackedSource(file.path / member.name, partial(io.BytesIO, opened.read()))
                )


def _articles(file: DocumentFile, source: Source) -> Iterator[Document]:
    number = 0
    for number, record in enumerate(xml_records(source, _Articles()), 1):
        if isinstance(record, BadRecord):
            line = "" if record.line is None else f", line {record.line}"
            file.dropped.add(NOT_READ, f"{source.path.name}{line}: {record.reason}"[:300])
        else:
            yield _document(record, f"{source.path.name}#{number}" if number > 1 else source.path.name)
    if not number:
        file.dropped.add(NOT_READ, f"{source.path.name}: no article in it")


class _Articles(frozenset[str]):
    """The tag `article` in any namespace."""

    def __contains__(self, tag: object) -> bool:
        return isinstance(tag, str) and _NAMESPACE.sub("", tag) == "article"


def _document(article: Element, place: str) -> Document:
    language = article.get(_LANGUAGE, "")
    _bare(article)
    meta = article.find("front/article-meta")
    meta = article if meta is None else meta
    ids = {
        _SYSTEMS[kind]: text_of(item)
        for item in meta.iterfind("article-id")
        if (kind := item.get("pub-id-type", "")) in _SYSTEMS
    }
    abstracts = [each for each in meta.iterfind("abstract") if not each.get("abstract-type")]
    paper = clean_paper(
        Paper(
            id=next(
                (f"{system}:{ids[system]}" for system in ("pmcid", "pmid", "doi") if system in ids), place
            ),
            title=text_of(meta, "title-group/article-title"),
            abstract=joined(*(text for each in abstracts for text in _paragraphs(each))),
            ids=ids,
        )
    )
    body = article.find("body")
    parts = () if body is None else _paragraphs(body)
    abstract = (text for each in abstracts for text in _paragraphs(each))
    text = joined(paper.title, *abstract, *parts)
    return Document(id=paper.id, text=text, paper=paper, language=language, licence=_licence(meta))


def _bare(article: Element) -> None:
    """Take off namespaces and what is no running text; the text behind it stays."""
    for element in article.iter():
        last = None
        for child in list(element):
            child.tag = _NAMESPACE.sub("", child.tag) if isinstance(child.tag, str) else ""
            if child.tag and child.tag not in _WITHOUT:
                last = child
                continue
            tail = child.tail or ""
            if last is None:
                element.text = (element.text or "") + tail
            else:
                last.tail = (last.tail or "") + tail
            element.remove(child)


def _paragraphs(element: Element) -> Iterator[str]:
    """Yield headings and paragraphs in order; a paragraph inside another comes with the outer one."""
    inner: set[Element] = set()
    for found in element.iter():
        if found.tag in _TEXTS and found not in inner:
            inner.update(found.iter())
            yield text_of(found)


def _licence(meta: Element) -> str:
    """Return the licence as its link, its text or its type tells it, the clearest first."""
    told = []
    for found in meta.iterfind("permissions/license"):
        links = [value for each in found.iter() for key, value in each.attrib.items() if key.endswith("href")]
        told += [*links, text_of(found), found.get("license-type", "")]
    told += [text_of(each) for each in meta.iterfind("permissions//license_ref")]
    plain = [plain_licence(each) for each in told if each.strip()]
    return next((each for each in plain if each.startswith("CC")), plain[0] if plain else "")[:200]


document_readers.register("jats")(Jats())
