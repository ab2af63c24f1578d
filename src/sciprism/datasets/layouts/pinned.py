"""Data whose files are part of a task's declaration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sciprism.datasets.data_root import DataRoot


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedData:
    """Data with the SHA-256 of each of their files: results hold for these contents and no others.

    data: their layout. settings: the layout's settings as in the TOML file, as JSON. The location of
    the files on a machine is not part of the declaration.
    """

    data: Any = field(compare=False)
    settings: str
    files: tuple[tuple[str, str], ...]

    def read(self, data_root: DataRoot) -> Any:
        """Return what the layout reads."""
        return self.data.read(data_root)
