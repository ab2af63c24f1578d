"""JATS XML articles, as PMC has them: one a file, in folders or archives, or many in one file."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterator
from functools import partial
from xml.etree.ElementTree import Element

from sciprism.papers.cleaning import clean_paper
from sciprism.papers.input_file import BadRecord, InputFile
from sciprism.papers.records import Paper
from sciprism.papers.xml_records import read_xml_records, text_of
from sciprism.text.documents.document import (
    Document,
    DocumentFile,
    PackedInputFile,
    join_paragraphs,
    normalise_licence,
    register_reader,
)

_START = re.compile(r"<(\w+:)?article\b")
_NAMESPACE = re.compile(r"\{.*\}")
_NO_RUNNING_TEXT = """
ref-list table-wrap table-wrap-group table fig fig-group disp-formula disp-formula-group inline-formula
math tex-math graphic inline-graphic media supplementary-material fn-group
"""
_DROPPED_TAGS = frozenset(_NO_RUNNING_TEXT.split())
_SYSTEMS = {"pmid": "pmid", "pmc": "pmcid", "pmcid": "pmcid", "doi": "doi"}
_ID_ORDER = ("pmcid", "pmid", "doi")
MAX_ARTICLE_BYTES = 1 << 28  # of an article in an archive


def _recognises(head: str) -> bool:
    return _START.search(head) is not None or head[257:262] == "ustar"  # an article, or an archive


@register_reader("jats", (".xml", ".nxml", ".tar", ".tgz"), _recognises)
def read_jats(file: DocumentFile) -> Iterator[Document]:
    """Yield title, abstract and body of each article of a file, or of every XML file of an archive.

    References, tables, figures and formulas are left out.
    """
    if not file.path.name.lower().endswith((".tar", ".tgz", ".tar.gz", ".tar.bz2")):
        yield from _read_articles(file, file.input_file)
        return
    with tarfile.open(file.path, "r|*") as archive:
        for member in archive:
            if not member.isfile() or not member.name.lower().endswith((".xml", ".nxml")):
                continue
            if member.size > MAX_ARTICLE_BYTES or (stream := archive.extractfile(member)) is None:
                file.drop_record(f"{file.path.name}, {member.name}", f"{member.size:,} bytes")
                continue
            content = partial(io.BytesIO, stream.read())
            yield from _read_articles(file, PackedInputFile(file.path / member.name, content))


def _read_articles(file: DocumentFile, input_file: InputFile) -> Iterator[Document]:
    name, number = input_file.path.name, 0
    for number, record in enumerate(read_xml_records(input_file, _ArticleTags()), 1):
        if isinstance(record, BadRecord):
            file.drop_record(input_file.locate(number, record.line), record.reason)
        else:
            yield _build_document(record, f"{name}#{number}" if number > 1 else name)
    if not number:
        file.drop_record(name, "no article in it")


class _ArticleTags(frozenset[str]):
    """The tag `article` in any namespace."""

    def __contains__(self, tag: object) -> bool:
        return isinstance(tag, str) and _NAMESPACE.sub("", tag) == "article"


def _build_document(article: Element, name: str) -> Document:
    language = article.get("{http://www.w3.org/XML/1998/namespace}lang", "")
    _strip_markup(article)
    meta = article.find("front/article-meta")
    meta = article if meta is None else meta
    ids = {
        _SYSTEMS[kind]: text_of(item)
        for item in meta.iterfind("article-id")
        if (kind := item.get("pub-id-type", "")) in _SYSTEMS
    }
    abstracts = [section for section in meta.iterfind("abstract") if not section.get("abstract-type")]
    abstract = [text for section in abstracts for text in _read_paragraphs(section)]
    paper = clean_paper(
        Paper(
            id=next((f"{system}:{ids[system]}" for system in _ID_ORDER if system in ids), name),
            title=text_of(meta, "title-group/article-title"),
            abstract=join_paragraphs(*abstract),
            ids=ids,
        )
    )
    body = article.find("body")
    paragraphs = () if body is None else _read_paragraphs(body)
    text = join_paragraphs(paper.title, *abstract, *paragraphs)
    return Document(id=paper.id, text=text, paper=paper, language=language, licence=_find_licence(meta))


def _strip_markup(article: Element) -> None:
    """Remove namespaces and elements without running text; the text after them stays."""
    for element in article.iter():
        last = None
        for child in list(element):
            child.tag = _NAMESPACE.sub("", child.tag) if isinstance(child.tag, str) else ""
            if child.tag and child.tag not in _DROPPED_TAGS:
                last = child
                continue
            tail = child.tail or ""
            if last is None:
                element.text = (element.text or "") + tail
            else:
                last.tail = (last.tail or "") + tail
            element.remove(child)


def _read_paragraphs(element: Element) -> Iterator[str]:
    """Yield headings and paragraphs in order; a paragraph inside another is part of the outer one."""
    inner: set[Element] = set()
    for part in element.iter():
        if part.tag in ("title", "p") and part not in inner:
            inner.update(part.iter())
            yield text_of(part)


def _find_licence(meta: Element) -> str:
    """Return the licence by its link, text or type, preferring Creative Commons."""
    statements = []
    for licence in meta.iterfind("permissions/license"):
        links = [value for entry in licence.iter() for key, value in entry.attrib.items() if key.endswith("href")]
        statements += [*links, text_of(licence), licence.get("license-type", "")]
    statements += [text_of(entry) for entry in meta.iterfind("permissions//license_ref")]
    plain = [normalise_licence(entry) for entry in statements if entry.strip()]
    return next((entry for entry in plain if entry.startswith("CC")), plain[0] if plain else "")[:200]
