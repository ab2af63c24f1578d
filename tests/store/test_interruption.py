"""Kill the embedding process at any moment: what is left is whole, and the end is the same to the byte."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fake_encoder import FakeEncoder, some_papers
from folders import snapshot
from sciprism.store import CollectionLayout, embed

BUILDERS = Path(__file__).parents[1] / "builders"
WRITER = """
import sys
from sciprism.store import CollectionLayout, embed
from fake_encoder import FakeEncoder, some_papers
layout = CollectionLayout(formats=("proximity", "classification"), dtype="int8", shard_size=20)
papers = some_papers(int(sys.argv[2]))
print("begin", flush=True)
embed([*papers, papers[1]], FakeEncoder(delay=0.002, limit=float(sys.argv[3])), sys.argv[1], layout=layout)
"""


def start(folder: Path, count: int, limit: float = math.inf) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), str(count), str(limit)]
    return subprocess.Popen(command, cwd=BUILDERS, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(1, 15))
def test_a_stop_at_any_step_on_disk_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, after: bool
) -> None:
    """Three shards make 14 files, each put in its place in one step; stop just before or just after each."""
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    layout = CollectionLayout(dtype="int8", shard_size=20)
    embed(some_papers(45), FakeEncoder(), whole, layout=layout)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        _stop_at(patched, step, after)
        embed(some_papers(45), FakeEncoder(), stopped, layout=layout)
    embed(some_papers(45), FakeEncoder(), stopped, layout=layout)
    assert snapshot(stopped) == snapshot(whole)


def _stop_at(patched: pytest.MonkeyPatch, step: int, after: bool) -> None:
    real, done = Path.replace, [0]

    def replace(self: Path, target: Path) -> Path:
        done[0] += 1
        if done[0] == step and not after:
            raise KeyboardInterrupt
        moved = real(self, target)
        if done[0] == step:
            raise KeyboardInterrupt
        return moved

    patched.setattr(Path, "replace", replace)


def test_the_lock_of_a_dead_process_does_not_hold(tmp_path: Path) -> None:
    with start(tmp_path / "c", 4000) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == "begin\n"
        while not (tmp_path / "c" / "manifest.json").exists():
            time.sleep(0.01)
        with pytest.raises(ValueError, match="being written by another"):
            embed(some_papers(4), FakeEncoder(), tmp_path / "c")
        writer.send_signal(signal.SIGKILL)
    assert (tmp_path / "c" / ".lock").exists()
    assert embed(some_papers(4), FakeEncoder(), tmp_path / "c").papers >= 4
