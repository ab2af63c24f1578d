"""The commands and the Python of the page on databases run, and print what it shows."""

import re
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest

from build_commands import run
from build_databases import start_postgres

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "databases.md").read_text(encoding="utf-8")
FOLDER = "/tmp/databases"


def words_of(text: str) -> list[str]:
    """The words of an output, without what rounding and the width of a terminal change."""
    return re.sub(r"(?<=0\.\d\d)\d+", "", text).split()


@pytest.mark.slow
def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("qdrant_client")
    pytest.importorskip("psycopg")
    start_postgres()
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
    assert printed[0].startswith("285 0 ") and len(printed) == 6
    postgres, qdrant = (dict(literal_eval(line)) for line in printed[4:])
    assert postgres == pytest.approx(qdrant, abs=1e-5) and len(postgres) == 3
