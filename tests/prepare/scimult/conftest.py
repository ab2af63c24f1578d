from pathlib import Path

import pytest

from build_scimult import Raw
from sciprism.prepare.scimult.context import SciMultPrepareContext


@pytest.fixture
def raw(tmp_path: Path) -> Raw:
    """An empty folder for published files."""
    (tmp_path / "raw").mkdir()
    return Raw(tmp_path / "raw")


@pytest.fixture
def context(raw: Raw, tmp_path: Path) -> SciMultPrepareContext:
    return SciMultPrepareContext(raw.folder, tmp_path / "out", 7)
