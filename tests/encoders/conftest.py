"""What tests of several layouts of models share."""

import pytest


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of converted models of its own for each test."""
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
