"""The suites of tasks: those of the papers' tables and the open ones, each a TOML file next to this module."""

from __future__ import annotations

from collections import UserDict
from pathlib import Path

from sciprism.errors import InputError
from sciprism.evaluation.task import Suite
from sciprism.evaluation.task_files import read_suite


class SuiteRegistry(UserDict[str, Suite]):
    """Suites by name. A suite with a file is read when it is first asked for, so listing names is cheap."""

    def __getitem__(self, name: str) -> Suite:
        suite: Suite | Path | None = self.data.get(name)
        if suite is None:
            raise InputError(f"unknown suite {name!r}; known: {', '.join(sorted(self.data))}")
        if isinstance(suite, Path):
            suite = self.data[name] = read_suite(suite)
        return suite

    def __setitem__(self, name: str, suite: Suite | Path) -> None:
        if name in self.data:
            raise ValueError(f"suite {name!r} is registered twice")
        self.data[name] = suite  # type: ignore[assignment]  # a path until it is read


suites = SuiteRegistry()
for path in sorted(Path(__file__).parent.glob("*.toml"), key=lambda path: path.stem):
    suites[path.stem] = path


def register_suite(suite: Suite) -> None:
    """Add a suite to those that commands know by name: declared in code, or read from a file by `read_suite`."""
    suites[suite.name] = suite
