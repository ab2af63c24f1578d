"""ASPIRE: papers compared sentence by sentence.

Mysore, Cohan, Hope 2022: "Multi-Vector Models with Textual Guidance for Fine-Grained Scientific Document
Similarity"; where it is silent, the code released with it. A sentence's vector is the mean of its tokens'
states in one pass over title, separator and abstract. Two ways to turn the distances between the sentences of
two papers into one: the best match ("ts": the smallest), and optimal transport ("ot": what it costs to move
one paper's sentences onto the other's).
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
from sciprism.cores import on_all_cores
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.inference import CPU_BUDGET, CUDA_BUDGET
from sciprism.encoders.packing import pack, token_batches
from sciprism.errors import InputError
from sciprism.evaluation.systems import Distance, NotServedError, Texts
from sciprism.evaluation.systems.dense import shown
from sciprism.papers.records import Paper
from sciprism.text.sentences import split_sentences
from sciprism.text.template import Item

Match = Literal["ts", "ot"]
MATCHES = ("ts", "ot")
EPS = 0.05
"""Strength of the entropy in the transport, in units of distance: the value of the released models."""
TEMPERATURE = 1.0
COOLING = 0.9
TOLERANCE = 1e-6
STEPS = 2_000
TINY = 1e-300


class AspireSystem:
    """Re-rank papers by their sentences, with the token states of an encoder.

    match: "ts" or "ot". The title is read with the abstract but is no sentence of its own, as in the released
    models; a paper without an abstract is compared by its title, an empty one by its special tokens. It
    scores pools only: there is no one vector per paper that could be searched.
    """

    def __init__(self, encoder: Encoder, *, match: Match = "ts") -> None:
        if match not in MATCHES:
            raise InputError(f"unknown match {match!r}; known: {', '.join(MATCHES)}")
        self.encoder = encoder
        self.match = match
        self.name = f"aspire-{match}-{shown(encoder)}"

    @property
    def fingerprint(self) -> str:
        """Return a hash of the encoder's fingerprint and of what this adds."""
        encoder = f"{self.encoder.fingerprint} {self.encoder.precision}"
        settings = f"aspire {self.match} {EPS} {TEMPERATURE} {encoder}"
        return hashlib.sha256(settings.encode()).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return the settings and the encoder's own description."""
        return {
            "name": self.name,
            "match": self.match,
            "eps": EPS,
            "temperature": TEMPERATURE,
            "encoder": self.encoder.describe(),
            "fingerprint": self.fingerprint,
        }

    def vectors(self, texts: Texts) -> Floats:  # noqa: ARG002 (the systems' signature)
        """Raise NotServedError: a paper has a vector per sentence."""
        raise NotServedError("ASPIRE has a vector per sentence, none per paper")

    def top(
        self,
        queries: Texts,  # noqa: ARG002
        documents: Texts,  # noqa: ARG002
        k: int,  # noqa: ARG002
        distance: Distance,  # noqa: ARG002
        excluded: Sequence[Rows] | None,  # noqa: ARG002
    ) -> tuple[Floats, Rows]:
        """Raise NotServedError: every pair is compared anew, which is for pools."""
        raise NotServedError(
            "ASPIRE compares pairs of papers; it re-ranks pools and does not search a corpus"
        )

    def pool_scores(
        self,
        queries: Texts,
        candidates: Texts,
        pools: Sequence[Rows],
        distance: Distance,  # noqa: ARG002 (it has one of its own: between sentences, euclidean)
    ) -> list[Floats]:
        """Return minus the distance of each candidate in each query's pool."""
        asked = sentence_vectors(self.encoder, queries)
        known = sentence_vectors(self.encoder, candidates)

        def score(number: int) -> Floats:
            return _scores(asked[number], [known[row] for row in pools[number]], self.match)

        return on_all_cores(score, range(len(pools)))


