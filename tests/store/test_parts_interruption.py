"""Kill workers and the merge at any moment: the same commands continue, and the end is that of one process."""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from build_parts import LAYOUT, describe, embed_parts, write_input
from fake_encoder import FakeEncoder
from kill_switch import killed_after
from sciprism.errors import InputError
from sciprism.papers import read_papers
from sciprism.papers.division import PartNumber
from sciprism.store import StoredCollection, embed
from sciprism.store.parts import PartInput, embed_part, merge, read_status
from sciprism.store.parts.state import part_folder

BUILDERS = Path(__file__).parents[1] / "builders"
WORKER = """
import sys
from pathlib import Path
from build_parts import LAYOUT
from fake_encoder import FakeEncoder
from sciprism.papers.division import PartNumber
from sciprism.store.parts import PartInput, embed_part
files, encoder = sorted(Path(sys.argv[1]).iterdir()), FakeEncoder(delay=0.05, limit=float(sys.argv[4]))
print("begin", flush=True)
embed_part(PartInput(paths=files), encoder, sys.argv[2], PartNumber.parse(sys.argv[3]), layout=LAYOUT)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    files = write_input(tmp_path_factory.mktemp("input"), 800)
    return sorted(files)


@pytest.fixture(scope="module")
def whole(files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("whole") / "c"
    embed(read_papers(files), FakeEncoder(), folder, layout=LAYOUT)
    return describe(folder)


@pytest.fixture(scope="module")
def unmerged(files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "c"
    embed_parts(files, folder, 2)
    return folder


def start(files: list[Path], folder: Path, part: str, limit: float = math.inf) -> subprocess.Popen[str]:
    """Start a worker that encodes at most `limit` items, then waits to be killed."""
    command = [sys.executable, "-c", WORKER, str(files[0].parent), str(folder), part, str(limit)]
    worker = subprocess.Popen(command, cwd=BUILDERS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert worker.stdout is not None and worker.stdout.readline() == "begin\n"
    return worker


@pytest.mark.slow
def test_workers_that_run_together_and_are_killed_end_as_one_process(
    files: list[Path], whole: dict[str, Any], tmp_path: Path
) -> None:
    """Three workers at once, each killed several times; a part that is killed is stopped, its shards are whole."""
    folder, chance = tmp_path / "c", random.Random(3)
    for limit in (100, 300, 200):  # a part has about 280 papers in two formats: none is finished
        workers = [start(files, folder, f"{part}/3", limit) for part in (1, 2, 3)]
        time.sleep(chance.uniform(0.1, 0.6))
        for worker in workers:
            worker.send_signal(signal.SIGKILL)
            worker.communicate()
            assert worker.returncode == -signal.SIGKILL
        for part in (1, 2, 3):
            stored = part_folder(folder, PartNumber(part, 3))
            if (stored / "manifest.json").exists():
                StoredCollection.open(stored).verify()
        if (folder / "parts.json").exists():
            assert not set(read_status(folder).count()) & {"reading", "embedding"}
        with pytest.raises(InputError, match=r"cannot be merged yet|holds no parts"):
            merge(folder)
    workers = [start(files, folder, f"{part}/3") for part in (1, 2, 3)]
    assert [worker.communicate()[1] for worker in workers] == ["", "", ""]
    merge(folder)
    assert describe(folder) == whole


@pytest.mark.parametrize("changes", [5, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 1, 2, 13, 34))])
def test_a_worker_killed_at_a_change_of_the_disk(
    files: list[Path], whole: dict[str, Any], tmp_path: Path, changes: int
) -> None:
    source, folder = PartInput(paths=files), tmp_path / "c"
    with killed_after(changes, folder):
        embed_part(source, FakeEncoder(), folder, PartNumber(1, 2), layout=LAYOUT)
    embed_parts(files, folder, 2)
    merge(folder)
    assert describe(folder) == whole


def count_changes(folder: Path) -> int:
    with killed_after(10_000, folder) as made:
        merge(folder)
    return len(made)


@pytest.mark.slow
@pytest.mark.parametrize("links", [pytest.param(True, id="links"), pytest.param(False, id="renames")])
def test_a_merge_killed_at_any_change_of_the_disk(
    unmerged: Path, whole: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """With hard links, and on a file system that has none: then shards are renamed."""
    if not links:

        def refuse(*_: Any, **__: Any) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)
    changes = count_changes(Path(shutil.copytree(unmerged, tmp_path / "first")))
    assert changes > 20
    for number in sorted({*range(0, changes, 7), changes - 2, changes - 1}):
        folder = Path(shutil.copytree(unmerged, tmp_path / f"c{number}"))
        with killed_after(number, folder):
            merge(folder)
        merge(folder)
        assert not (folder / "parts").exists() and describe(folder) == whole
        shutil.rmtree(folder)


def test_between_a_killed_merge_and_its_end_no_worker_writes(
    files: list[Path], unmerged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(unmerged, tmp_path / "c"))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):

        def stop(*_: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr(sys.modules[merge.__module__], "_place", stop)
        merge(folder)
    assert read_status(folder).stage == "merging"
    with pytest.raises(InputError, match=r"is being merged; continue with: sciprism merge"):
        embed_part(PartInput(paths=files), FakeEncoder(), folder, PartNumber(1, 2), layout=LAYOUT)
    merge(folder)
    assert read_status(folder).stage == "merged"
