"""Vectors of a citation graph: communities found, the same bytes again, tiny graphs, papers alone."""

import hashlib

import numpy as np
import pytest
import torch

from sciprism.prepare.samplers import triplets as embedding
from sciprism.prepare.samplers.triplets import embed_graph
from sciprism.prepare.sources.citation_corpus import CitationGraph


def communities(groups, members, cited, seed=0):
    """Papers that cite random papers of their own group, one of another group each."""
    random = np.random.default_rng(seed)
    size = groups * members
    citing = np.repeat(np.arange(size), cited)
    own = citing // members * members + random.integers(0, members, len(citing))
    away = random.integers(0, size, len(citing))
    found = np.where(np.arange(len(citing)) % cited == 0, away, own)
    kept = found != citing
    return CitationGraph(size, citing[kept].astype(np.int32), found[kept].astype(np.int32))


def test_papers_of_a_community_lie_together():
    vectors = embed_graph(communities(20, 50, 8), dim=32)
    scores = vectors @ vectors.T
    np.fill_diagonal(scores, -1)
    nearest = np.argsort(-scores, axis=1)[:, :10]
    same = nearest // 50 == np.arange(1000)[:, None] // 50
    assert same.mean() > 0.9


def test_vectors_are_of_unit_length_and_papers_alone_have_none():
    graph = CitationGraph(5, np.array([0, 1], np.int32), np.array([1, 3], np.int32))
    vectors = embed_graph(graph, dim=3)
    assert vectors.shape == (5, 3) and vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 0, 1, 0], abs=1e-6)


def digest(threads, seed=0):
    torch.set_num_threads(threads)
    return hashlib.sha256(embed_graph(communities(20, 50, 8), dim=24, seed=seed).tobytes()).hexdigest()


def test_the_seed_decides_the_bytes_whatever_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(embedding, "BLOCK", 128)
    assert digest(1) == digest(1) == digest(2) == digest(3) != digest(1, seed=1)
