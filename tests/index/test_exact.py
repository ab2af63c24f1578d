"""Exact search against a plain numpy ranking of all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sciprism import arrays
from sciprism.index import exact, int8_copy, topk
from sciprism.index.int8_copy import Int8Copy, find_int8_product
from sciprism.store import shard_files
from sciprism.store.shard_files import Matrix, quantize

DISTANCES: tuple[exact.Distance, ...] = ("cosine", "dot", "euclidean")


def cut(vectors: NDArray[np.float32], bounds: Sequence[int], dtype: str = "float32") -> list[Matrix]:
    return [quantize(part, dtype) for part in np.split(vectors, sorted(bounds))]


def oracle(queries, vectors, k, mask, distance):
    """Rank every row by its score in double precision, rounded to single; ties to the lower row."""
    q, x = queries.astype(np.float64)[:, None], vectors.astype(np.float64)[None]
    scores = -np.sqrt(((q - x) ** 2).sum(-1)) if distance == "euclidean" else (q * x).sum(-1)
    if distance == "cosine":
        lengths = np.sqrt((x**2).sum(-1) * (q**2).sum(-1))
        scores = np.divide(scores, lengths, out=np.zeros_like(scores), where=lengths > 0)
    scores = scores.astype(np.float32)
    best = np.full((len(queries), k), -np.inf, np.float32)
    rows = np.full((len(queries), k), -1)
    allowed = np.flatnonzero(mask) if mask is not None else np.arange(len(vectors))
    for i, line in enumerate(scores):
        order = allowed[np.lexsort((allowed, -line[allowed]))][:k]
        best[i, : len(order)], rows[i, : len(order)] = line[order], order
    return best, rows


@st.composite
def problems(draw):
    """Few distinct small whole numbers: products are exact and ties are everywhere."""
    rows, queries = draw(st.integers(0, 70)), draw(st.integers(1, 5))
    numbers = np.random.default_rng(draw(st.integers(0, 2**32)))
    width = draw(st.sampled_from([1, 3, 17]))
    vectors = numbers.integers(-2, 3, (rows, width)).astype(np.float32)
    bounds = draw(st.lists(st.integers(0, rows), max_size=4))
    mask = draw(st.none() | st.just(numbers.random(rows) < 0.5))
    asked = numbers.integers(-2, 3, (queries, width)).astype(np.float32)
    return asked, vectors, bounds, draw(st.integers(1, 90)), mask


@pytest.mark.parametrize("distance", DISTANCES)
@given(problem=problems())
@settings(max_examples=80, deadline=None)
def test_ranks_as_the_oracle_does_with_ties_masks_and_any_shards(distance, problem) -> None:
    queries, vectors, bounds, k, mask = problem
    best, expected = oracle(queries, vectors, k, mask, distance)
    for block, threads in ((4, 1), (4, 3), (2048, 2)):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(exact, "BLOCK", block)
            patched.setattr(torch, "get_num_threads", lambda threads=threads: threads)
            patched.setattr(torch, "set_num_threads", lambda threads: None)
            scores, rows = topk(queries, cut(vectors, bounds), k, mask=mask, distance=distance)
        if distance == "cosine":  # whose ties rounding may order
            np.testing.assert_allclose(scores, best, atol=1e-6)
            assert all(len(set(line[line >= 0])) == (line >= 0).sum() for line in rows)
        else:
            np.testing.assert_array_equal(rows, expected)
            np.testing.assert_array_equal(scores, best)


@pytest.mark.parametrize("distance", DISTANCES)
@given(problem=problems(), dtype=st.sampled_from(["float32", "float16", "int8"]))
@settings(max_examples=60, deadline=None)
def test_a_process_without_torch_ranks_alike(distance, problem, dtype) -> None:
    """By numpy, in one run of blocks; from too many shards, or scores, as with torch."""
    queries, vectors, bounds, k, mask = problem
    shards = cut(vectors, bounds, dtype)
    expected = topk(queries, shards, k, mask=mask, distance=distance)
    for shards_at_most, scores_at_most in ((64, 1 << 22), (0, 1 << 22), (64, 0)):
        with pytest.MonkeyPatch.context() as patched:
            for module in (exact, arrays, shard_files):
                patched.setattr(module, "torch_is_loaded", lambda: False)
            patched.setattr(exact, "QUICK_SHARDS", shards_at_most)
            patched.setattr(exact, "QUICK_SCORES", scores_at_most)
            if shards_at_most and scores_at_most:
                patched.setattr(exact, "map_threads", None)
                patched.setattr(exact, "inner_products", None)
            patched.setattr(exact, "BLOCK", 16)
            scores, rows = topk(queries, shards, k, mask=mask, distance=distance)
        np.testing.assert_array_equal(scores, expected[0])
        if distance != "cosine":
            np.testing.assert_array_equal(rows, expected[1])


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_reduced_precision_ranks_what_is_stored(distance: exact.Distance, dtype: str) -> None:
    numbers = np.random.default_rng(1)
    vectors, queries = numbers.normal(size=(3000, 24)).astype(np.float32), numbers.normal(size=(7, 24))
    shards = cut(vectors, [1000, 1000, 1700], dtype)
    stored = np.concatenate([shard.block(0, len(shard)) for shard in shards])
    queries = queries.astype(np.float32)
    scores, rows = topk(queries, shards, 20, distance=distance)
    best, expected = oracle(queries, stored, 20, None, distance)
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(scores, best)


def test_near_duplicates_are_told_apart_by_distance() -> None:
    """The product form of the distance cancels at 1e-3 here; the second computation does not."""
    base = np.random.default_rng(0).normal(size=64).astype(np.float32) * 30
    vectors = np.stack([base + np.float32(step) * 1e-3 for step in (3, 1, 2, 0, 4)])
    scores, rows = topk(base[None], [Matrix(vectors)], 5, distance="euclidean")
    assert rows.tolist() == [[3, 1, 2, 0, 4]]
    assert scores[0, 0] == 0 and scores[0, 1] == pytest.approx(-8e-3, rel=1e-2)


def test_many_queries_give_what_one_gives() -> None:
    numbers = np.random.default_rng(5)
    vectors, queries = numbers.normal(size=(500, 8)).astype(np.float32), numbers.normal(size=(1100, 8))
    queries = queries.astype(np.float32)
    scores, rows = topk(queries, [Matrix(vectors)], 3, distance="dot")
    for i in (0, 511, 512, 1099):
        one_scores, one_rows = topk(queries[i : i + 1], [Matrix(vectors)], 3, distance="dot")
        assert (one_rows[0] == rows[i]).all() and (one_scores[0] == scores[i]).all()


def test_nothing_to_search_and_nothing_asked() -> None:
    scores, rows = topk(np.ones((2, 4), np.float32), [], 3)
    assert rows.tolist() == [[-1] * 3] * 2 and np.isneginf(scores).all()
    scores, rows = topk(np.ones((0, 4), np.float32), [Matrix(np.ones((5, 4), np.float32))], 3)
    assert scores.shape == rows.shape == (0, 3)
    with pytest.raises(ValueError, match="k is 0"):
        topk(np.ones((1, 4), np.float32), [], 0)


@pytest.fixture(params=int8_copy.PRODUCTS, ids=["onednn", "fbgemm"])
def product(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One way to multiply int8 numbers, where it loses nothing."""
    monkeypatch.setattr(int8_copy, "PRODUCTS", (request.param,))
    find_int8_product.cache_clear()
    if find_int8_product() is None:
        pytest.skip("this product of int8 numbers is not without loss on this processor")
    yield
    find_int8_product.cache_clear()


