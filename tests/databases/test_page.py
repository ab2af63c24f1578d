"""The commands and the Python of the page on databases run, and print what it shows."""

from __future__ import annotations

import re
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest

from build_commands import run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "databases.md").read_text(encoding="utf-8")
FOLDER = "/tmp/databases"


def words_of(text: str) -> list[str]:
    """The words of an output, without what rounding and the width of a terminal change."""
    return re.sub(r"differ by up to \S+|(?<=0\.\d\d)\d+|\d\.\de-\d+", "", text).split()


@pytest.mark.slow
def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("qdrant_client")
    pytest.importorskip("milvus_lite")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    page = PAGE.replace(FOLDER, str(tmp_path))
    shown = 0
    for block in re.findall(r"^```text\n(.*?)^```", page, re.M | re.S):
        for command, output in re.findall(r"^\$ sciprism (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            status, printed, error = run(monkeypatch, capsys, *command.split())
            assert status == 0, error
            if output:
                assert words_of(printed)[: len(words_of(output))] == words_of(output)
                shown += 1
    assert shown == 3
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S):
        exec(compile(code, "databases.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "285 0 1.0" and len(printed) == 7
    qdrant, milvus, fused = map(literal_eval, printed[4:])
    assert [title for _, title in qdrant] == [title for _, title in milvus]
    assert all(1 / 160 < score <= round(2 / 61, 4) for score, _ in fused)
