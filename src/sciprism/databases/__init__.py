"""Vector databases: push a collection to one, and search it there."""

from sciprism.databases.remote import PushReport, RemoteCollection, push

__all__ = ["PushReport", "RemoteCollection", "push"]
