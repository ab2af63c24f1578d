"""Embed one input by many workers: each writes its part, and `merge` makes a collection of all."""

from sciprism.store.embed_files import PartInput
from sciprism.store.parts.merge import MergeReport, merge
from sciprism.store.parts.ray_cluster import RayCluster
from sciprism.store.parts.ray_run import RayReport, embed_with_ray
from sciprism.store.parts.state import PartsStatus, read_status
from sciprism.store.parts.worker import embed_part

__all__ = [
    "MergeReport",
    "PartInput",
    "PartsStatus",
    "RayCluster",
    "RayReport",
    "embed_part",
    "embed_with_ray",
    "merge",
    "read_status",
]
