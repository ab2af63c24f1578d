"""Exact match and token F1 of an answer against reference answers, as in the script of SQuAD 2."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise_answer(text: str) -> str:
    """Return the text in lower case, without ASCII punctuation and articles, with single spaces."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def exact_match(predicted: str, golds: Sequence[str]) -> float:
    """Score 1 if the normalised answer is one of the golds, else 0.

    Without golds the question has no answer: 1 for an empty one. Both scores ignore golds that are empty
    after normalisation, as the script does.
    """
    return _best(predicted, golds, lambda guess, gold: float(guess == gold))


def token_f1(predicted: str, golds: Sequence[str]) -> float:
    """Return the F1 of the words (a multiset) shared with the best gold.

    If either side has no words: 1 if both have none, else 0.
    """
    return _best(predicted, golds, _overlap)


def _best(predicted: str, golds: Sequence[str], score: Callable[[list[str], list[str]], float]) -> float:
    guess = normalise_answer(predicted).split()
    references = [words for gold in golds if (words := normalise_answer(gold).split())]
    return max(score(guess, gold) for gold in references or [[]])


def _overlap(guess: list[str], gold: list[str]) -> float:
    if not guess or not gold:
        return float(guess == gold)
    return 2 * (Counter(guess) & Counter(gold)).total() / (len(guess) + len(gold))
