"""Encoding, search and a training step do not need more operations than the baseline in operations.json.

Counted are the multiplications of matrix products by shape, the tokens that are computed, and the numbers that are
copied: no times, so that every machine gives the same. Where an improvement or a feature changes them, write what
the failing test prints into the file.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from sciprism import Encoder
from sciprism.encoders import streaming
from sciprism.index import exact, topk
from sciprism.objectives.contrastive import in_batch_contrastive
from sciprism.store import Matrix
from sciprism.training.steps import EncoderPass, PassSettings

BASELINE = Path(__file__).with_name("operations.json")
WORDS = ["gravity", "deep learning of protein structure", "star " * 40, "the effect of light " * 12, "vaccine trial"]
TEXTS = [f"{text} {word}" for text in WORDS for word in ("", "method", "of the mouse")]
PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}
"""Operator -> number of its left matrix."""
LINEAR = {"linear", "_linear_pointwise"}
ATTENTION = {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu"}
COPIES = {"copy_", "clone", "_to_copy", "cat", "stack", "index", "index_select", "constant_pad_nd", "repeat"}
WAITS = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero"}
"""Operators for whose numbers the host would wait if they were on a GPU, as for those of `.item()` and `.tolist()`."""
ZEROS = {"zeros", "new_zeros", "zeros_like", "zero_", "full", "full_like", "slice_backward", "select_backward"}


class OperationCounter(TorchDispatchMode):
    """Counts what torch computes in this thread: products by shape, numbers copied or set to zero, waits."""

    def __init__(self) -> None:
        super().__init__()
        self.products, self.numbers = Counter[str](), Counter[str]()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out, name = function(*args, **kwargs or {}), function._schema.name.partition("::")[2]
        if name in PRODUCTS:
            left, right = args[PRODUCTS[name] : PRODUCTS[name] + 2]
            self.add(math.prod(left.shape[:-2]), *left.shape[-2:], right.shape[-1])
        elif name in LINEAR:
            self.add(1, math.prod(args[0].shape[:-1]), args[0].shape[-1], out.shape[-1])
        elif name in ATTENTION:
            *several, queries, width = args[0].shape
            keys = args[1].shape[-2]
            self.add(math.prod(several), queries, width, keys)
            self.add(math.prod(several), queries, keys, width)
        elif name in COPIES or name in ZEROS:
            self.numbers["copied" if name in COPIES else "zeros"] += out.numel()
        elif name in WAITS:
            self.numbers["waits"] += 1
        return out

    def add(self, several: int, rows: int, inner: int, columns: int) -> None:
        """Add products of (rows, inner) and (inner, columns)."""
        shape = "batches of matrices" if several > 1 else f"{inner} x {columns}"
        self.products[shape] += several * rows * inner * columns

    def to_json(self) -> dict[str, dict[str, int]]:
        """Return multiplications by shape of the right matrix, numbers copied or set to zero, and waits."""
        return {"multiplications": dict(sorted(self.products.items())), "numbers": dict(sorted(self.numbers.items()))}


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute everything in this thread, which is the one that is counted."""
    for module in (streaming, exact):
        monkeypatch.setattr(module, "map_threads", lambda work, pieces: [work(piece) for piece in pieces])
    torch.set_num_threads(1)


def encode(tiny_model: Path) -> OperationCounter:
    """Count the encoding of texts of several lengths, in several batches, by an encoder whose weights are packed."""
    encoder, counter = Encoder.load(tiny_model, pooling="mean", device="cpu"), OperationCounter()
    encoder.encode(TEXTS)
    with counter:
        encoder.encode(TEXTS)
    return counter


def find_nearest(tiny_model: Path) -> OperationCounter:
    """Count an exact search of 5,000 vectors for 3 queries."""
    numbers, counter = np.random.default_rng(0), OperationCounter()
    vectors, queries = (numbers.standard_normal((rows, 32), dtype=np.float32) for rows in (5_000, 3))
    topk(queries, [Matrix(vectors)], 10)  # the first tries which product works
    with counter:
        topk(queries, [Matrix(vectors)], 10)
    return counter


def train(tiny_model: Path) -> OperationCounter:
    """Count the passes of a training step, with dropout, in several chunks."""
    encoder, counter = Encoder.start(tiny_model, pooling="mean", device="cpu"), OperationCounter()
    encoder.model.train()
    ids, settings = encoder.tokenize(TEXTS[:14]), PassSettings(chunk_tokens=300)
    with counter:
        there = EncoderPass(encoder, ids, ["all"] * len(ids), settings=settings, seed=0)
        in_batch_contrastive(there.vectors[:7], there.vectors[7:], temperature=10.0).backward()
        there.backward()
    return counter


WORK = {"encode": encode, "search": find_nearest, "train": train}


@pytest.mark.parametrize("work", WORK)
def test_work_takes_the_operations_of_the_baseline(work: str, tiny_model: Path) -> None:
    found, baseline = WORK[work](tiny_model).to_json(), json.loads(BASELINE.read_text(encoding="utf-8"))
    message = f"operations.json has other numbers for {work!r}; now: {json.dumps(found)}"
    assert found["multiplications"] == baseline[work]["multiplications"], message
    assert all(count <= baseline[work]["numbers"].get(name, 0) for name, count in found["numbers"].items()), message
