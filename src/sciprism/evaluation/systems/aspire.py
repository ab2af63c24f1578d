"""ASPIRE: papers compared sentence by sentence.

Mysore, Cohan, Hope 2022: "Multi-Vector Models with Textual Guidance for Fine-Grained Scientific Document
Similarity", and the code released with it. A sentence's vector is the mean of its tokens' states in one pass
over title, separator and abstract. The distances between the sentences of two papers become one: the smallest
("ts", single match), or the cost of optimal transport between them ("ot").
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from sciprism.arrays import Floats, Rows
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import pack
from sciprism.encoders.streaming import run_batches
from sciprism.errors import InputError
from sciprism.evaluation.systems import Distance, EncodingInput, Excluded, NotServedError, System, display_name
from sciprism.papers.records import Paper
from sciprism.parallel import map_threads
from sciprism.text.sentences import split_sentences
from sciprism.text.template import Item

SentenceMatch = Literal["ts", "ot"]
EPS = 0.05  # strength of the entropic regularization, in units of distance: the value of the released models
TEMPERATURE = 1.0
COOLING = 0.9
TOLERANCE = 1e-6
STEPS = 2_000
TINY = 1e-300


class AspireSystem(System):
    """Re-rank papers by their sentences, with the token states of an encoder.

    match: "ts" or "ot". The title is read with the abstract but is not a sentence, as in the released models;
    a paper without an abstract is compared by its title, an empty one by its special tokens. It scores pools
    only: a paper has several vectors, so a corpus cannot be searched.
    """

    def __init__(self, encoder: Encoder, *, match: SentenceMatch = "ts") -> None:
        self.encoder = encoder
        self.match = match
        self.name = f"aspire-{match}-{display_name(encoder)}"

    @property
    def fingerprint(self) -> str:
        """Return a hash of the encoder's fingerprint and these settings."""
        encoder = f"{self.encoder.fingerprint} {self.encoder.precision}"
        return hashlib.sha256(f"aspire {self.match} {EPS} {TEMPERATURE} {encoder}".encode()).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return the settings and the encoder's own description."""
        settings = {"match": self.match, "eps": EPS, "temperature": TEMPERATURE}
        return {"name": self.name, **settings, "encoder": self.encoder.describe(), "fingerprint": self.fingerprint}

    def top(
        self, queries: EncodingInput, documents: EncodingInput, k: int, distance: Distance, excluded: Excluded
    ) -> tuple[Floats, Rows]:
        """Raise NotServedError: pairs are compared one by one, which is for pools."""
        raise NotServedError("ASPIRE compares pairs of papers; it re-ranks pools and does not search a corpus")

    def pool_scores(
        self, queries: EncodingInput, candidates: EncodingInput, pools: Sequence[Rows], distance: Distance
    ) -> list[Floats]:
        """Return minus the distance of each candidate in each query's pool."""
        left = sentence_vectors(self.encoder, queries)
        right = sentence_vectors(self.encoder, candidates)
        return map_threads(
            lambda number: _scores(left[number], [right[row] for row in pools[number]], self.match), range(len(pools))
        )


def sentence_vectors(encoder: Encoder, texts: EncodingInput) -> list[Tensor]:
    """Return the vectors of each item's sentences, (sentences, dim) each and at least one, on the CPU."""
    route = encoder.method.route(texts.format, texts.role)
    special = encoder.tokenizer.encode("").ids
    if len(special) != 2:
        raise InputError(f"{encoder.name} puts {len(special)} special tokens around a text; ASPIRE needs two")
    sequences: list[list[int]] = []
    spans: list[list[slice]] = []
    for item in texts.items:
        pieces = encoder.tokenizer.encode_batch_fast(_pieces(encoder, item, texts), add_special_tokens=False)
        ids, slices = _join_pieces([piece.ids for piece in pieces], encoder.settings.max_length - 2)
        sequences.append([special[0], *ids, special[1]])
        spans.append(slices)
    vectors: list[Tensor] = [torch.empty(0)] * len(sequences)

    def run(rows: list[int]) -> None:
        with torch.inference_mode():
            batch = pack([sequences[row] for row in rows], route, device=encoder.device)
            states = encoder.model(batch).float().cpu()  # at once, not sentence by sentence
            for row, begin in zip(rows, batch.bounds, strict=False):
                mine = states[begin : begin + len(sequences[row])]
                vectors[row] = torch.stack([mine[span].mean(dim=0) for span in spans[row]])

    run_batches(run, [len(ids) for ids in sequences], encoder.device)
    return vectors


def best_match(distances: Tensor, candidate: Tensor) -> Tensor:
    """Return the smallest distance between a sentence of the one and one of the other ("TS"), (B,).

    distances: (B, n, m) between n and m sentences; candidate: (B, m), True where there is a sentence.
    """
    return distances.masked_fill(~candidate[:, None, :], torch.inf).amin(dim=(1, 2))


