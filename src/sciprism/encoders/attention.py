"""Scaled dot-product attention: inside each text of a packed batch, with a bias, and of extra tokens to their text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import accumulate, groupby

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.encoders.layers import PackedBatch, build_embedding, copy_integers, copy_tensor, drop

Lengths = tuple[int, ...]


def attend_packed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    queries: Lengths,
    keys: Lengths,
    dropout: float = 0.0,
    bias: Tensor | None = None,
    window: int = 0,
    causal: bool = False,
) -> Tensor:
    """Return the attention of each text's queries to the same text's keys, softmax(q k^T / sqrt(D) + bias) v.

    query: (Tq, H, D). key, value: (Tk, H, D). queries, keys: number of query and key tokens of each text. bias:
    (H, L, L) with L from the longest text on; each text gets its first rows and columns. window: how many tokens on
    each side a token attends to, 0 for all. causal: to itself and those before it alone. Returns (Tq, H, D). On CUDA
    one call computes all texts: flash attention of variable lengths where the device and the queries allow it and
    there is no bias, else `attend_padded`. On a CPU one call computes neighbouring texts of equal lengths.
    """
    if query.is_cuda and bias is None and takes_flash(query) and flash_works(query.device):
        bounds = _bounds(queries, query.device), _bounds(keys, query.device)
        return attend_flash(query, key, value, bounds, (max(queries), max(keys)), dropout, window, causal)
    if query.is_cuda and len(queries) > 1 and not (window or causal):
        return attend_padded(query, key, value, queries=queries, keys=keys, dropout=dropout, bias=bias)
    runs = [(nq, nk, len(list(run))) for (nq, nk), run in groupby(zip(queries, keys, strict=True))]
    query_rows = torch.split(query, [count * nq for nq, _, count in runs])  # one gradient for all runs, unlike slices
    key_rows, value_rows = (torch.split(x, [count * nk for _, nk, count in runs]) for x in (key, value))
    parts = []
    for (nq, nk, count), q, k, v in zip(runs, query_rows, key_rows, value_rows, strict=True):
        q = q.view(count, nq, *q.shape[1:]).transpose(1, 2)  # (count, H, nq, D)
        k, v = (x.view(count, nk, *x.shape[1:]).transpose(1, 2) for x in (k, v))
        part = None if bias is None else bias[None, :, :nq, :nk].to(q.dtype)
        near = bool(window) and nq > window + 1
        out = attend_window(q, k, v, dropout, window) if near else attend_dense(q, k, v, dropout, part, causal=causal)
        parts.append(out.transpose(1, 2).flatten(0, 1))
    return torch.cat(parts)


def attend_window(q: Tensor, k: Tensor, v: Tensor, dropout: float, window: int) -> Tensor:
    """Return the attention over (n, H, L, D) of each token to those at most `window` before and after it.

    Where that is less work, blocks of queries attend to the keys around them: memory grows with L, not with its square.
    Four dimensions and one mask, as torch's fused operator of the CPU wants them.
    """
    count, length = q.shape[0], q.shape[2]
    if length <= 4 * window:
        return attend_dense(q, k, v, dropout, _near(window, q.device)[:length, :length])
    size = 2 * window
    blocks = -(-length // size)
    rest = blocks * size - length
    q = F.pad(q, (0, 0, 0, rest)).view(*q.shape[:2], blocks, size, -1)
    k, v = (F.pad(x, (0, 0, window, window + rest)).unfold(2, 2 * size, size).transpose(-1, -2) for x in (k, v))
    q, k, v = (x.transpose(1, 2).flatten(0, 1) for x in (q, k, v))  # (count blocks, H, tokens, D)
    mask = _window_mask(length, window, q.device).repeat(count, 1, 1)[:, None]
    out = attend_dense(q, k, v, dropout, mask)
    return out.view(count, blocks, *out.shape[1:]).transpose(1, 2).flatten(2, 3)[:, :, :length]


@lru_cache(maxsize=16)
def _near(window: int, device: torch.device) -> Tensor:
    """Return which of the first 4 window tokens of a text each one of them attends to, cached as `_bounds` are."""
    with torch.inference_mode(False):
        return torch.ones(4 * window, 4 * window, dtype=torch.bool, device=device).tril(window).triu(-window)


@lru_cache(maxsize=16)
def _window_mask(length: int, window: int, device: torch.device) -> Tensor:
    """Return which keys around a block its queries attend to, (blocks, 2 window, 4 window), cached as `_bounds` are."""
    size = 2 * window
    blocks = -(-length // size)
    with torch.inference_mode(False):
        place = torch.arange(2 * size, device=device) - window  # of a key, from its block's first query on
        near = (place[None] - torch.arange(size, device=device)[:, None]).abs() <= window
        key = place + size * torch.arange(blocks, device=device)[:, None]
        mask = near & ((key >= 0) & (key < length))[:, None]
        mask[-1, length - blocks * size + size :, 0] = True  # queries of no token attend to something: numbers, not nan
    return mask


def rotate(x: Tensor, angles: tuple[Tensor, Tensor]) -> Tensor:
    """Return queries or keys, (T, H, D), rotated by `PackedBatch.angles` (RoPE, Su et al. 2021).

    Dimension i and i + D/2 are one pair, turned by position / theta^(2i / D).
    """
    cosine, sine = angles
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1).to(x.dtype)


def attend_padded(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    queries: Lengths,
    keys: Lengths,
    dropout: float = 0.0,
    bias: Tensor | None = None,
) -> Tensor:
    """Return what `attend_packed` does, with all texts padded to the longest: few calls, which a GPU waits for."""
    query_rows, queried = _padding(queries, query.device)
    key_rows, present = _padding(keys, key.device)
    q = _pad(query, query_rows, queried)
    k, v = _pad(key, key_rows, present), _pad(value, key_rows, present)
    mask = present[:, None, None]  # (texts, 1, 1, Lk)
    if bias is not None:
        mask = bias[None, :, : q.shape[2], : k.shape[2]].to(q.dtype).masked_fill(~mask, -math.inf)
    out = attend_dense(q, k, v, dropout, mask)
    return gather_rows(out.transpose(1, 2).flatten(0, 1), query_rows)


def attend_dense(
    q: Tensor, k: Tensor, v: Tensor, dropout: float, mask: Tensor | None = None, *, causal: bool = False
) -> Tensor:
    """Return the attention over (..., L, D); on a CPU with this module's dropout: torch's cannot be seeded there.

    mask: which keys each query attends to, of a shape that broadcasts to (..., L, L), None for all; or numbers that are
    added to the scores, in the precision of q. causal, in place of a mask: those up to itself.
    """
    if dropout == 0.0 or q.is_cuda:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout, is_causal=causal)
    if causal:
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
    scores = (q / math.sqrt(q.shape[-1])) @ k.transpose(-1, -2)  # queries are scaled: scores are more numbers
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    return drop(torch.softmax(scores, dim=-1), dropout) @ v


def gather_rows(x: Tensor, index: Tensor) -> Tensor:
    """Return rows of x: by the fastest operator, or by one whose gradient is deterministic."""
    return x[index] if torch.is_grad_enabled() else x.index_select(0, index)


def attend_flash(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bounds: tuple[Tensor, Tensor],
    longest: tuple[int, int],
    dropout: float,
    window: int = 0,
    causal: bool = False,
) -> Tensor:
    """Return what `attend_packed` does; bounds and longest: of the texts' queries and of their keys.

    The operator is that of torch's `varlen_attn`, which has no dropout.
    """
    flash = torch.ops.aten._flash_attention_forward
    sides = {"window_size_left": window, "window_size_right": window} if window else {}
    out: Tensor = flash(query, key, value, *bounds, *longest, dropout, causal, False, **sides)[0]
    return out


def takes_flash(query: Tensor) -> bool:
    """Return whether flash attention computes queries, (T, H, D), on their device: by precision, D and capability."""
    halved = query.dtype in (torch.float16, torch.bfloat16)
    width = query.shape[-1]
    return halved and width % 8 == 0 and width <= 256 and torch.cuda.get_device_capability(query.device)[0] >= 8


@cache
def flash_works(device: torch.device) -> bool:
    """Return whether this build of torch has flash attention of variable lengths for a device, and it is correct."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices), torch.inference_mode(False), torch.enable_grad():
        x = torch.linspace(-2, 2, 64, device=device).view(8, 1, 8).bfloat16().requires_grad_()
        bounds = (torch.tensor([0, 3, 8], dtype=torch.int32, device=device),) * 2
        try:
            found = attend_flash(x, x, x, bounds, (5, 5), 0.0).float()
            (gradient,) = torch.autograd.grad(attend_flash(x, x, x, bounds, (5, 5), 0.5).float().square().sum(), x)
        except (AttributeError, RuntimeError):
            return False
        texts = [part.float().transpose(0, 1) for part in (x[:3], x[3:])]
        exact = torch.cat([attend_dense(text, text, text, 0.0).transpose(0, 1) for text in texts])
        return bool(torch.allclose(found, exact, atol=0.02) and gradient.isfinite().all())


