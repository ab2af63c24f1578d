"""Vector databases: push a collection to one, and search it there."""

from sciprism.databases import milvus, qdrant
from sciprism.databases.address import databases
from sciprism.databases.collection import RemoteCollection
from sciprism.databases.push import PushReport, push

__all__ = ["PushReport", "RemoteCollection", "databases", "milvus", "push", "qdrant"]
