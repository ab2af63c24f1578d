"""Turn the texts of any source into plain ones: no markup, no entities, no odd characters, single spaces."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha1
from urllib.parse import unquote

from sciprism.papers.records import Label, Paper

_BLOCKS = """
p br div title label sec section list list-item li ul ol dl dt dd table tr td th thead tbody caption
h1 h2 h3 h4 h5 h6 hr blockquote abstract body disp-formula fig
"""
_INLINES = """
i b u em strong sub sup inf small big tt code pre font span a italic bold underline sc scp smallcaps
monospace roman sans-serif strike s del ins q cite abbr mark named-content styled-content ext-link xref uri
email inline-formula inline-graphic img alternatives
"""
# Whatever stands in the name spaces of JATS and MathML is a tag; of bare words only the known ones,
# so that `a <b and c> d` stays. Attributes must look like attributes for the same reason.
_TAG = re.compile(
    r"</?(?:(?P<space>jats|mml|m|xhtml|html|ns\d):)?(?P<name>[a-z][a-z0-9-]*)"
    r"(?:\s+[\w:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>]+))*\s*/?>",
    re.IGNORECASE,
)
# Formulas are often given twice, and once in a language nobody reads. Nothing looks for its end past the
# next one of its kind, so that thousands of unclosed ones cost little.
_HIDDEN = re.compile(
    r"<(?P<tag>(?:\w+:)?(?:annotation|tex-math|script|style))\b[^<>]*>(?:(?!<(?P=tag)\b).)*?</(?P=tag)\s*>"
    r"|<!--(?:(?!<!--).)*?-->|<!\[CDATA\[|\]\]>",
    re.IGNORECASE | re.DOTALL,
)
_MATHML = re.compile(
    r"math|m(?:row|i|n|o|text|frac|s?sub|sup|subsup|sqrt|over|under|fenced|stack|style|space)"
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
# Control characters, soft hyphens, zero-width spaces, lone surrogates; those that are white space stay.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u2060\ufeff\ufffe\uffff\ud800-\udfff]"
)
_HEADING_TAG = re.compile(r"^\s*<((?:jats:)?title)>\s*(?:abstract|summary)\s*</\1>", re.IGNORECASE)
# "Abstract interpretation of programs" is no heading: without punctuation only a usual opening counts.
_HEADING = re.compile(
    r"^(?:(?:ABSTRACT|Abstract)(?:\s*[:.]\s*|\s+[-–—]+\s*|—\s*)|ABSTRACT\s+|Abstract\s+"
    r"(?=(?:We|The|This|These|In|An?|Our|Here|It|To|There|Recent|Background|Objectives?|Purpose|Aims?"
    r"|Introduction|Motivation|Context|Methods|Summary)\b))(?=\S)"
)
_NO_ABSTRACT = re.compile(r"\[no abstract available\]\.?", re.IGNORECASE)  # Scopus
_PASSES = 4  # markup inside of entities inside of markup; more is nobody's honest text

_DOI = re.compile(r"10\.\d{3,9}(?:\.\d+)*/[^\s?]+")
_ARXIV = re.compile(
    r"(?:.*arxiv\.org/(?:abs|pdf|html)/|\s*arxiv:\s*|\s*)(?P<id>\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})"
    r"(?:v\d+)?(?:\.pdf)?(?:\s|$)",
    re.IGNORECASE,
)


def clean_text(text: str) -> str:
    """Return `text` without tags, entities, invisible characters and superfluous space, in Unicode's NFC."""
    for _ in range(_PASSES):
        before = text
        if "<" in text:
            text = _TAG.sub(_tag_space, _HIDDEN.sub("", text))
        if "&" in text:
            text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
        if text == before:
            break
    return clean_name(text)


def clean_name(text: str) -> str:
    """Return `text` without invisible characters and superfluous space; what looks like markup stays."""
    if not text.isprintable():
        text = _INVISIBLE.sub("", text)
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split())


