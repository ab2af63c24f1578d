"""The registry of protocols."""

from __future__ import annotations

from sciprism.evaluation.task import TaskProtocol
from sciprism.registry import Registry

protocols: Registry[type[TaskProtocol]] = Registry("protocol")
