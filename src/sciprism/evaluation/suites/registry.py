"""The registry of suites."""

from __future__ import annotations

from sciprism.evaluation.task import Suite
from sciprism.registry import Registry

suites: Registry[Suite] = Registry("suite")
