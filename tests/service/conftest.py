"""What the tests of the service share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from five_papers import PAPERS
from sciprism.store import embed

if TYPE_CHECKING:
    from starlette.testclient import TestClient


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_encoder) -> Path:
    folder = tmp_path_factory.mktemp("served") / "five"
    embed(PAPERS, tiny_encoder, folder)
    return folder


@pytest.fixture(scope="module")
def client(folder) -> Iterator[TestClient]:
    from build_service import start  # needs the extra of the service

    with start([folder]) as client:
        yield client
