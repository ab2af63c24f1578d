"""What a result records of how it was made, and whether a stored result still holds."""

from __future__ import annotations

import datetime
import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sciprism.evaluation.results import TaskResult
from sciprism.evaluation.task import Task, to_declaration
from sciprism.files import sha256

PACKAGES = ("sciprism", "torch", "numpy", "tokenizers", "scikit-learn", "scipy", "lightgbm", "bm25s")


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that scores depend on, of those installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def describe_run(task: Task, command: str) -> dict[str, Any]:
    """Return what a result of a task records: command, declaration, versions, machine, date."""
    return {
        "command": command,
        "declaration": to_declaration(task),
        "python": platform.python_version(),
        "versions": library_versions(),
        "machine": platform.machine(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def is_current(result: TaskResult, task: Task, data: Path | None) -> bool:
    """Return whether declaration, library versions and data files are those of the result; a failed one is not."""
    recorded = result.provenance
    if result.status == "failed" or result.key != task.key or recorded.get("versions") != library_versions():
        return False
    files = [((data or Path()) / name, digest) for name, digest in recorded.get("data", {}).items()]
    return all(not path.is_file() or _digest(path, path.stat().st_mtime_ns) == digest for path, digest in files)


@lru_cache(maxsize=256)
def _digest(path: Path, changed: int) -> str:  # noqa: ARG001 (a file that changed is another)
    return sha256(path)
