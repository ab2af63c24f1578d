"""The fused loss of masked tokens against torch's own cross-entropy."""

import pytest
import torch
from torch.nn import functional as F

from sciprism.objectives import masked_lm as module
from sciprism.objectives.masked_lm import masked_lm


def random_input(rows=7, words=11, width=5):
    generator = torch.Generator().manual_seed(3)
    shapes = (rows, width), (words, width), (words,)
    states, table, bias = (torch.randn(s, generator=generator, requires_grad=True) for s in shapes)
    return states, table, bias, torch.arange(rows) % words


@pytest.mark.parametrize("rows_at_a_time", [2, 512])
def test_loss_and_gradients_are_those_of_torch(rows_at_a_time, monkeypatch):
    monkeypatch.setattr(module, "ROWS", rows_at_a_time)
    states, table, bias, targets = random_input()
    expected = F.cross_entropy(states @ table.T + bias, targets, reduction="sum")
    gradients = torch.autograd.grad(expected * 0.5, (states, table, bias))
    found = masked_lm(states, table, bias, targets)
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    for own, other in zip(torch.autograd.grad(found * 0.5, (states, table, bias)), gradients, strict=True):
        torch.testing.assert_close(own, other, atol=1e-6, rtol=1e-5)


def test_a_frozen_table_gets_no_gradient():
    states, table, bias, targets = random_input()
    masked_lm(states, table.detach(), bias.detach(), targets).backward()
    assert states.grad is not None
    assert table.grad is None


def test_no_token_is_masked():
    states, table, bias, _ = random_input(rows=0)
    assert masked_lm(states, table, bias, torch.zeros(0, dtype=torch.long)).item() == 0
