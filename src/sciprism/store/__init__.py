"""Papers and their vectors on disk: shards under one manifest; an interrupted run leaves them intact."""

from sciprism.store.collection import StoredCollection
from sciprism.store.deletion import DeleteReport, delete
from sciprism.store.embed import EmbedReport, embed
from sciprism.store.layout import CollectionLayout
from sciprism.store.matrix import Matrix
from sciprism.store.paper_filter import Filter

__all__ = ["CollectionLayout", "DeleteReport", "EmbedReport", "Filter", "Matrix", "StoredCollection", "delete", "embed"]
