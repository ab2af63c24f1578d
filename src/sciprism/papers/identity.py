"""Say whether two records with one id are one paper, or two papers whose ids clash."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from sciprism.papers.records import PAPER_ID_SYSTEMS, Paper
from sciprism.seeding import random_bits

# Titles that many papers share, even of one author in one year; without case, spaces and punctuation.
_GENERIC_TITLES = """
abstract abstracts acknowledgements announcement bookreview bookreviews comment commentary conclusion
conclusions contents corrigendum correction discussion editorial editorialboard editorsnote erratum errata
foreword frontmatter guesteditorial index introduction inthisissue inmemoriam letter letters
lettertotheeditor letterstotheeditor masthead news notitle obituary overview panel preface proceedings
reply response retraction review summary tableofcontents title titlepage untitled
"""
GENERIC_TITLES = frozenset(_GENERIC_TITLES.split())
MIN_TEXT_WORDS = 30  # shorter texts are too similar by chance, and often notices
# Chinese and Japanese have no spaces between words: each character counts as a word.
WORD_PATTERN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")


class PaperIdentity(NamedTuple):
    """What tells papers of one id apart, as 64-bit hashes; 0 where a paper has none.

    ids: of `PAPER_ID_SYSTEMS`. generic: whether many papers have this title. abstract: of one with enough
    words. details: title, abstract, authors, venue and year. file: where the paper was read.
    """

    ids: tuple[int, ...]
    title: int
    generic: bool
    abstract: int
    details: int
    file: int


def identify(paper: Paper) -> PaperIdentity:
    """Return what tells a paper apart from others with its id."""
    title = "".join(normalise_words(paper.title))  # "meta-analysis", "meta analysis", "metaanalysis" are one
    abstract = normalise_words(paper.abstract)
    details = (paper.title, paper.abstract, *paper.authors, paper.venue, str(paper.year))
    return PaperIdentity(
        ids=tuple(hash_text(paper.ids.get(system, "").lower()) for system in PAPER_ID_SYSTEMS),
        title=hash_text(title),
        generic=title in GENERIC_TITLES,
        abstract=hash_text(" ".join(abstract)) if len(abstract) >= MIN_TEXT_WORDS else 0,
        details=hash_text("\n".join(details)),
        file=hash_text(paper.place.file) if paper.place else 0,
    )


def is_same_paper(one: PaperIdentity, other: PaperIdentity) -> bool:
    """Return whether two records with one id are versions of one paper.

    Ids such as 1 or smith2020 recur from file to file. Identifiers of other systems decide, where both have
    one. Else an equal title that is not generic, or an equal abstract in the same file (a corrected title).
    """
    shared = [own == theirs for own, theirs in zip(one.ids, other.ids, strict=True) if own and theirs]
    if shared:
        return any(shared)
    same_title = one.title == other.title
    if one.details == other.details or (same_title and one.title and not one.generic):
        return True
    same_abstract = bool(one.abstract) and one.abstract == other.abstract
    return same_abstract and (same_title or (bool(one.file) and one.file == other.file))


def normalise_words(text: str) -> list[str]:
    """Return the words of a text without case, accents or punctuation."""
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return WORD_PATTERN.findall(text.casefold())


def hash_text(text: str) -> int:
    """Hash a text to 64 bits; no text is 0."""
    return random_bits(text) if text else 0
