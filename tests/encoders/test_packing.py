"""Packed batches, and the split of a corpus into batches."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.encoders.packing import balanced_batches, even_budget, pack, token_batches

lengths = st.lists(st.integers(0, 600), max_size=60)


def test_routes_are_slices():
    batch = pack([[5, 6, 7], [8], [9, 10]], ["a", "b", "b"])
    (name_a, tokens_a, part_a), (name_b, tokens_b, part_b) = batch.by_route
    assert (name_a, tokens_a, name_b, tokens_b) == ("a", slice(0, 3), "b", slice(3, 6))
    assert part_a.ids.tolist() == [5, 6, 7] and part_a.lengths == (3,) and part_a.routes == ("a",)
    assert part_b.ids.tolist() == [8, 9, 10] and part_b.lengths == (1, 2) and part_b.routes == ("b", "b")
    assert part_b.positions.tolist() == [0, 0, 1]


def test_texts_of_one_route_must_be_adjacent():
    with pytest.raises(ValueError, match="must be next to each other"):
        pack([[1], [2], [3]], ["a", "b", "a"])
    with pytest.raises(ValueError, match="2 texts but 1 routes"):
        pack([[1], [2]], ["a"])


@given(sequences=st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=9), min_size=1, max_size=9))
def test_packing_loses_nothing(sequences):
    batch = pack(sequences)
    bounds = batch.bounds
    assert [batch.ids[a:b].tolist() for a, b in pairwise(bounds)] == sequences
    assert batch.positions.tolist() == [i for sequence in sequences for i in range(len(sequence))]
    assert [batch.ids[i].item() for i in batch.starts] == [sequence[0] for sequence in sequences]


@given(lengths=lengths, budget=st.integers(1, 1000))
def test_batches_hold_each_text_once_within_the_budget_longest_first(lengths, budget):
    batches = list(token_batches(lengths, budget))
    order = [i for batch in batches for i in batch]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[i] for i in order] == sorted(lengths, reverse=True)
    for batch in batches:
        assert batch
        assert sum(lengths[i] for i in batch) <= budget or len(batch) == 1
    for left, right in pairwise(batches):  # none is cut before it is full
        assert sum(lengths[i] for i in left) + lengths[right[0]] > budget
    assert list(token_batches(lengths, budget)) == batches


def test_an_even_budget_of_two_workers():
    assert even_budget([60] * 33, 2048, 2) == 990 + 60  # 1,980 tokens: 17 texts and 16, not 33 and none
    assert even_budget([60] * 4, 2048, 2) == 256
    assert even_budget([60] * 70, 2048, 2) == 1050 + 60  # 4,200 tokens in four batches, not in 2,040, 2,040 and 120


@given(st.lists(st.integers(1, 600), min_size=1, max_size=60), st.integers(16, 3000), st.integers(1, 4))
def test_balanced_batches_hold_every_text_once_and_are_of_equal_size(lengths, budget, cores):
    found = balanced_batches(lengths, budget, cores)
    assert sorted(index for batch in found for index in batch) == list(range(len(lengths)))
    assert len(found) == len(lengths) or len(found) % cores == 0
    sizes = [sum(lengths[index] for index in batch) for batch in found]
    assert max(sizes) - min(sizes) <= max(lengths) and all(found)
    assert max(sizes) <= budget + max(lengths)
