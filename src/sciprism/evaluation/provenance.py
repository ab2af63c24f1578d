"""The versions and data of a result, and whether a stored one still holds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sciprism.evaluation.results import TaskResult
from sciprism.evaluation.systems import resolve_distance
from sciprism.evaluation.task import Task
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


def explain_other_scoring(result: TaskResult, task: Task, system: Mapping[str, Any] | None = None) -> str:
    """Return how a result of this task was scored otherwise than the task states, "" if it was not.

    Its key does not tell: a task may state distance and format where the paper does after results were made, and
    those of encoders that it does not concern still hold. system: its description now, by default the result's.
    """
    own = str((system or result.system).get("distance", ""))
    stated = getattr(task.scored_protocol(), "distance", None)
    if own and stated and "distance" in result.details:
        used = resolve_distance(result.details["distance"], str(result.system.get("distance", own)))
        if used != (wanted := resolve_distance(stated, own)):
            return f"compared by {used} distance; the task states {wanted}"
    used = result.details.get("format", task.format)
    if result.status == "done" and not result.encoded_format and used != (wanted := task.vector_format(result.system)):
        return f"scored with vectors of the format {used}; the task states {wanted}"
    return ""


def is_current(result: TaskResult, task: Task, data: Path | None, system: Mapping[str, Any]) -> bool:
    """Return whether a result still holds; a failed one does not.

    Its declaration, distance, format, library versions and data files must be those of now. system: its
    description now.
    """
    recorded = result.provenance
    if result.status == "failed" or result.key != task.key or recorded.get("versions") != library_versions():
        return False
    if explain_other_scoring(result, task, system):
        return False
    files = [((data or Path()) / name, digest) for name, digest in recorded.get("data", {}).items()]
    return all(not path.is_file() or _digest(path, path.stat().st_mtime_ns) == digest for path, digest in files)


@lru_cache(maxsize=256)
def _digest(path: Path, changed: int) -> str:  # noqa: ARG001 (a file that changed is another)
    return sha256(path)
