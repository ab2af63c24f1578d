"""Texts of many requests in shared batches: every request gets what it gets alone, in order, and waits its turn."""

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi")

from conftest import WORDS

from sciprism.service import batching
from sciprism.service.batching import TokenBatcher
from sciprism.service.responses import Refusal

TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join)
ROLES = st.sampled_from(["paper", "query"])


def encode(batcher, texts, role="paper", **options):
    return batcher.encode(texts, format="proximity", role=role, **options)


@settings(max_examples=10)
@given(
    requests=st.lists(
        st.tuples(st.lists(TEXTS, min_size=1, max_size=8), ROLES, st.integers(0, 3), st.booleans()), max_size=8
    ),
    budget=st.sampled_from([1, 64, 300, 4096]),
)
def test_shared_batches_give_what_single_requests_give(tiny_encoder, requests, budget):
    """Each request has texts, a role, steps of the event loop before it arrives, and whether it is cancelled.

    A vector may differ in the last bits by what shares its batch: its products are sums over rows in other groups.
    """
    sizes = []

    async def send(batcher, texts, role, wait):
        for _ in range(wait):
            await asyncio.sleep(0)
        return await encode(batcher, texts, role)

    async def run():
        batcher = TokenBatcher(tiny_encoder, budget=budget, on_batch=lambda *batch: sizes.append(batch[1]))
        tasks = [asyncio.create_task(send(batcher, texts, role, wait)) for texts, role, wait, _ in requests]
        await asyncio.sleep(0)
        for task, (*_, cancelled) in zip(tasks, requests, strict=True):
            if cancelled:
                task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert batcher.waiting == 0
        return answers

    answers = asyncio.run(run())
    for (texts, role, _, cancelled), answer in zip(requests, answers, strict=True):
        assert cancelled == isinstance(answer, asyncio.CancelledError)
        if not cancelled:
            alone = tiny_encoder.encode(texts, role=role, batch_size=1)
            np.testing.assert_allclose(answer.vectors, alone, rtol=0, atol=2e-6)
    longest = max((tiny_encoder.max_seq_length, budget))
    assert all(size <= longest for size in sizes)


def test_a_long_request_delays_a_short_one_by_a_batch(tiny_encoder):
    batches = []

    async def run():
        batcher = TokenBatcher(tiny_encoder, budget=2_000, on_batch=lambda *batch: batches.append(batch))
        long = asyncio.create_task(encode(batcher, ["dark matter " * 40] * 1000))
        while not batches:
            await asyncio.sleep(0.001)
        start = len(batches)
        await encode(batcher, ["dna"])
        passed = len(batches) - start
        assert not long.done()
        long.cancel()
        return passed

    assert asyncio.run(run()) <= 3  # the one that was computed when it came, its own, and one that began since


def test_a_full_queue_and_long_texts_are_refused(tiny_encoder, monkeypatch):
    monkeypatch.setattr(batching, "POLL", 0.001)

    async def run():
        batcher = TokenBatcher(tiny_encoder, queue=3)
        first = asyncio.create_task(encode(batcher, ["dna"] * 3))
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="3 texts wait") as full:
            await encode(batcher, ["dna"])
        assert int(full.value.headers["retry-after"]) >= 1
        assert (await encode(batcher, ["dna"], patient=True)).tokens and first.done()
        long = ["gene " * 600, "gene"]
        assert (await encode(batcher, long)).truncated == 1
        with pytest.raises(Refusal, match="1 of the texts"):
            await encode(batcher, long, truncate=False)

    asyncio.run(run())


def test_a_failed_batch_fails_its_requests_alone(tiny_encoder, monkeypatch):
    async def run():
        batcher = TokenBatcher(tiny_encoder)
        monkeypatch.setattr(batcher, "_encode", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await encode(batcher, ["dna"])
        monkeypatch.undo()
        assert (await encode(batcher, ["dna"])).vectors.shape == (1, 32)

    asyncio.run(run())