def transport(distances: Tensor, candidate: Tensor, *, eps: float = EPS) -> Tensor:
    """Return the cost of moving one paper's sentences onto the other's ("OT"), (B,).

    distances: (B, n, m); candidate: (B, m), True where there is a sentence. A sentence's weight
    is the softmax over sentences of minus its smallest distance. The plan is Sinkhorn's (Cuturi 2013) in
    logarithms, with `eps` annealed from the largest distance down; the cost is the sum of plan times
    distance, without the entropy.
    """
    far = distances.masked_fill(~candidate[:, None, :], torch.inf)
    log_query = torch.log_softmax(-far.amin(dim=2) / TEMPERATURE, dim=1)
    nearest = distances.amin(dim=1).masked_fill(~candidate, torch.inf)
    log_candidate = torch.log_softmax(-nearest / TEMPERATURE, dim=1)
    plan = sinkhorn(distances, log_query, log_candidate, eps)
    return (plan * distances).sum(dim=(1, 2))


def sinkhorn(cost: Tensor, log_a: Tensor, log_b: Tensor, eps: float) -> Tensor:
    """Return the entropic transport plans (B, n, m) between weights exp(log_a) (B, n) and exp(log_b) (B, m).

    A weight of minus infinity takes no part. Sums of rows and columns are exact.
    """
    f = torch.zeros_like(log_a)
    g = torch.zeros_like(log_b)
    heat = max(float(cost.max()), eps)
    while True:
        f = -heat * torch.logsumexp(log_b[:, None, :] + (g[:, None, :] - cost) / heat, dim=2)
        g = -heat * torch.logsumexp(log_a[:, :, None] + (f[:, :, None] - cost) / heat, dim=1)
        if heat == eps:
            break
        heat = max(heat * COOLING, eps)
    log_plan = log_a[:, :, None] + log_b[:, None, :] + (f[:, :, None] + g[:, None, :] - cost) / eps
    return _balance(log_plan.exp(), log_a.exp(), log_b.exp())


def _balance(plan: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Scale rows and columns of plans until they sum to a and b, then spread the remainder evenly.

    From a nearly balanced plan this is Sinkhorn's step without logarithms, at a tenth of the cost. The last
    part is the rounding of Altschuler et al. 2017 (algorithm 2).
    """
    rows, columns = torch.ones_like(a), torch.ones_like(b)
    for step in range(STEPS):
        sums = (plan @ columns[:, :, None])[:, :, 0]
        if step % 16 == 0 and bool((rows * sums - a).abs().max() < TOLERANCE):
            break
        rows = a / sums.clamp_min(TINY)
        columns = b / (rows[:, None, :] @ plan)[:, 0].clamp_min(TINY)
    plan = rows[:, :, None] * plan * columns[:, None, :]
    plan = plan * (a / plan.sum(dim=2).clamp_min(TINY)).clamp_max(1)[:, :, None]
    plan = plan * (b / plan.sum(dim=1).clamp_min(TINY)).clamp_max(1)[:, None, :]
    missing_a, missing_b = ((a - plan.sum(dim=2)).clamp_min(0), (b - plan.sum(dim=1)).clamp_min(0))
    missing = missing_a.sum(dim=1).clamp_min(TINY)
    return plan + missing_a[:, :, None] * missing_b[:, None, :] / missing[:, None, None]


def _scores(query: Tensor, candidates: list[Tensor], match: SentenceMatch) -> Floats:
    """Return minus the distance of each candidate; query (n, dim), candidates (m_i, dim)."""
    if not candidates:
        return np.empty(0, np.float32)
    padded = pad_sequence(candidates, batch_first=True).double()  # (B, m, dim)
    lengths = torch.tensor([len(vectors) for vectors in candidates])
    present = torch.arange(padded.shape[1]) < lengths[:, None]
    # Without matrix products: near-equal sentences would suffer from cancellation.
    distances = torch.cdist(
        query.double().expand(len(padded), -1, -1), padded, compute_mode="donot_use_mm_for_euclid_dist"
    )
    similarities = best_match(distances, present) if match == "ts" else transport(distances, present)
    return (-similarities).float().numpy()


def _pieces(encoder: Encoder, item: Item, texts: EncodingInput) -> list[str]:
    """Return the text before the abstract (with its separator), then the abstract's sentences."""
    template = encoder.settings.template
    if not isinstance(item, Paper):
        return ["", *split_sentences(template.text(item, texts.role, texts.fields))]
    before = tuple(field for field in texts.fields if field != "abstract")
    head = template.text(item, texts.role, before)
    abstract = item.abstract if "abstract" in texts.fields else ""
    sentences = [part.lower() if template.lowercase else part for part in split_sentences(abstract)]
    return [head + template.separator if head and sentences else head, *sentences]


def _join_pieces(pieces: list[list[int]], room: int) -> tuple[list[int], list[slice]]:
    """Return all tokens, truncated to `room`, and the slices of the sentences after CLS is put in front."""
    ids = [token for piece in pieces for token in piece][:room]
    bounds = [min(bound, len(ids)) + 1 for bound in accumulate(map(len, pieces), initial=0)]
    spans = [slice(start, end) for start, end in pairwise(bounds) if end > start]
    sentences = [span for span in spans if span.start >= bounds[1]]
    return ids, sentences or spans or [slice(None)]
