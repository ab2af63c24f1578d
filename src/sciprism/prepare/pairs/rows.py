"""Rows of pairs as sentence-transformers' training data have them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from sciprism.drop_report import DropReport
from sciprism.papers.source import Source
from sciprism.seeding import random_bits
from sciprism.text.documents.document import NOT_READ
from sciprism.training.examples import Example

SHAPES = '["a", "b"], ["anchor", "positive", "negative"], {"set": [..]} or {"query", "pos", "neg"}'
SAME = "pair of a text and itself"


def read_rows(source: Source, *, seed: int, dropped: DropReport) -> Iterator[Example]:
    """Yield the pairs of a file of JSON lines, plain or gzip; rows of no known shape are counted.

    A set of n texts gives n - 1 pairs: its texts in an order by the seed, each with the next.
    """
    for line, words in source.lines():
        if not words.strip():
            continue
        name = f"{source.path.name}, line {line}"
        try:
            for example in _examples(json.loads(words), seed):
                if example.query == example.positives[0]:
                    dropped.add(SAME, name)
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
        listed = _texts(_several(value.get("pos")), 1)
        return [Example(query, listed, _texts(_several(value.get("neg") or []), 0))]
    query, positive, *negatives = _texts(value, 2)
    return [Example(query, (positive,), tuple(negatives))]


def _several(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _texts(value: Any, least: int) -> tuple[str, ...]:
    fits = isinstance(value, list) and all(isinstance(each, str) and each.strip() for each in value)
    if not fits or len(value) < least:
        raise ValueError(f"expected {SHAPES}")
    return tuple(value)
