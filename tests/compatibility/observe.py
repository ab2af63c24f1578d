"""What opened fixtures give: the same observations are written next to them and compared in the tests."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from sciprism import Encoder, Paper
from sciprism.cli.main import app

TEXTS = ("A star bends the light of a gene", "How does a cell keep memory?")
PAPER = Paper(id="x", title="Light in a cell", abstract="We follow light and heat through a cold cell.")
SEARCHES = {
    "plain": ("exact", "approximate", "lexical", "hybrid"),
    "half": ("exact",),
    "int8": ("exact",),
}
"""Collection -> the modes of search that it offers."""
QUERIES = ("light of a star", "how a protein folds")
DIGITS = 5


def run_command(*words: object, stderr: StringIO | None = None) -> str:
    """Run a command of the command line in this process and return its standard output."""
    out, err = StringIO(), stderr or StringIO()
    words = [str(word) for word in words]
    with patch.object(sys, "argv", ["sciprism", *words]), redirect_stdout(out), redirect_stderr(err):
        status = app(args=words, prog_name="sciprism", standalone_mode=False)
    assert not status, f"sciprism {' '.join(words)}: status {status}\n{err.getvalue()}"
    return out.getvalue()


def unpack(archive: Path, folder: Path) -> None:
    """Write the folders of an archive below a folder."""
    with zipfile.ZipFile(archive) as file:
        file.extractall(folder)


def observe_model(folder: Path | str) -> dict:
    """Return fingerprint, distance, and the vectors of a paper and two queries by format."""
    encoder = Encoder.load(folder, device="cpu")
    vectors = {}
    for format, (paper,) in encoder.encode_all([PAPER]).items():
        queries = encoder.encode(TEXTS, format=format, role="query")
        vectors[format] = [[round(float(x), DIGITS) for x in row] for row in (paper, *queries)]
    return {"fingerprint": encoder.fingerprint, "distance": encoder.distance, "vectors": vectors}


def observe_search(collection: Path | str, mode: str) -> list:
    """Return id and score of the three best papers of each query, and what a filter leaves of the last."""
    command = ("search", collection, "--mode", mode, "--no-why", "--json")
    found = rankings_in(run_command(*command, *(word for query in QUERIES for word in ("-q", query)), "-k", 3))
    return [*found, *rankings_in(run_command(*command, QUERIES[-1], "--year", "2001-2012"))]


def rankings_in(document: str) -> list:
    """Return a list of (id, score) for each ranking in the JSON of a command."""
    rankings: list = []

    def walk(value: object) -> None:
        if isinstance(value, list) and value and all(isinstance(v, dict) and "score" in v for v in value):
            rankings.append([[row["id"], round(row["score"], DIGITS)] for row in value])
        elif isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                walk(inner)

    walk(json.loads(document))
    return rankings


def observe_losses(run: Path) -> dict:
    """Return the loss of each step of each stage."""
    found = {}
    for path in sorted(run.glob("*/metrics.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        found[path.parent.name] = [[r["step"], round(r["loss"], DIGITS)] for r in rows if "loss" in r]
    return found


def observe_table(markdown: str, names: list[str]) -> dict:
    """Return the numbers in the rows of tables in Markdown whose first cell says one of the names."""
    found: dict = {name: [] for name in names}
    for line in markdown.replace("\\", "").splitlines():
        first, _, rest = line.strip().removeprefix("|").partition("|")
        for name in names:
            if line.startswith("|") and re.search(rf"(^|\s){re.escape(name)}($|\s)", first):
                found[name].append([float(number) for number in re.findall(r"-?\d+\.\d+", rest)])
    return found
