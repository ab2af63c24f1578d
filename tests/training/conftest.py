"""Runs here plot no curves: those of `sciprism train` do."""

import pytest


@pytest.fixture(autouse=True)
def without_plots(monkeypatch):
    monkeypatch.setattr("sciprism.training.run.plot_curves", lambda *_: None)
