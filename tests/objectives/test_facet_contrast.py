"""Multi2SPE's loss against plain loops, and where paper and code part."""

import math

import pytest
import torch

from sciprism.objectives.contrastive import facet_contrast


def random_facets(count=3, facets=2, width=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(count, facets, width, generator=generator) for _ in range(3)]


def score_sums(a, b):
    return float(sum(a) @ sum(b))


def score_best_pair(a, b):
    return max(float(x @ y) for x in a for y in b)


def cross_entropy(right, others):
    return -math.log(math.exp(right) / sum(math.exp(other) for other in others))


@pytest.mark.parametrize("mix", ["losses", "logits"])
def test_against_loops(mix):
    queries, positives, negatives = random_facets()
    expected = 0.0
    for i, query in enumerate(queries):
        own = [positives[i], negatives[i]]
        wholes, pairs = ([score(query, each) for each in own] for score in (score_sums, score_best_pair))
        if mix == "losses":
            expected += 0.8 * cross_entropy(wholes[0], wholes) + 0.2 * cross_entropy(pairs[0], pairs)
        else:
            mixed = [0.8 * w + 0.2 * p for w, p in zip(wholes, pairs, strict=True)]
            expected += cross_entropy(mixed[0], mixed)
    found = facet_contrast(queries, positives, negatives, best_pair_weight=0.2, mix=mix)
    assert found.item() == pytest.approx(expected / 3, rel=1e-4)


def test_zero_facets_are_no_pair():
    """Else the product with a zero vector, 0, would be the best of negative ones."""
    queries, positives, negatives = (torch.full((1, 2, 1), value) for value in (1.0, -2.0, -1.0))
    positives[0, 1] = 0.0
    found = facet_contrast(queries, positives, negatives, best_pair_weight=1.0)
    assert found.item() == pytest.approx(math.log(1 + math.exp(1)), rel=1e-5)


def test_one_facet_needs_no_second_score():
    queries, positives, negatives = random_facets(facets=1)
    a, b = (facet_contrast(queries, positives, negatives, best_pair_weight=best) for best in (0.0, 1.0))
    assert a.item() == pytest.approx(b.item())


def test_an_unknown_mix():
    with pytest.raises(ValueError, match="unknown mix 'sum'; known: losses, logits"):
        facet_contrast(*random_facets(), mix="sum")
