"""Training objectives: the texts of a source's examples that are encoded, and the loss."""

# ruff: noqa: F401 (importing a module registers its objectives)
from sciprism.training.learners import distillation, heads, masked_lm, pairs
from sciprism.training.learners.learner import learners

__all__ = ["learners"]
