"""SQuAD 2 scores against numbers worked by hand and a second count, word by word."""

from __future__ import annotations

import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.metrics.answers import exact_match, normalise_answer, token_f1

WORDS = st.sampled_from(["the", "A", "an", "Ozone", "ozone", "0.4", "K,", "sea-ice", "--", "it's", "Anthem", "é"])
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)


def words_of(text):
    """Normalise one character and one word at a time."""
    kept = "".join(c for c in text.lower() if c not in string.punctuation)
    return [word for word in kept.split() if word not in ("a", "an", "the")]


def second_f1(predicted, gold):
    guess, truth = words_of(predicted), words_of(gold)
    if not guess or not truth:
        return float(guess == truth)
    truths, shared = Counter(truth), 0
    for word in guess:
        if truths[word]:
            truths[word] -= 1
            shared += 1
    if not shared:
        return 0.0
    precision, recall = shared / len(guess), shared / len(truth)
    return 2 * precision * recall / (precision + recall)


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_both_scores_equal_a_second_count(predicted, golds):
    kept = [gold for gold in golds if words_of(gold)] or [""]
    best = max(second_f1(predicted, gold) for gold in kept)
    assert token_f1(predicted, golds) == pytest.approx(best, abs=1e-12)
    assert exact_match(predicted, golds) == float(words_of(predicted) in map(words_of, kept))


@given(st.text())
def test_normalising_twice_changes_nothing_and_a_text_matches_itself(text):
    once = normalise_answer(text)
    assert normalise_answer(once) == " ".join(once.lower().split())
    assert exact_match(text, [text]) == token_f1(text, [text]) == 1.0


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The  Amazon\train-forest!", "amazon rainforest"),
        ("A the an", ""),
        ("Theory of an Anthem, 'a' priori", "theory of anthem priori"),
        ("0.4 K", "04 k"),
        ("the “ozone” layer", "“ozone” layer"),
        ("", ""),
    ],
)
def test_normalised(text, plain):
    assert normalise_answer(text) == plain


@pytest.mark.parametrize(
    ("predicted", "golds", "exact", "f1"),
    [
        ("0.4 K", ["0.4 K"], 1, 1),
        ("The 0.4 K.", ["0.4 k"], 1, 1),
        ("by 0.4 K", ["0.4 K"], 0, 0.8),  # precision 2/3, recall 1
        ("ice ice sea", ["ice", "ice ice cap"], 0, 2 / 3),  # best: precision 2/3, recall 2/3
        ("carbon", ["0.4 K", "Carbon"], 1, 1),
        ("carbon", ["oxygen"], 0, 0),
        ("", [], 1, 1),
        ("the", [], 1, 1),
        ("carbon", [], 0, 0),
        ("", ["carbon"], 0, 0),
        ("", ["the", "carbon"], 0, 0),  # a gold of nothing is no gold beside others,
        ("", ["the"], 1, 1),  # and alone it says that there is no answer
    ],
)
def test_numbers_worked_by_hand(predicted, golds, exact, f1):
    assert exact_match(predicted, golds) == exact
    assert token_f1(predicted, golds) == pytest.approx(f1)
