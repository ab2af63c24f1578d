"""How a kind of task is scored, one module each; a task of a known kind is a declaration without code."""

from sciprism.evaluation.protocols import (  # noqa: F401 (each registers its protocols)
    cluster,
    fine_tuning,
    label,
    match,
    probe,
    rank,
    recommend,
)
from sciprism.evaluation.task import protocols

__all__ = ["protocols"]