@pytest.mark.usefixtures("product")
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("outliers", [False, True])
def test_an_int8_copy_changes_no_result(distance: exact.Distance, dtype: str, outliers: bool) -> None:
    """Near and equal rows, rows and dimensions of other sizes, zeros; odd numbers of rows, queries and dimensions."""
    numbers = np.random.default_rng(3)
    vectors = numbers.normal(size=(5003, 37)).astype(np.float32)
    vectors[100:112] = vectors[4000] + 1e-5 * numbers.normal(size=(12, 37))
    vectors[200:240], vectors[250] = vectors[4001], 0
    if outliers:
        vectors[:, 5] *= 40
        vectors[::50] *= 1000
    queries = np.concatenate([vectors[[4000, 4001]], numbers.normal(size=(17, 37)).astype(np.float32)])
    shards = cut(vectors, [1000, 1000, 1700], dtype)
    copy = Int8Copy(shards, distance)
    mask = numbers.random(5003) < 0.7
    for k, allowed in ((1, None), (30, None), (30, mask), (300, None), (5003, mask)):
        expected = topk(queries, shards, k, mask=allowed, distance=distance)
        got = topk(queries, shards, k, mask=allowed, distance=distance, copy=copy)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.usefixtures("product")
def test_an_int8_copy_adds_the_largest_numbers_without_loss() -> None:
    """Rows and queries of 1 and -1 have no residuals: the bounds are as narrow as rounding."""
    numbers = np.random.default_rng(7)
    vectors, queries = (np.sign(numbers.normal(size=(n, 510))).astype(np.float32) for n in (5000, 17))
    vectors[3000:3005], vectors[4000] = queries[:5], -queries[0]
    expected = topk(queries, [Matrix(vectors)], 10, distance="dot")
    got = topk(queries, [Matrix(vectors)], 10, distance="dot", copy=Int8Copy([Matrix(vectors)], "dot"))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.usefixtures("product")
@pytest.mark.filterwarnings("ignore:invalid value")
def test_an_int8_copy_leaves_few_candidates_or_none_where_rows_are_too_alike() -> None:
    vectors = np.random.default_rng(4).normal(size=(30_000, 64)).astype(np.float32)

    def candidates(rows: NDArray[np.float32], queries: NDArray[np.float32]) -> NDArray[np.int64] | None:
        rescore = partial(exact.rescore, queries, [Matrix(rows)], k=10, distance="dot")
        return Int8Copy([Matrix(rows)], "dot").candidates(queries, 10, None, rescore)

    rows = candidates(vectors, vectors[:3])
    assert rows is not None and rows.shape[1] < 60 and (rows[:, :1] >= -1).all()
    for query in (0, 1e-36, 1e36, np.inf, np.nan):
        assert candidates(vectors, np.full((1, 64), query, np.float32)) is None
    assert candidates(vectors * np.float32(1e30), vectors[:1]) is None