def clean_abstract(text: str) -> str:
    """Clean an abstract and take off the heading that says it is one; a note that there is none is none."""
    text = _HEADING.sub("", clean_text(_HEADING_TAG.sub("", text)))
    return "" if _NO_ABSTRACT.fullmatch(text) else text


def normalise_doi(text: str) -> str:
    """Return the bare lower-case DOI inside of a link, a `doi:` prefix or a note; empty if there is none."""
    match = _DOI.search(html.unescape(unquote(text)) if "%" in text or "&" in text else text)
    if match is None:
        return ""
    doi = match[0].lower().rstrip(".,;:\"'>]}")
    while doi.endswith(")") and doi.count(")") > doi.count("("):
        doi = doi[:-1].rstrip(".,;:")
    return doi


def normalise_arxiv(text: str) -> str:
    """Return the bare arXiv identifier without its version; empty if there is none."""
    match = _ARXIV.match(text)
    return match["id"].lower() if match else ""


def clean_paper(paper: Paper) -> Paper:
    """Clean every text of a paper, bring its ids into one form, and give it an id where it has none."""
    ids = _clean_ids(paper)
    cleaned = replace(
        paper,
        id=clean_name(paper.id),
        title=clean_text(paper.title),
        abstract=clean_abstract(paper.abstract),
        authors=_clean_all(paper.authors),
        venue=clean_text(paper.venue),
        fields=_clean_all(paper.fields),
        keywords=_clean_all(paper.keywords),
        references=tuple(filter(None, map(clean_name, paper.references))),
        ids=ids,
    )
    return cleaned if cleaned.id else replace(cleaned, id=_derived_id(cleaned))


def clean_label(label: Label) -> Label:
    """Clean every text of a label."""
    return replace(
        label,
        id=clean_name(label.id),
        name=clean_text(label.name),
        synonyms=_clean_all(label.synonyms),
        definition=clean_text(label.definition),
        broader=tuple(filter(None, map(clean_name, label.broader))),
        codes=tuple(filter(None, map(clean_name, label.codes))),
    )


def _tag_space(tag: re.Match[str]) -> str:
    """Return what stands in a tag's place: space for a block, nothing for an inline, itself if it is none."""
    name = tag["name"].lower()
    if len(name) == 1 and not tag["space"] and f"</{tag['name']}" not in tag.string:
        return tag[0]  # physics writes <p> for a mean
    if name in _BLOCK_NAMES:
        return " "
    if tag["space"] or name in _INLINE_NAMES or _MATHML.fullmatch(name):
        return ""
    return tag[0]


def _clean_all(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, map(clean_text, texts)))


def _clean_ids(paper: Paper) -> dict[str, str]:
    ids = {system.lower(): clean_name(value) for system, value in paper.ids.items()}
    if "doi" in ids:
        ids["doi"] = normalise_doi(ids["doi"]) or ids["doi"].lower()
    if "arxiv" in ids:
        ids["arxiv"] = normalise_arxiv(ids["arxiv"]) or ids["arxiv"]
    for system in ("pmid", "pmcid"):
        if number := re.search(r"\d+", ids.get(system, "")):
            ids[system] = number[0] if system == "pmid" else f"PMC{number[0]}"
    return {system: value for system, value in ids.items() if value}


def _derived_id(paper: Paper) -> str:
    for system in ("doi", "pmid", "arxiv"):
        if system in paper.ids:
            return f"{system}:{paper.ids[system]}"
    # Of one year there are many an "Editorial"; what is told apart by anything gets an id of its own.
    text = " ".join((paper.title, *paper.authors, paper.venue, paper.abstract))
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    return "sha1:" + sha1(f"{' '.join(words)} {paper.year or ''}".encode()).hexdigest()[:12]


_BLOCK_NAMES = frozenset(_BLOCKS.split())
_INLINE_NAMES = frozenset(_INLINES.split())
