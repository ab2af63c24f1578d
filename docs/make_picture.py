"""Draw the picture of the README: a search of the example collection, as a terminal shows it."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "pictures" / "search.svg"
COMMANDS = (
    "sciprism embed landmarks.bib -o library",
    "sciprism search library how the continents moved apart -k 2",
    "sciprism similar library --to watson1953molecular -k 2",
)


def run(command: str, folder: str) -> str:
    """Return what a command prints in a folder."""
    words = [sys.executable, "-m", "sciprism", *command.split()[1:]]
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout


def build_picture() -> str:
    """Return the picture as SVG."""
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "landmarks.bib").symlink_to(ROOT / "examples" / "landmarks" / "landmarks.bib")
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "green"), (command, "bold")))
            console.print(Text(run(command, folder).rstrip()))
    return console.export_svg(title="sciprism", unique_id="sciprism")


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(build_picture(), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")
