"""Labels ranked among all, against numbers worked by hand."""

import math

import pytest
import torch

from sciprism.objectives.contrastive import label_ranking


def test_two_papers_by_hand():
    """The first paper has the labels that score 1 and 0, not that of 2; the second the one of 0 alone."""
    papers = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    labels = torch.tensor([[1.0, 0.0], [0.0, 0.0], [2.0, 3.0]])
    positives = torch.tensor([[True, True, False], [True, False, False]])
    first = (math.log(1 + math.exp(2 - 1)) + math.log(1 + math.exp(2 - 0))) / 2
    second = math.log(math.exp(0) + math.exp(0) + math.exp(3))
    for scale in (1.0, 20.0):
        found = label_ranking(scale * papers, labels, positives, temperature=scale).item()
        assert found == pytest.approx((first + second) / 2, abs=1e-6)


def test_a_label_that_stands_for_several_counts_as_often():
    papers, labels = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    positives, counts = torch.tensor([[True, False, False]]), torch.tensor([1.0, 3.0, 1.0])
    expected = math.log(1 + 3 * math.exp(2 - 1) + math.exp(3 - 1))
    assert label_ranking(papers, labels, positives, counts=counts).item() == pytest.approx(expected, abs=1e-6)
    several = labels[[0, 1, 1, 1, 2]]
    found = label_ranking(papers, several, torch.tensor([[True, False, False, False, False]])).item()
    assert found == pytest.approx(expected, abs=1e-6)


def test_a_paper_that_carries_all_labels_teaches_nothing():
    papers, labels = torch.eye(2), torch.ones(3, 2, requires_grad=True)
    loss = label_ranking(papers, labels, torch.ones(2, 3, dtype=torch.bool))
    loss.backward()
    assert loss.item() == 0 and torch.equal(labels.grad, torch.zeros(3, 2))
