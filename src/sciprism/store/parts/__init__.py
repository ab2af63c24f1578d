"""Embed one input by many workers: each writes its part, and `merge` makes a collection of all."""

from sciprism.store.parts.merge import MergeReport, merge
from sciprism.store.parts.plan import PartInput
from sciprism.store.parts.status import PartsStatus, read_status
from sciprism.store.parts.worker import embed_part

__all__ = ["MergeReport", "PartInput", "PartsStatus", "embed_part", "merge", "read_status"]
