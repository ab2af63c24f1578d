"""The registry of training objectives, and the check of an objective's table in a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sciprism.registry import Registry
from sciprism.training.learners.learner import Learner
from sciprism.training.recipe_tables import NamedTable

learners: Registry[type[Learner]] = Registry("objective")


def check_objective(objective: Mapping[str, Any], what: str = "objective") -> NamedTable:
    """Return the settings in an objective's table; InputError names what is wrong and the known keys."""
    return learners[str(objective.get("name"))].settings.from_table(objective, what)
