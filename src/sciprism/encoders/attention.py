"""Attention inside each text of a packed batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

import torch
from torch import Tensor
from torch.nn import functional as F

from sciprism.encoders.dropout import drop

Lengths = tuple[int, ...]


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    queries: Lengths,
    keys: Lengths,
    dropout: float = 0.0,
) -> Tensor:
    """Let each text's queries attend to that text's keys, softmax(q k^T / sqrt(D)) v.

    query: (Tq, H, D). key, value: (Tk, H, D). queries, keys: tokens of each text in the two. Returns
    (Tq, H, D). On CUDA in half precision one variable-length kernel does it all; elsewhere texts of
    equal shape that stand side by side go through one scaled-dot-product call. Neither pads.
    """
    if query.is_cuda and query.dtype in (torch.float16, torch.bfloat16) and dropout == 0.0:
        return _variable_length(query, key, value, queries, keys)
    return _grouped(query, key, value, queries, keys, dropout)


def _grouped(
    query: Tensor, key: Tensor, value: Tensor, queries: Lengths, keys: Lengths, dropout: float
) -> Tensor:
    parts = []
    q0 = k0 = 0
    for count, nq, nk in _runs(queries, keys):
        q1, k1 = q0 + count * nq, k0 + count * nk
        q = query[q0:q1].view(count, nq, *query.shape[1:]).transpose(1, 2)  # (count, H, nq, D)
        k = key[k0:k1].view(count, nk, *key.shape[1:]).transpose(1, 2)
        v = value[k0:k1].view(count, nk, *value.shape[1:]).transpose(1, 2)
        out = attended(q, k, v, dropout)
        parts.append(out.transpose(1, 2).flatten(0, 1))
        q0, k0 = q1, k1
    return torch.cat(parts)


def attended(q: Tensor, k: Tensor, v: Tensor, dropout: float, seen: Tensor | None = None) -> Tensor:
    """Attend over (..., L, D); torch's own call would draw its dropout from a generator of its own.

    seen: which keys each query sees, (L, L), None for all.
    """
    if dropout == 0.0:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if seen is not None:
        scores = scores.masked_fill(~seen, -math.inf)
    return drop(torch.softmax(scores, dim=-1), dropout) @ v


def _runs(queries: Lengths, keys: Lengths) -> Iterator[tuple[int, int, int]]:
    """Yield (texts, queries, keys) of each run of neighbouring texts of equal shape."""
    start = 0
    for i in range(1, len(queries) + 1):
        if i == len(queries) or queries[i] != queries[start] or keys[i] != keys[start]:
            yield i - start, queries[start], keys[start]
            start = i


def _variable_length(query: Tensor, key: Tensor, value: Tensor, queries: Lengths, keys: Lengths) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn

    query_bounds, key_bounds = _bounds(queries, query.device), _bounds(keys, query.device)
    out = varlen_attn(query, key, value, query_bounds, key_bounds, max(queries), max(keys))
    assert isinstance(out, Tensor)  # a tuple only where the log-sum-exp is asked for
    return out


@lru_cache(maxsize=16)
def _bounds(lengths: Lengths, device: torch.device) -> Tensor:
    """Return where texts begin and end, kept for the batch's other layers: copying to a GPU makes it wait."""
    with torch.inference_mode(False):  # what inference made is later used where gradients flow
        return torch.tensor((0, *accumulate(lengths)), dtype=torch.int32, device=device)
