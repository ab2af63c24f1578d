"""The contrastive loss against numbers worked by hand and against plain loops."""

import math

import pytest
import torch

from sciprism.objectives.contrastive import in_batch_contrastive, supervised_contrastive, triplet_margin


def test_two_queries_by_hand():
    """Query 1 scores 1 and 0, query 2 scores 0 and 2: the mean of ln(1 + e^-1) and ln(1 + e^-2)."""
    queries = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    positives = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    expected = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(-2))) / 2
    assert in_batch_contrastive(queries, positives).item() == pytest.approx(expected, abs=1e-6)


def loop_loss(queries, candidates, temperature, dropped):
    total = 0.0
    for i, query in enumerate(queries):
        scores = [math.fsum(a * b for a, b in zip(query, c, strict=True)) / temperature for c in candidates]
        scored = [s for j, s in enumerate(scores) if j == i or not dropped[i][j]]
        total -= scores[i] - math.log(math.fsum(math.exp(s) for s in scored))
    return total / len(queries)


@pytest.mark.parametrize("temperature", [1.0, 0.05])
def test_plain_loops_agree(temperature):
    draw = torch.Generator().manual_seed(0)
    queries, positives = (torch.randn(5, 8, generator=draw) for _ in range(2))
    negatives = torch.randn(3, 8, generator=draw)
    known = torch.rand(5, 8, generator=draw) < 0.3
    found = in_batch_contrastive(queries, positives, negatives, temperature=temperature, known_positives=known)
    candidates = torch.cat([positives, negatives]).tolist()
    expected = loop_loss(queries.tolist(), candidates, temperature, known.tolist())
    assert found.item() == pytest.approx(expected, rel=1e-5)


def test_classes_by_hand():
    """Texts 1 and 2, of one class, each find the other with e / (e + 1), halved; text 3 is alone."""
    vectors = torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]], requires_grad=True)
    found = supervised_contrastive(vectors, torch.tensor([4, 4, 7]), temperature=1.0)
    assert found.item() == pytest.approx(2 * math.log(1 + math.exp(-1)) / 2 / 3, abs=1e-6)
    found.backward()
    assert torch.isfinite(vectors.grad).all()
    assert supervised_contrastive(vectors, torch.tensor([1, 2, 3])).item() == 0


def test_triplets_by_hand():
    """Distances 5 and 1 (loss 5), then 0 and 3 (loss 0)."""
    queries = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    positives = torch.tensor([[3.0, 4.0], [1.0, 1.0]])
    negatives = torch.tensor([[0.0, 1.0], [1.0, 4.0]])
    assert triplet_margin(queries, positives, negatives).item() == pytest.approx(2.5, abs=1e-5)
    assert triplet_margin(queries, positives, negatives, margin=4.0).item() == pytest.approx(4.5, abs=1e-5)


def test_triplets_in_other_distances():
    queries, positives, negatives = torch.eye(2), torch.eye(2), torch.eye(2).flip(0)
    assert triplet_margin(queries, positives, negatives, distance="cosine").item() == pytest.approx(0)
    assert triplet_margin(queries, negatives, positives, distance="dot").item() == pytest.approx(2)
    with pytest.raises(ValueError, match="known: euclidean"):
        triplet_margin(queries, positives, negatives, distance="manhattan")


def test_equal_vectors_have_a_finite_gradient():
    queries = torch.ones(1, 3, requires_grad=True)
    triplet_margin(queries, torch.ones(1, 3), torch.ones(1, 3)).backward()
    assert torch.isfinite(queries.grad).all()