def _pad(x: Tensor, rows: Tensor, present: Tensor) -> Tensor:
    """Return the rows of each text, (T, H, D), padded with zeros as `_padding` says: (texts, H, L, D)."""
    padded = x.new_zeros(present.numel(), *x.shape[1:]).index_copy(0, rows, x)
    return padded.view(*present.shape, *x.shape[1:]).transpose(1, 2)


@lru_cache(maxsize=16)
def _padding(lengths: Lengths, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the padded row of each token, (T,), and a mask of the rows that hold a token, (texts, L).

    L: the length of the longest text, to which all are padded. Both are cached as `_bounds` are.
    """
    with torch.inference_mode(False):
        present = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        return copy_tensor(present.flatten().nonzero().squeeze(1), device), copy_tensor(present, device)


@lru_cache(maxsize=16)
def _bounds(lengths: Lengths, device: torch.device) -> Tensor:
    """Return the bounds of texts, cached for the other layers: copying to a GPU makes it wait."""
    with torch.inference_mode(False):  # a later pass with gradients may use the cached tensor
        return copy_integers((0, *accumulate(lengths)), device, torch.int32)


RELATIVE_BUCKETS, MAX_DISTANCE = 32, 128
"""MPNet's: the public implementation computes with these numbers, whatever a configuration states."""


class RelativePositions(nn.Module):
    """Bias of attention scores by the distance from query to key, shared by all layers (MPNet, after T5).

    Half of the buckets are for keys before the query, half for keys after it. In each half the nearer distances have
    a bucket each, the others share one per step of their logarithm, up to `MAX_DISTANCE`.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.bias = build_embedding(RELATIVE_BUCKETS, heads)

    def forward(self, length: int) -> Tensor:
        """Return the bias of texts of up to `length` tokens, (H, length, length), by query and key."""
        positions = torch.arange(length, device=self.bias.weight.device)
        buckets = self.buckets(positions[None] - positions[:, None])
        return self.bias(buckets).permute(2, 0, 1)  # type: ignore[no-any-return]

    @staticmethod
    def buckets(distances: Tensor) -> Tensor:
        """Return the bucket of each distance, the key's position less the query's."""
        half = RELATIVE_BUCKETS // 2
        exact = half // 2
        far = distances.abs()
        steps = torch.log(far.float() / exact) / math.log(MAX_DISTANCE / exact) * (half - exact)
        shared = exact + steps.clamp(0, half - 1 - exact).long()
        return half * (distances > 0) + torch.where(far < exact, far, shared)


SPARE_TOKENS = 16


class CrossAttention:
    """Attention of K tokens on each of R routes to their text; one product per group of similar length.

    texts: the slice of the batch. dropout: of the attention weights. H heads have the width D.
    """

    def __init__(self, batch: PackedBatch, texts: slice, dropout: nn.Module) -> None:
        groups = group_by_length(batch.lengths[texts])
        self._groups = [GroupCrossAttention(batch, [texts.start + text for text in group], dropout) for group in groups]
        several = groups if len(groups) > 1 else ()
        self._rows = [copy_integers(group, batch.ids.device) for group in several]
        self._order = torch.cat(self._rows).argsort() if several else None

    def __call__(self, text: tuple[Tensor, Tensor], query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Map queries (R, b, K, H D), with the tokens' own keys and values, to (R, b, K, H D).

        text: keys and values of the batch's text tokens, each (T, H, D).
        """
        heads, width = text[0].shape[1:]
        query, key, value = (t.reshape(*t.shape[:3], heads, width) for t in (query, key, value))
        if self._order is None:
            return self._groups[0](text, query, key, value)
        outputs = [
            group(text, *(t[:, rows] for t in (query, key, value)))
            for group, rows in zip(self._groups, self._rows, strict=True)
        ]
        return torch.cat(outputs, dim=1)[:, self._order]


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
            last = copy_integers(lengths, device)[:, None] - 1
            steps = torch.arange(max(lengths), device=device)
            starts = batch.starts[copy_integers(texts, device), None]
            self._index = (starts + torch.minimum(steps, last)).flatten()
            self._mask = (steps > last)[:, None, None, None]  # (b, 1, 1, 1, L)

    def __call__(self, text: tuple[Tensor, Tensor], query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Map queries (R, b, K, H, D), with the tokens' own keys and values, to (R, b, K, H D)."""
        width = query.shape[-1]
        rows = (t[self._tokens] if self._index is None else gather_rows(t, self._index) for t in text)
        # (b, H, L, D): without a copy where all texts have one length
        text_key, text_value = (t.view(self._texts, -1, *t.shape[1:]).transpose(1, 2).to(query.dtype) for t in rows)
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
