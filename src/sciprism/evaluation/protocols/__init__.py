"""How a kind of task is scored, one module each; a task of a known kind is a declaration without code."""

from sciprism.evaluation.protocols import (  # noqa: F401 (each registers its protocols)
    cluster,
    label,
    match,
    pair,
    probe,
    rank,
    recommend,
    span,
    tag,
)
from sciprism.evaluation.task import protocols

__all__ = ["protocols"]
