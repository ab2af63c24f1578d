"""Papers and labels: their records, readers of file formats, duplicates."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sciprism.papers.read import ReadReport, read_changes, read_labels, read_papers
    from sciprism.papers.records import Label, Paper

__all__ = ["Label", "Paper", "ReadReport", "read_changes", "read_labels", "read_papers"]


def __getattr__(name: str) -> Any:
    """Import the public names on first use: no parser is loaded before a file is read."""
    if name in __all__:
        module = "records" if name in ("Label", "Paper") else "read"
        return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
