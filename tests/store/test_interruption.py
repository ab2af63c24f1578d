"""Kill the embedding process at any moment: what is left is whole, and the end is the same to the byte."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fake_encoder import FakeEncoder, some_papers
from folders import snapshot
from kill_switch import killed_after
from sciprism.store import CollectionLayout, embed

BUILDERS = Path(__file__).parents[1] / "builders"
WRITER = """
import sys
from sciprism.store import CollectionLayout, embed
from fake_encoder import FakeEncoder, some_papers
layout = CollectionLayout(formats=("proximity", "classification"), dtype="int8", shard_size=20)
papers = some_papers(4000)
embed([*papers, papers[1]], FakeEncoder(delay=0.002), sys.argv[1], layout=layout)
"""


def test_a_kill_at_any_change_of_the_disk_is_continued(tmp_path: Path) -> None:
    """Three shards make 14 files."""
    layout, papers = CollectionLayout(dtype="int8", shard_size=20), some_papers(45)
    embed(papers, FakeEncoder(), tmp_path / "whole", layout=layout)
    for changes in range(0, 200, 3):
        folder = tmp_path / f"killed-{changes}"
        with killed_after(changes, folder) as done:
            embed(papers, FakeEncoder(), folder, layout=layout)
        embed(papers, FakeEncoder(), folder, layout=layout)
        assert snapshot(folder) == snapshot(tmp_path / "whole"), f"killed after {changes} changes"
        if len(done) < changes:
            break
    assert changes > 28


def test_the_lock_of_a_dead_process_does_not_hold(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, tmp_path / "c"]
    with subprocess.Popen(command, cwd=BUILDERS) as writer:
        while not (tmp_path / "c" / "manifest.json").exists():
            time.sleep(0.01)
        with pytest.raises(ValueError, match="being written by another"):
            embed(some_papers(4), FakeEncoder(), tmp_path / "c")
        writer.send_signal(signal.SIGKILL)
    assert (tmp_path / "c" / ".lock").exists()
    assert embed(some_papers(4), FakeEncoder(), tmp_path / "c").papers >= 4
