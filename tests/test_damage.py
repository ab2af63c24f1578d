"""Random damage of every kind of file: it is refused with a message, or the result is that of whole files."""

from __future__ import annotations

from pathlib import Path

import pytest

from damage_trials import KINDS, run_trials

TRIALS = 25
"""Trials of each kind; `benchmarks/reliability.py` makes thousands."""


@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_is_silent(tmp_path: Path, kind: str) -> None:
    outcome = run_trials(kind, TRIALS, 1, tmp_path)
    assert not outcome.silent
    assert outcome.counts.total() == TRIALS and outcome.counts["harmless"] < TRIALS


def test_enough_is_damaged() -> None:
    assert TRIALS * len(KINDS) >= 300
