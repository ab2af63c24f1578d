"""The samples of formats: cases of `tests/papers/reader_cases.jsonl` that are called so, and binary files."""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "papers"
CASES = [json.loads(line) for line in (FOLDER / "reader_cases.jsonl").read_text(encoding="utf-8").splitlines()]
BINARY = {path.stem: path for path in (FOLDER / "samples").iterdir()}


def write_samples(folder: Path, kind: str = "papers") -> dict[str, Path]:
    """Write the samples of papers or labels; return format -> file."""
    found = {} if kind == "labels" else dict(BINARY)
    for case in CASES:
        start, _, format = case["name"].rpartition(": ")
        if start == f"sample of {kind}":
            found[format] = folder / case["file"]
            found[format].write_bytes(case["text"].encode())
    return found
