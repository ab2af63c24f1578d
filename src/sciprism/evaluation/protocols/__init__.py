"""How a kind of task is scored; each module registers its kinds, and a task of one is a declaration without code."""

from sciprism.evaluation.protocols import cluster, fine_tuning, label, match, probe, rank, recommend  # noqa: F401
from sciprism.evaluation.task import protocols

__all__ = ["protocols"]