def sentence_vectors(encoder: Encoder, texts: Texts) -> list[Tensor]:
    """Return the vectors of each item's sentences, (sentences, dim) each and at least one, on the CPU."""
    route = encoder.method.route(texts.format, texts.role)
    start, end = _special(encoder)
    sequences: list[list[int]] = []
    spans: list[list[slice]] = []
    for item in texts.items:
        pieces = _pieces(encoder, item, texts)
        ids, places = _lay(_tokens(encoder, pieces), encoder.settings.max_length - 2)
        sequences.append([start, *ids, end])
        spans.append(places)
    found: list[Tensor] = [torch.empty(0)] * len(sequences)

    def run(rows: list[int]) -> None:
        with torch.inference_mode():
            batch = pack([sequences[row] for row in rows], route, device=encoder.device)
            states = encoder.model(batch).float()
            for row, begin in zip(rows, batch.bounds, strict=False):
                mine = states[begin : begin + len(sequences[row])]
                found[row] = torch.stack([mine[span].mean(dim=0) for span in spans[row]]).cpu()

    on_cpu = encoder.device.type == "cpu"
    batches = token_batches([len(ids) for ids in sequences], CPU_BUDGET if on_cpu else CUDA_BUDGET)
    if on_cpu:
        on_all_cores(run, batches)
    else:
        for batch in batches:
            run(batch)
    return found


def best_match(distances: Tensor, candidate: Tensor) -> Tensor:
    """Return the smallest distance between a sentence of the one and one of the other ("TS"), (B,).

    distances: (B, n, m) between n and m sentences; candidate: (B, m), True where there is a sentence.
    """
    return distances.masked_fill(~candidate[:, None, :], torch.inf).amin(dim=(1, 2))


def transport(distances: Tensor, candidate: Tensor, *, eps: float = EPS) -> Tensor:
    """Return what it costs to move one paper's sentences onto the other's ("OT"), (B,).

    distances: (B, n, m); candidate: (B, m), True where there is a sentence. Each sentence weighs by its
    nearness to the other paper: softmax over sentences of minus its smallest distance. The plan is Sinkhorn's
    (Cuturi 2013) in logarithms, with `eps` cooled from the largest distance down; the cost leaves the
    entropy out: the sum of plan times distance.
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
    """Scale rows and columns of plans until they sum to a and b; what is still missing then is spread evenly.

    From a plan that is nearly right this is Sinkhorn's step without logarithms, at a tenth of its price. The
    last part is the rounding of Altschuler et al. 2017 (algorithm 2).
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


def _scores(query: Tensor, candidates: list[Tensor], match: Match) -> Floats:
    """Return minus the distance of each candidate; query (n, dim), candidates (m_i, dim)."""
    if not candidates:
        return np.empty(0, np.float32)
    padded = pad_sequence(candidates, batch_first=True).double()  # (B, m, dim)
    lengths = torch.tensor([len(vectors) for vectors in candidates])
    there = torch.arange(padded.shape[1]) < lengths[:, None]
    # without matrix products: their cancellation is visible between near-equal sentences
    distances = torch.cdist(
        query.double().expand(len(padded), -1, -1), padded, compute_mode="donot_use_mm_for_euclid_dist"
    )
    found = best_match(distances, there) if match == "ts" else transport(distances, there)
    return (-found).float().numpy()


def _pieces(encoder: Encoder, item: Item, texts: Texts) -> list[str]:
    """Return what stands before the abstract (with its separator), then the abstract's sentences."""
    template = encoder.settings.template
    if not isinstance(item, Paper):
        sentences = split_sentences(template.text(item, texts.role, texts.fields))
        return ["", *sentences]
    before = tuple(field for field in texts.fields if field != "abstract")
    head = template.text(item, texts.role, before)
    abstract = item.abstract if "abstract" in texts.fields else ""
    sentences = [part.lower() if template.lowercase else part for part in split_sentences(abstract)]
    return [head + template.separator if head and sentences else head, *sentences]


def _tokens(encoder: Encoder, pieces: list[str]) -> list[list[int]]:
    encodings = encoder.tokenizer.encode_batch_fast(pieces, add_special_tokens=False)
    return [encoding.ids for encoding in encodings]


def _lay(pieces: list[list[int]], room: int) -> tuple[list[int], list[slice]]:
    """Return all tokens, cut to `room`, and where the sentences lie once CLS stands in front."""
    ids = [token for piece in pieces for token in piece][:room]
    bounds = [min(bound, len(ids)) + 1 for bound in accumulate(map(len, pieces), initial=0)]
    spans = [slice(start, end) for start, end in pairwise(bounds) if end > start]
    sentences = [span for span in spans if span.start >= bounds[1]]
    return ids, sentences or spans or [slice(None)]


def _special(encoder: Encoder) -> tuple[int, int]:
    ids = encoder.tokenizer.encode("").ids
    if len(ids) != 2:
        raise InputError(f"{encoder.name} puts {len(ids)} special tokens around a text; ASPIRE needs two")
    return ids[0], ids[1]
