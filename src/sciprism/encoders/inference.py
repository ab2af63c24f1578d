"""Encode many token id sequences in batches, on all cores or on an accelerator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from sciprism.arrays import Floats
from sciprism.encoders.packing import PackedBatch, pack, token_batches
from sciprism.parallel import map_threads

OnBatch = Callable[[int], None]
"""Is called with the number of texts of each batch that is done, from several threads."""

CPU_BUDGET = 2_048  # tokens per batch: its states fit in the processor's cache
CUDA_BUDGET = 65_536


def encode_sequences(
    compute: Callable[[PackedBatch], Tensor],
    sequences: Sequence[Sequence[int]],
    rows: Floats,
    *,
    route: str,
    device: torch.device,
    on_batch: OnBatch | None = None,
    max_texts: int | None = None,
) -> None:
    """Write the vector of sequences[i] to rows[i].

    compute: maps a packed batch of B texts to (B, dim), on `device`. Batches depend on the lengths only; on a
    CPU each runs on one core, several in parallel. max_texts: of a batch; None for no limit but the tokens.
    """
    lengths = [len(sequence) for sequence in sequences]

    def run(batch: list[int]) -> None:
        with torch.inference_mode():
            vectors = compute(pack([sequences[i] for i in batch], route, device=device))
        rows[batch] = vectors.cpu().numpy()
        if on_batch is not None:
            on_batch(len(batch))

    run_batches(run, token_batches(lengths, token_budget(sum(lengths), device), max_texts), device)


def run_batches(run: Callable[[list[int]], None], batches: Iterable[list[int]], device: torch.device) -> None:
    """Run every batch: on a CPU each on one core, several in parallel; elsewhere one after the other."""
    if device.type == "cpu":
        map_threads(run, batches)
    else:
        for batch in batches:
            run(batch)


def token_budget(tokens: int, device: torch.device) -> int:
    """Return the tokens per batch for a job of `tokens`; small jobs use several cores too."""
    if device.type != "cpu":
        return CUDA_BUDGET
    return max(256, min(CPU_BUDGET, tokens // 8))
