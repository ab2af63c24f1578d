from pathlib import Path

import pytest

from build_scimult import Raw
from sciprism.prepare.scimult.desk import Desk


@pytest.fixture
def raw(tmp_path: Path) -> Raw:
    """An empty folder for published files."""
    (tmp_path / "raw").mkdir()
    return Raw(tmp_path / "raw")


@pytest.fixture
def desk(raw: Raw, tmp_path: Path) -> Desk:
    return Desk(raw.folder, tmp_path / "out", 7)
