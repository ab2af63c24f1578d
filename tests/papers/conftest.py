"""Write bytes to a file and read them as a user would."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from format_samples import write_samples
from sciprism.papers import Paper, ReadReport, read_papers

Read = Callable[..., tuple[list[Paper], ReadReport]]


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Format -> a file of papers."""
    return write_samples(tmp_path_factory.mktemp("samples"))


@pytest.fixture(scope="session")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Session-wide, so that hypothesis may call it for every example."""
    folder = tmp_path_factory.mktemp("read")

    def read(name: str, data: str | bytes, **choices: Any) -> tuple[list[Paper], ReadReport]:
        path: Path = folder / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        report = ReadReport()
        return list(read_papers([path], report=report, **choices)), report

    return read
