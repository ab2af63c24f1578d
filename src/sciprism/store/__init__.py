"""Papers and their vectors on disk: shards under one manifest, written so that no stop can harm them."""

from sciprism.store.collection import Collection, Filter
from sciprism.store.embed import EmbedReport, embed
from sciprism.store.layout import Layout
from sciprism.store.matrix import Matrix

__all__ = ["Collection", "EmbedReport", "Filter", "Layout", "Matrix", "embed"]
