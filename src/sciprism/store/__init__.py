"""Papers and their vectors on disk: shards under one manifest; an interrupted run leaves them intact."""

from sciprism.store.collection import CollectionLayout, StoredCollection
from sciprism.store.embed import EmbedReport, embed
from sciprism.store.shard_files import Filter, Matrix
from sciprism.store.writing import DeleteReport, delete

__all__ = ["CollectionLayout", "DeleteReport", "EmbedReport", "Filter", "Matrix", "StoredCollection", "delete", "embed"]
