"""The suites of tasks: those of the papers' tables and the open ones, each a TOML file next to this module."""

from sciprism.evaluation.task_files import suites

__all__ = ["suites"]
