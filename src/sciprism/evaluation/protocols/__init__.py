"""How a kind of task is scored, one module each; a task of a known kind is a declaration without code."""

from sciprism.evaluation.protocols import (
    cluster,
    cluster_sources,
    label,
    match,
    nearest_label,
    pair,
    probe,
    recommend,
    rerank,
    retrieve,
    span,
    tag,
)
from sciprism.evaluation.protocols.registry import protocols

__all__ = [
    "cluster",
    "cluster_sources",
    "label",
    "match",
    "nearest_label",
    "pair",
    "probe",
    "protocols",
    "recommend",
    "rerank",
    "retrieve",
    "span",
    "tag",
]
