"""Random damage of every kind of file: it is refused with a message, or the result is that of whole files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from damage_trials import KINDS, run_trials

TRIALS = 25
"""Trials of each kind."""


@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_is_silent(tmp_path: Path, kind: str) -> None:
    outcome = run_trials(kind, TRIALS, 1, tmp_path)
    assert not outcome.silent
    assert outcome.counts.total() == TRIALS and outcome.counts["harmless"] < TRIALS


def test_enough_is_damaged() -> None:
    assert TRIALS * len(KINDS) >= 300


@pytest.mark.slow
def test_a_small_torture_finds_no_fault(tmp_path: Path) -> None:
    """Kills; full disks too where a file system may be mounted."""
    counts = {"kills": 16, "disks": 6}
    script = Path(__file__).parents[1] / "benchmarks" / "torture.py"
    options = [word for name, count in counts.items() for word in (f"--{name}", str(count))]
    command = [sys.executable, "-W", "ignore", script, "--seed", "1", *options, "-o", tmp_path / "outcome.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "outcome.json").read_text())
    assert [found[part]["faults"] for part in counts] == [[]] * len(counts)
    assert found["kills"]["all"]["counts"]["killed"]
