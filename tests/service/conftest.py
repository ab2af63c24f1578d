"""What the tests of the service share."""

from __future__ import annotations

from pathlib import Path

import pytest

from five_papers import PAPERS
from sciprism.store import embed


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_encoder) -> Path:
    folder = tmp_path_factory.mktemp("served") / "five"
    embed(PAPERS, tiny_encoder, folder)
    return folder
