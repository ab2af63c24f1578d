"""How a kind of task is scored, one file each; a task of a known kind is a declaration and no code."""

from __future__ import annotations

from sciprism.registry import Registry
from sciprism.tasks.task import TaskProtocol

protocols: Registry[type[TaskProtocol]] = Registry("protocol")

from sciprism.tasks.protocols import (  # noqa: E402, F401
    cluster,
    label,
    match,
    nearest_label,
    pair,
    probe,
    rerank,
    retrieve,
    span,
    tag,
)
