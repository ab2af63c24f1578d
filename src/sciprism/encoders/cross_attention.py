"""Attention of extra tokens to the text that they belong to, and to one another."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sciprism.encoders.attention import gather_rows
from sciprism.encoders.packing import PackedBatch

SPARE_TOKENS = 16


class CrossAttention:
    """Attention of K tokens on each of R routes to their text; one product per group of similar length.

    texts: the slice of the batch. dropout: of the attention weights. H heads have the width D.
    """

    def __init__(self, batch: PackedBatch, texts: slice, dropout: nn.Module) -> None:
        groups = group_by_length(batch.lengths[texts])
        self._groups = [GroupCrossAttention(batch, [texts.start + text for text in group], dropout) for group in groups]
        self._rows = [torch.tensor(group, device=batch.ids.device) for group in groups]
        self._order = torch.cat(self._rows).argsort() if len(groups) > 1 else None

    def __call__(self, text: tuple[Tensor, Tensor], query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Map queries (R, b, K, H D), with the tokens' own keys and values, to (R, b, K, H D).

        text: keys and values of the batch's text tokens, each (T, H, D).
        """
        heads, width = text[0].shape[1:]
        query, key, value = (t.reshape(*t.shape[:3], heads, width) for t in (query, key, value))
        if self._order is None:
            return self._groups[0](text, query, key, value)
        found = [
            group(text, *(t[:, rows] for t in (query, key, value)))
            for group, rows in zip(self._groups, self._rows, strict=True)
        ]
        return torch.cat(found, dim=1)[:, self._order]


def group_by_length(lengths: Sequence[int]) -> list[list[int]]:
    """Return groups of texts that one product serves, as ascending indices.

    The shortest text of a group is at least half as long as its longest, minus a few tokens, so the cost of
    short texts does not depend on long ones.
    """
    groups: list[list[int]] = []
    shortest = math.inf
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if lengths[index] < shortest:
            groups.append([])
            shortest = lengths[index] / 2 - SPARE_TOKENS
        groups[-1].append(index)
    return [sorted(group) for group in groups]


class GroupCrossAttention:
    """Cross-attention for some texts of a batch, in one product; shorter texts are padded and masked."""

    def __init__(self, batch: PackedBatch, texts: Sequence[int], dropout: nn.Module) -> None:
        lengths = [batch.lengths[text] for text in texts]
        self._texts, self._dropout = len(texts), dropout
        self._tokens = slice(batch.bounds[texts[0]], batch.bounds[texts[-1] + 1])
        self._index = self._mask = None
        if len(set(lengths)) > 1 or texts[-1] - texts[0] >= len(texts):
            device = batch.ids.device
            last = torch.tensor(lengths, device=device)[:, None] - 1
            steps = torch.arange(max(lengths), device=device)
            starts = batch.starts[torch.tensor(texts, device=device), None]
            self._index = (starts + torch.minimum(steps, last)).flatten()
            self._mask = (steps > last)[:, None, None, None]  # (b, 1, 1, 1, L)

    def __call__(self, text: tuple[Tensor, Tensor], query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Map queries (R, b, K, H, D), with the tokens' own keys and values, to (R, b, K, H D)."""
        width = query.shape[-1]
        text_key, text_value = (self._by_text(t).to(query.dtype) for t in text)
        text_scores = torch.einsum("rbkhd,bhld->bhrkl", query, text_key)
        if self._mask is not None:
            text_scores = text_scores.masked_fill(self._mask, -math.inf)
        token_scores = torch.einsum("rbkhd,rbjhd->bhrkj", query, key)
        scores = torch.cat([text_scores, token_scores], dim=-1) / math.sqrt(width)
        weights = self._dropout(torch.softmax(scores, dim=-1))
        length = text_scores.shape[-1]
        mixed = torch.einsum("bhrkl,bhld->rbkhd", weights[..., :length], text_value)
        mixed = mixed + torch.einsum("bhrkj,rbjhd->rbkhd", weights[..., length:], value)
        return mixed.flatten(-2)

    def _by_text(self, x: Tensor) -> Tensor:
        """Return (T, H, D) as (b, H, L, D); without a copy where all texts have one length."""
        rows = x[self._tokens] if self._index is None else gather_rows(x, self._index)
        return rows.view(self._texts, -1, *x.shape[1:]).transpose(1, 2)
