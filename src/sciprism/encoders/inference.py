"""Run many token id sequences through a transformer as fast as the machine allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from sciprism.arrays import Floats
from sciprism.cores import on_all_cores
from sciprism.encoders.packing import PackedBatch, pack, token_batches

CPU_BUDGET = 2_048  # tokens of one batch: its states stay in the processor's cache
CUDA_BUDGET = 65_536


def encode_sequences(
    compute: Callable[[PackedBatch], Tensor],
    sequences: Sequence[Sequence[int]],
    rows: Floats,
    *,
    route: str,
    device: torch.device,
) -> None:
    """Fill rows[i] with the vector of sequences[i].

    compute: maps a packed batch of B texts to (B, dim), on `device`. Batches depend on the
    lengths alone; on a CPU each runs on one core and several run side by side.
    """
    lengths = [len(sequence) for sequence in sequences]

    def run(batch: list[int]) -> None:
        with torch.inference_mode():
            vectors = compute(pack([sequences[i] for i in batch], route, device=device))
        rows[batch] = vectors.cpu().numpy()

    each_batch(run, token_batches(lengths, budget(sum(lengths), device)), device)


def each_batch(run: Callable[[list[int]], None], batches: Iterable[list[int]], device: torch.device) -> None:
    """Run every batch: on a CPU each on one core, several side by side; elsewhere one after the other."""
    if device.type == "cpu":
        on_all_cores(run, batches)
    else:
        for batch in batches:
            run(batch)


def budget(tokens: int, device: torch.device) -> int:
    """Choose tokens per batch from the work alone, so that small jobs use several cores too."""
    if device.type != "cpu":
        return CUDA_BUDGET
    return max(256, min(CPU_BUDGET, tokens // 8))
