"""The shapes of pairs: the texts on either side, from papers or from rows of pairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal

from sciprism.drop_report import DropReport
from sciprism.formats import Role
from sciprism.papers.input_file import InputFile
from sciprism.papers.json_rows import NOT_READ
from sciprism.papers.records import Paper
from sciprism.registry import Registry
from sciprism.seeding import random_bits
from sciprism.text.documents.document import PARAGRAPH_BREAK, Document
from sciprism.text.sentences import split_sentences
from sciprism.training.examples import Example

MAX_BODY = 5_000
"""Characters of a body in a pair: more than any encoder here reads."""
MIN_SENTENCE = 20
"""Characters of a sentence: shorter ones are headings or splitting errors."""

Examples = Iterator[Example]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairShape:
    """One shape. query, candidate: the roles of a file's texts in a recipe. lengths: s2p, p2p or s2s.

    build: yields the pairs of one document, or of one citation (citing and cited paper): built_from.
    excerpts: its texts are excerpts, each of which may occur in a test by itself.
    """

    query: Role
    candidate: Role = "paper"
    lengths: str
    build: Callable[..., Examples]
    built_from: Literal["document", "citation"] = "document"
    excerpts: bool = False


shapes: Registry[PairShape] = Registry("shape of pairs")


def _title_abstract(document: Document) -> Examples:
    paper = document.paper
    if paper.title and paper.abstract:
        yield Example(paper.title, (Paper(id=paper.id, abstract=paper.abstract),))


def _title_body(document: Document) -> Examples:
    """Take the text after the title and, if it is known, after the abstract."""
    title, rest = document.paper.title, document.text
    for part in (title, document.paper.abstract):
        rest = rest.removeprefix(part).strip() if part else rest
    body = rest[:MAX_BODY].replace(PARAGRAPH_BREAK, " ")
    if title and body:
        yield Example(title, (Paper(id=document.id, abstract=body),))


def _neighbour_sentences(document: Document) -> Examples:
    """Take the first and the second sentence of an abstract, the third and the fourth, and so on."""
    paper = document.paper
    sentences = [sentence for sentence in split_sentences(paper.abstract) if len(sentence) >= MIN_SENTENCE]
    for one, other in zip(sentences[::2], sentences[1::2], strict=False):
        yield Example(one, (Paper(id=paper.id, abstract=other),))


def _citing_cited(citing: Paper, cited: Paper, *, text: Literal["title", "abstract"]) -> Examples:
    """Take the title, or the abstract, of both papers alone."""
    if getattr(citing, text) and getattr(cited, text):
        one, other = (Paper(id=paper.id, **{text: getattr(paper, text)}) for paper in (citing, cited))
        yield Example(one, (other,))


shapes["title-abstract"] = PairShape(query="query", lengths="s2p", build=_title_abstract)
shapes["title-body"] = PairShape(query="query", lengths="s2p", build=_title_body)
shapes["neighbour-sentences"] = PairShape(query="query", lengths="s2s", build=_neighbour_sentences, excerpts=True)
shapes["citing-cited-abstracts"] = PairShape(
    query="paper", lengths="p2p", build=partial(_citing_cited, text="abstract"), built_from="citation"
)
shapes["citing-cited-titles"] = PairShape(
    query="paper", lengths="s2s", build=partial(_citing_cited, text="title"), built_from="citation"
)

ROW_FORMATS = '["a", "b"], ["anchor", "positive", "negative"], {"set": [..]} or {"query", "pos", "neg"}'


def read_pair_rows(source: InputFile, *, seed: int, dropped: DropReport) -> Iterator[Example]:
    """Yield the pairs of a file of JSON lines, plain or gzip; rows of an unknown format are counted.

    A set of n texts gives n - 1 pairs: each text with the next, in an order by hash with the seed.
    """
    for line, words in source.lines():
        if not words.strip():
            continue
        name = f"{source.path.name}, line {line}"
        try:
            for example in _examples(json.loads(words), seed):
                if example.query == example.positives[0]:
                    dropped.add("pair of a text and itself", name)
                else:
                    yield example
        except (ValueError, RecursionError) as error:
            dropped.add(NOT_READ, f"{name}: {error}"[:300])


def _examples(value: Any, seed: int) -> list[Example]:
    if isinstance(value, Mapping) and "set" in value:
        texts = sorted(_texts(value["set"], 2), key=lambda text: random_bits(seed, text))
        return [Example(one, (other,)) for one, other in pairwise(texts)]
    if isinstance(value, Mapping) and "query" in value:
        (query,) = _texts([value["query"]], 1)
        positives = _texts(_as_list(value.get("pos")), 1)
        return [Example(query, positives, _texts(_as_list(value.get("neg") or []), 0))]
    query, positive, *negatives = _texts(value, 2)
    return [Example(query, (positive,), tuple(negatives))]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _texts(value: Any, min_count: int) -> tuple[str, ...]:
    valid = isinstance(value, list) and all(isinstance(text, str) and text.strip() for text in value)
    if not valid or len(value) < min_count:
        raise ValueError(f"expected {ROW_FORMATS}")
    return tuple(value)
