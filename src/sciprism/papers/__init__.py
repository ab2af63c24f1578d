"""Papers and labels: their records, the formats they come in, duplicates among them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sciprism.papers.reading import ReadReport, read_labels, read_papers
    from sciprism.papers.records import Label, Paper

__all__ = ["Label", "Paper", "ReadReport", "read_labels", "read_papers"]

_HOMES = {"Label": "records", "Paper": "records"}


def __getattr__(name: str) -> Any:
    """Import the public names on first use: no parser is loaded before a file is read."""
    if name in __all__:
        return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'reading')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
