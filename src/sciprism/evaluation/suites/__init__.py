"""The suites of tasks: those of the papers' tables and the open ones, each a TOML file next to this module."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path

from sciprism.errors import InputError
from sciprism.evaluation.task import Suite
from sciprism.evaluation.task_files import read_suite

FOLDER = Path(__file__).parent


class SuiteRegistry(MutableMapping[str, Suite]):
    """Suites by name. A suite with a file is read when it is first asked for, so listing names is cheap."""

    def __init__(self, folder: Path) -> None:
        self._suites: dict[str, Suite | Path] = {
            path.stem: path for path in sorted(folder.glob("*.toml"), key=lambda path: path.stem)
        }

    def __getitem__(self, name: str) -> Suite:
        if name not in self._suites:
            raise InputError(f"unknown suite {name!r}; known: {', '.join(sorted(self._suites))}")
        suite = self._suites[name]
        if isinstance(suite, Path):
            suite = self._suites[name] = read_suite(suite)
        return suite

    def __setitem__(self, name: str, suite: Suite) -> None:
        if name in self._suites:
            raise ValueError(f"suite {name!r} is registered twice")
        self._suites[name] = suite

    def __delitem__(self, name: str) -> None:
        del self._suites[name]

    def __contains__(self, name: object) -> bool:
        return name in self._suites

    def __iter__(self) -> Iterator[str]:
        return iter(self._suites)

    def __len__(self) -> int:
        return len(self._suites)


suites = SuiteRegistry(FOLDER)


def register_suite(suite: Suite) -> None:
    """Add a suite to those that commands know by name: declared in code, or read from a file by `read_suite`."""
    suites[suite.name] = suite
