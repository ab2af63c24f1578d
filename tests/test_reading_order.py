"""A reader of a command opens few files, and seldom one that was read before.

Counted are the files whose functions run, and returns to a file that was left before, over all packages. The ceilings
are what is reached: a command that needs another file does without one of the others.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LANDMARKS = ROOT / "examples" / "landmarks"
CEILINGS = {  # command: (files, returns); returns vary with threads and progress, so a tenth is added
    "inspect": (23, 47),
    "embed": (47, 144),
    "search": (23, 54),  # without torch
    "evaluate": (56, 210),
    "tag": (49, 138),
    "match": (56, 160),
    "recommend": (50, 122),
    "prepare": (32, 76),
}
OPTIONS = {
    "inspect": f"{LANDMARKS}/landmarks.bib",
    "embed": f"{LANDMARKS}/landmarks.bib -o collection",
    "search": "collection continents",
    "evaluate": "random --suite open/quick -o results",
    "tag": "mine.jsonl --vocabulary labels.csv -o tags.csv",
    "match": "submissions.jsonl --reviewers profiles -o assignments.csv --per-paper 2 --max-papers 5",
    "recommend": "--library mine.jsonl --new new.jsonl -o ranked.csv",
    "prepare": "citations DATA/citegraph_vis/papers.jsonl.gz -o triplets",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ten submissions, six reviewers with five papers each, a library, new papers, two labels, and a collection."""
    folder = tmp_path_factory.mktemp("reading")
    lines = (LANDMARKS / "landmarks.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "profiles").mkdir()
    for name, chosen in {"submissions": lines[:10], "mine": lines[:10], "new": lines[10:20]}.items():
        (folder / f"{name}.jsonl").write_text("".join(chosen))
    for reviewer in range(6):
        chosen = lines[10 + 5 * reviewer : 15 + 5 * reviewer]
        (folder / "profiles" / f"reviewer{reviewer}.jsonl").write_text("".join(chosen))
    (folder / "labels.csv").write_text("id,name\na,genetics\nb,geology\n")
    return folder


def trace(folder, command):
    """Run a command as a process of its own and return what docs/module_trace.py counts."""
    words = OPTIONS[command].replace("DATA", os.environ.get("SCIPRISM_DATA", "")).split()
    script = [sys.executable, ROOT / "docs" / "module_trace.py", command, *words]
    done = subprocess.run(script, cwd=folder, capture_output=True, text=True)
    counts = json.loads(done.stderr.splitlines()[-1])
    assert counts["status"] == 0, done.stderr
    return counts


QUICK = ("inspect",)


@pytest.mark.parametrize(
    "command", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CEILINGS]
)
def test_a_command_is_read_in_few_files(folder, command):
    if command in ("evaluate", "prepare") and not os.environ.get("SCIPRISM_DATA"):
        pytest.skip("needs the real data sets (SCIPRISM_DATA)")
    if command == "search" and not (folder / "collection").exists():
        trace(folder, "embed")
    counts = trace(folder, command)
    files, returns = CEILINGS[command]
    assert counts["files"] <= files and counts["returns"] <= returns, " ".join(counts["modules"])
