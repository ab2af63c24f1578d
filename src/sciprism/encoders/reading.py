"""Attention of tokens that stand beside texts, to their text and to one another."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.transformer import rows_of

SPARE = 16


class Reading:
    """How some texts' own tokens read: K tokens for each of W ways, all ways of texts alike in one product.

    texts: which of the batch. drop: of the attention's weights.
    """

    def __init__(self, batch: PackedBatch, texts: slice, drop: nn.Module) -> None:
        groups = alike(batch.lengths[texts])
        self._parts = [Alike(batch, [texts.start + text for text in group], drop) for group in groups]
        self._rows = [torch.tensor(group, device=batch.ids.device) for group in groups]
        self._back = torch.cat(self._rows).argsort() if len(groups) > 1 else None

    def __call__(self, text: tuple[Tensor, Tensor], query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Map queries (W, b, K, H D), with keys and values of the tokens themselves, to (W, b, K, H D).

        text: keys and values of the batch's tokens, each (T, H, D).
        """
        heads, width = text[0].shape[1:]
        query, key, value = (t.reshape(*t.shape[:3], heads, width) for t in (query, key, value))
        if self._back is None:
            return self._parts[0](text, query, key, value)
        found = [
            part(text, *(t[:, rows] for t in (query, key, value)))
            for part, rows in zip(self._parts, self._rows, strict=True)
        ]
        return torch.cat(found, dim=1)[:, self._back]


def alike(lengths: Sequence[int]) -> list[list[int]]:
    """Return the places of texts that are read together, each group in their order.

    The shortest of a group is at least half as long as its longest, less a few tokens: what short texts cost
    does not depend on the long ones beside them.
    """
    groups: list[list[int]] = []
    least = math.inf
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if lengths[place] < least:
            groups.append([])
            least = lengths[place] / 2 - SPARE
        groups[-1].append(place)
    return [sorted(group) for group in groups]


class Alike:
    """How the tokens of some texts of a batch read; shorter texts are laid out to the longest, unseen."""

    def __init__(self, batch: PackedBatch, texts: Sequence[int], drop: nn.Module) -> None:
        lengths = [batch.lengths[text] for text in texts]
        self._texts, self._drop = len(texts), drop
        self._tokens = slice(batch.bounds[texts[0]], batch.bounds[texts[-1] + 1])
        self._places = self._unseen = None
        if len(set(lengths)) > 1 or texts[-1] - texts[0] >= len(texts):
            device = batch.ids.device
            last = torch.tensor(lengths, device=device)[:, None] - 1
            steps = torch.arange(max(lengths), device=device)
            starts = batch.starts[torch.tensor(texts, device=device), None]
            self._places = (starts + torch.minimum(steps, last)).flatten()
            self._unseen = (steps > last)[:, None, None, None]  # (b, 1, 1, 1, L)

    def __call__(self, text: tuple[Tensor, Tensor], query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Map queries (W, b, K, H, D), with keys and values of the tokens themselves, to (W, b, K, H D)."""
        width = query.shape[-1]
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
