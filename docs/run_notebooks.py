"""Run the notebooks of examples/notebooks and store what their cells print: `make notebooks`.

Cells are plain Python without magics, so that they run here in one namespace, without Jupyter.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "examples" / "notebooks"


def run_notebook(notebook: dict[str, Any], name: str) -> list[str]:
    """Run the code cells in the current folder, one after the other, and return what each prints."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    for number, cell in enumerate(cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
            exec(compile(ast.parse("".join(cell["source"])), f"{name}, cell {number}", "exec"), namespace)
        printed.append(text.getvalue())
    return printed


def store_outputs(notebook: dict[str, Any], printed: list[str]) -> None:
    """Replace the outputs of a notebook by what its cells printed."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, text) in enumerate(zip(code, printed, strict=True), 1):
        lines = text.splitlines(keepends=True)
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
        cell["execution_count"] = number


def main() -> None:
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            store_outputs(notebook, run_notebook(notebook, path.name))
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"wrote {path.name}", file=sys.stderr)


if __name__ == "__main__":
    os.environ.pop("SCIPRISM_DATA", None)
    main()
