"""Losses of heads by hand."""

import math

import pytest
import torch

from sciprism.objectives.heads import classification, multi_label, regression


def test_one_label_by_hand():
    """e^2 of e^2 + 1 and 1 of 1 + e^2 + ... over texts: the mean of their logarithms."""
    logits = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    expected = (-math.log(math.e**2 / (math.e**2 + 1)) - math.log(1 / (1 + math.e))) / 2
    assert classification(logits, torch.tensor([0, 0])).item() == pytest.approx(expected)


def test_several_labels_by_hand():
    """The mean over texts and labels, not the sum over labels."""
    logits = torch.tensor([[0.0, 2.0, -1.0], [1.0, 0.0, 0.0]])
    labels = torch.tensor([[1, 1, 0], [0, 0, 1]])

    def lost(logit, label):
        said = 1 / (1 + math.exp(-logit))
        return -math.log(said if label else 1 - said)

    pairs = zip(logits.flatten().tolist(), labels.flatten().tolist(), strict=True)
    assert multi_label(logits, labels).item() == pytest.approx(sum(lost(*pair) for pair in pairs) / 6)


def test_numbers_by_hand():
    assert regression(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 5.0])).item() == pytest.approx(2.5)
