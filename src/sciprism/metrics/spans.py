"""Scores of spans of a text: tagged entities, and answers to a question.

Entities are counted whole (as conlleval counts) or word by word. Tags are "O" (outside), or "B" (first word of an
entity) or "I" (inside one), alone or with a type: "B-gene". An answer is compared with reference answers by exact match
and token F1, as in the script of SQuAD 2.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from sciprism.arrays import Doubles, check_aligned
from sciprism.errors import InputError

Tags = Sequence[str]
Span = tuple[str, int, int]


def spans(tags: Tags) -> list[Span]:
    """Return the entities of a sentence in order: type ("" for a bare tag), first word, word after the last.

    An "I" starts an entity if the word before is outside or of another type (conlleval, CoNLL-2000).
    InputError for tags of other schemes, such as the E- and S- of BIOES.
    """
    entities: list[Span] = []
    open_type: str | None = None
    for word, tag in enumerate(tags):
        prefix, kind = _parts(tag, word)
        if prefix == "I" and kind == open_type:
            entities[-1] = (kind, entities[-1][1], word + 1)
        elif prefix != "O":
            entities.append((kind, word, word + 1))
        open_type = None if prefix == "O" else kind
    return entities


def entity_counts(gold: Sequence[Tags], predicted: Sequence[Tags], types: Sequence[str]) -> Doubles:
    """Count true and false entities of each sentence, (n, 3 t) for t types; only exact spans are true.

    Columns: true positives of each type, then false positives, then false negatives; the item scores of an
    F1. InputError if sentences differ in length or a type is unknown.
    """
    return _counts(gold, predicted, types, spans)


def word_counts(gold: Sequence[Tags], predicted: Sequence[Tags], types: Sequence[str]) -> Doubles:
    """Count as `entity_counts`, but each word by its type; words outside do not count.

    The word-level F1 of EBM PICO: the mean of the types' F1 (Gu et al. 2021, BLURB).
    """
    return _counts(gold, predicted, types, _words)


def _words(tags: Tags) -> list[Span]:
    parts = (_parts(tag, word) for word, tag in enumerate(tags))
    return [(kind, word, word + 1) for word, (prefix, kind) in enumerate(parts) if prefix != "O"]


def _parts(tag: str, word: int) -> tuple[str, str]:
    prefix, _, kind = tag.partition("-")
    if prefix not in ("B", "I") and tag != "O":
        raise InputError(
            f'word {word + 1} has the tag {tag!r}; tags are "O", "B-TYPE" and "I-TYPE": convert other schemes'
        )
    return prefix, kind


def _counts(
    gold: Sequence[Tags], predicted: Sequence[Tags], types: Sequence[str], units: Callable[[Tags], list[Span]]
) -> Doubles:
    check_aligned(gold, predicted, "gold and predicted sentences")
    column = {kind: n for n, kind in enumerate(types)}
    counts = np.zeros((len(gold), 3, len(types)))
    for row, (truth, guess) in enumerate(zip(gold, predicted, strict=True)):
        where = f"sentence {row + 1}"
        check_aligned(truth, guess, f"{where}, gold and predicted tags")
        right, tagged = set(units(truth)), set(units(guess))
        for outcome, chosen in enumerate((right & tagged, tagged - right, right - tagged)):
            for kind, _, _ in chosen:
                if kind not in column:
                    raise InputError(f"{where}: type {kind!r} is tagged, but not among {list(types)}")
                counts[row, outcome, column[kind]] += 1
    return counts.reshape(len(gold), 3 * len(types))


ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text: str) -> str:
    """Return the text in lower case, without ASCII punctuation and articles, with single spaces."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def exact_match(predicted: str, golds: Sequence[str]) -> float:
    """Score 1 if the normalized answer is one of the golds, else 0.

    Without golds the question has no answer: 1 for an empty one. Both scores ignore golds that are empty
    after normalization, as the script does.
    """
    return _best(predicted, golds, lambda guess, gold: float(guess == gold))


def token_f1(predicted: str, golds: Sequence[str]) -> float:
    """Return the F1 of the words (a multiset) shared with the best gold.

    If either side has no words: 1 if both have none, else 0.
    """
    return _best(predicted, golds, _overlap)


def _best(predicted: str, golds: Sequence[str], score: Callable[[list[str], list[str]], float]) -> float:
    guess = normalize_answer(predicted).split()
    references = [words for gold in golds if (words := normalize_answer(gold).split())]
    return max(score(guess, gold) for gold in references or [[]])


def _overlap(guess: list[str], gold: list[str]) -> float:
    if not guess or not gold:
        return float(guess == gold)
    return 2 * (Counter(guess) & Counter(gold)).total() / (len(guess) + len(gold))
