"""Read rows of pairs in the formats of sentence-transformers' training data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from sciprism.drop_report import DropReport
from sciprism.papers.input_file import InputFile
from sciprism.papers.json_records import NOT_READ
from sciprism.seeding import random_bits
from sciprism.training.examples import Example

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
    valid = isinstance(value, list) and all(isinstance(each, str) and each.strip() for each in value)
    if not valid or len(value) < min_count:
        raise ValueError(f"expected {ROW_FORMATS}")
    return tuple(value)
