"""The registry of training objectives, and the check of an objective's table in a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sciprism.registry import Registry
from sciprism.training.learners.learner import Learner
from sciprism.training.tables import Table, checked

learners: Registry[type[Learner]] = Registry("objective")


def settings_of(objective: Mapping[str, Any]) -> Table:
    """Check an objective's table against its kind; InputError names what is wrong and the known keys."""
    return checked(learners[str(objective.get("name"))].settings, objective, "objective")
