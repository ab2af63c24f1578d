"""Attention of tokens that stand beside texts, to their text and to one another."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.transformer import rows_of


class Reading:
    """How some texts' own tokens read: K tokens for each of W ways, all ways of a text in one product.

    texts: which of the batch. drop: of the attention's weights. Texts of several lengths are laid out up to
    the longest, the rest unseen; in batches for inference neighbours are of like length.
    """

    def __init__(self, batch: PackedBatch, texts: slice, drop: nn.Module) -> None:
        lengths = batch.lengths[texts]
        self._texts, self._drop = len(lengths), drop
        self._tokens = slice(batch.bounds[texts.start], batch.bounds[texts.stop])
        self._places = self._unseen = None
        if len(set(lengths)) > 1:
            last = torch.tensor(lengths, device=batch.ids.device)[:, None] - 1
            steps = torch.arange(max(lengths), device=batch.ids.device)
            self._places = (batch.starts[texts, None] + torch.minimum(steps, last)).flatten()
            self._unseen = (steps > last)[:, None, None, None]  # (b, 1, 1, 1, L)

    def __call__(self, text: tuple[Tensor, Tensor], query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Map queries (W, b, K, H D), with keys and values of the tokens themselves, to (W, b, K, H D).

        text: keys and values of the batch's tokens, each (T, H, D).
        """
        heads, width = text[0].shape[1:]
        query, key, value = (t.reshape(*t.shape[:3], heads, width) for t in (query, key, value))
        text_key, text_value = (self._laid(t).to(query.dtype) for t in text)
        seen = torch.einsum("wbkhd,bhld->bhwkl", query, text_key)
        if self._unseen is not None:
            seen = seen.masked_fill(self._unseen, -math.inf)
        own = torch.einsum("wbkhd,wbjhd->bhwkj", query, key)
        weights = self._drop(torch.softmax(torch.cat([seen, own], dim=-1) / math.sqrt(width), dim=-1))
        length = seen.shape[-1]
        mixed = torch.einsum("bhwkl,bhld->wbkhd", weights[..., :length], text_value)
        mixed = mixed + torch.einsum("bhwkj,wbjhd->wbkhd", weights[..., length:], value)
        return mixed.flatten(-2)

    def _laid(self, x: Tensor) -> Tensor:
        """Lay (T, H, D) out text by text, (b, H, L, D); without a copy where all are as long."""
        own = x[self._tokens] if self._places is None else rows_of(x, self._places)
        return own.view(self._texts, -1, *x.shape[1:]).transpose(1, 2)
