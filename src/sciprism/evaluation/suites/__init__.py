"""The suites of tasks: those of the papers' tables and the open ones, each a TOML file next to this module."""

from sciprism.evaluation.task_files import register_suite, suites

__all__ = ["register_suite", "suites"]
