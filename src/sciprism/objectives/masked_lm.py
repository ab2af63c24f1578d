"""Cross-entropy of masked tokens over a vocabulary (BERT; RoBERTa; INDUS, 3.1)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

ROWS = 512  # tokens whose scores over the whole vocabulary are in memory at a time


def masked_lm(states: Tensor, table: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Return the sum over tokens of -log p(target).

    states: (n, H). table: (V, H), the word embeddings. bias: (V,). targets: (n,), ids. The scores are
    states table^T + bias. Scores and gradient are computed together, some rows at a time and in place.
    """
    loss: Tensor = _CrossEntropy.apply(states, table, bias, targets)  # type: ignore[no-untyped-call]
    return loss


class _CrossEntropy(torch.autograd.Function):
    """The gradient is computed with the probabilities, so that no (n, V) tensor is kept."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, table: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        """Return the loss; keep the gradients of what needs one."""
        wanted = [bool(needs) for needs in ctx.needs_input_grad[:3]]
        pairs = zip((states, table, bias), wanted, strict=True)
        grads = [torch.zeros_like(tensor) if want else None for tensor, want in pairs]
        loss = torch.zeros((), device=states.device)
        for start in range(0, len(states), ROWS):
            x, right = states[start : start + ROWS], targets[start : start + ROWS, None]
            scores = torch.addmm(bias, x, table.T).float()
            target_scores = scores.gather(1, right)
            total = scores.logsumexp(dim=1, keepdim=True)
            loss = loss + (total - target_scores).sum()
            if any(wanted):
                _add(grads, scores.sub_(total).exp_(), x, table, right, start)
        ctx.grads = grads
        return loss

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> Any:
        """Return the gradients, scaled by that of the loss."""
        grads = ctx.grads
        ctx.grads = None
        return (*(None if gradient is None else gradient.mul_(above[0]) for gradient in grads), None)


def _add(
    grads: list[Tensor | None], probabilities: Tensor, x: Tensor, table: Tensor, right: Tensor, start: int
) -> None:
    """Add the gradient of some rows. probabilities: (n, V), changed in place."""
    of_states, of_table, of_bias = grads
    probabilities.scatter_add_(1, right, probabilities.new_full(right.shape, -1.0))
    probabilities = probabilities.to(table.dtype)
    if of_states is not None:
        of_states[start : start + len(x)] = probabilities @ table
    if of_table is not None:
        of_table.addmm_(probabilities.T, x.to(table.dtype))
    if of_bias is not None:
        of_bias += probabilities.sum(dim=0)
