"""Entities and words against the rules of the CoNLL-2000 script, written anew, and seqeval's numbers.

SQuAD 2 scores against numbers worked by hand and a second count, word by word.
"""

import pytest

from sciprism.errors import InputError
from sciprism.evaluation.item_scores import ItemScores, estimate
from sciprism.metrics.spans import entity_counts, exact_match, spans, token_f1, word_counts

SEQEVAL = [
    ("B-a I-a O B-b", "B-a I-a O B-b", 1.0, 1.0),
    ("B-a I-a O B-b", "B-a O O I-b", 0.5, 0.8333333333333333),
    ("I-a I-a I-b O / B-c-d B-c-d I-a", "B-a I-a I-b I-b / I-c-d I-c-d I-a", 0.4444444444444445, 0.8888888888888888),
    ("B I O I", "B B O I", 0.4, 1.0),
    ("O O / O", "O I-a / O", 0.0, 0.0),
    (
        "B-a I-a I-a O B-a / B-b / I-c-d I-c-d O B-a",
        "B-a I-a O O I-a / I-b / B-c-d I-c-d I-c-d I-b",
        0.4000000000000001,
        0.7388888888888889,
    ),
    ("B-a O I-a I-a B-b I-a", "B-a I-a I-a O B-b I-b", 0.0, 0.6190476190476191),
]
"""Gold, predicted, and seqeval 1.2.2's micro F1 of entities and macro F1 of words (every I made a B)."""


@pytest.mark.parametrize(("gold", "predicted", "entities", "words"), SEQEVAL)
def test_recorded_numbers_of_seqeval(gold, predicted, entities, words):
    gold, predicted = ([tags.split() for tags in side.split(" / ")] for side in (gold, predicted))
    ids = tuple(map(str, range(len(gold))))
    types = ("", "a", "b", "c-d")
    counted = entity_counts(gold, predicted, types)
    assert estimate(ItemScores(ids, counted, "f1_micro", labels=types)) == pytest.approx(entities, abs=1e-9)
    counted = word_counts(gold, predicted, types)
    assert estimate(ItemScores(ids, counted, "f1_macro", labels=types)) == pytest.approx(words, abs=1e-9)


@pytest.mark.parametrize("tag", ["E-gene", "S-gene", "L-gene", "U", "", "o", "b-gene", "O-gene", "Bgene", "gene"])
def test_a_tag_of_another_scheme_is_named(tag):
    with pytest.raises(InputError, match=rf"word 2 has the tag '{tag}'"):
        spans(["O", tag])
    with pytest.raises(InputError, match=rf"'{tag}'"):
        word_counts([["O"]], [[tag]], ["gene"])


def test_wrong_input_is_told():
    with pytest.raises(InputError, match="sentences: 1 and 2 of them"):
        entity_counts([["O"]], [["O"], ["O"]], ["a"])
    with pytest.raises(InputError, match="sentence 2, gold and predicted tags: 1 and 2"):
        word_counts([[], ["O"]], [[], ["O", "O"]], ["a"])
    with pytest.raises(InputError, match=r"sentence 1: type 'b' is tagged, but not among \['a'\]"):
        entity_counts([["O"]], [["I-b"]], ["a"])


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
