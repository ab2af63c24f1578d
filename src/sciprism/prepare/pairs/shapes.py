"""The shapes of pairs: what stands on either side of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from sciprism.formats import Role
from sciprism.papers.records import Paper
from sciprism.registry import Registry
from sciprism.text.documents.document import BETWEEN, Document
from sciprism.text.sentences import split_sentences
from sciprism.training.examples import Example

BODY = 5_000
"""Characters of a body that a pair keeps: more than any encoder here reads."""
SENTENCE = 20
"""Characters that a sentence has at least: less is a heading or a slip of the cut."""

Made = Iterator[Example]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One shape. query, candidate: the roles a recipe gives a file of it. sheet: s2p, p2p or s2s.

    of: what it is made of: each document, each citation (citing and cited paper), or rows of others. make:
    yields the pairs of one of these. cut: its texts are pieces, each of which may stand in a test by itself.
    """

    query: Role
    candidate: Role
    sheet: str
    of: Literal["document", "citation", "row"]
    make: Callable[..., Made]
    cut: bool = False


shapes: Registry[Shape] = Registry("shape of pairs")


def _title_abstract(document: Document) -> Made:
    paper = document.paper
    if paper.title and paper.abstract:
        yield Example(paper.title, (Paper(id=paper.id, abstract=paper.abstract),))


def _title_body(document: Document) -> Made:
    """Take the text behind the title and, where it is known, behind the abstract."""
    title, rest = document.paper.title, document.text
    for known in (title, document.paper.abstract):
        rest = rest.removeprefix(known).strip() if known else rest
    body = rest[:BODY].replace(BETWEEN, " ")
    if title and body:
        yield Example(title, (Paper(id=document.id, abstract=body),))


def _neighbours(document: Document) -> Made:
    """Take the first and the second sentence of an abstract, the third and the fourth, and so on."""
    paper = document.paper
    sentences = [each for each in split_sentences(paper.abstract) if len(each) >= SENTENCE]
    for one, other in zip(sentences[::2], sentences[1::2], strict=False):
        yield Example(one, (Paper(id=paper.id, abstract=other),))


def _abstracts(citing: Paper, cited: Paper) -> Made:
    if citing.abstract and cited.abstract:
        one, other = (Paper(id=each.id, abstract=each.abstract) for each in (citing, cited))
        yield Example(one, (other,))


def _titles(citing: Paper, cited: Paper) -> Made:
    if citing.title and cited.title:
        one, other = (Paper(id=each.id, title=each.title) for each in (citing, cited))
        yield Example(one, (other,))


shapes["title-abstract"] = Shape(
    query="query", candidate="paper", sheet="s2p", of="document", make=_title_abstract
)
shapes["title-body"] = Shape(query="query", candidate="paper", sheet="s2p", of="document", make=_title_body)
shapes["neighbour-sentences"] = Shape(
    query="query", candidate="paper", sheet="s2s", of="document", make=_neighbours, cut=True
)
shapes["citing-cited-abstracts"] = Shape(
    query="paper", candidate="paper", sheet="p2p", of="citation", make=_abstracts
)
shapes["citing-cited-titles"] = Shape(
    query="paper", candidate="paper", sheet="s2s", of="citation", make=_titles
)
