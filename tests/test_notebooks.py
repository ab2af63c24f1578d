"""The notebooks run as they are, print what is stored in them, and hold nothing of this machine."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from run_notebooks import FOLDER, run_notebook  # noqa: E402

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def words(text):
    """The words of an output; numbers, which differ in their last digits between machines, are left out."""
    return re.findall(r"[A-Za-z][\w-]*", text)


def test_notebooks_are_small_and_know_no_machine():
    assert [path.stem for path in NOTEBOOKS] == ["compare-encoders", "map-a-library", "quickstart"]
    for path in NOTEBOOKS:
        text, notebook = path.read_text(encoding="utf-8"), json.loads(path.read_text(encoding="utf-8"))
        code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert len(text) < 20_000 and not re.search(r"/(home|root|tmp|work|Users)/", text)
        assert "find_spec" in code[0] and "pip" in code[0] and not re.search(r"^[!%]", "\n".join(code), re.M)
        assert any(cell.get("outputs") for cell in notebook["cells"])


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_stores(path, tmp_path, monkeypatch):
    if path.stem == "map-a-library":
        pytest.importorskip("umap")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCIPRISM_DATA", raising=False)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    stored = ["".join(output["text"]) for cell in cells for output in cell["outputs"]]
    printed = [text for text in run_notebook(notebook, path.name) if text]
    assert printed and [words(text) for text in printed] == [words(text) for text in stored]
