"""An input of several files in which papers recur, and what is compared of a collection made of it in parts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fake_encoder import FakeEncoder, some_papers
from sciprism.papers.division import PartNumber
from sciprism.papers.records import Paper
from sciprism.store import CollectionLayout, StoredCollection
from sciprism.store.parts import PartInput, embed_part

LAYOUT = CollectionLayout(formats=("proximity", "classification"), dtype="int8", shard_size=100)
PAPERS = 1200


def write_papers(path: Path, papers: list[Paper]) -> Path:
    """Write papers as JSON lines."""
    path.write_text("".join(json.dumps(paper.to_json()) + "\n" for paper in papers))
    return path


def write_input(folder: Path, count: int = PAPERS) -> list[Path]:
    """Write a large file, which is divided, and small ones; papers recur in a file and from file to file.

    The large file has papers that come first in it and again in other files, with other details too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    papers = some_papers(count)
    large, small = papers[: count // 2], papers[count // 2 :]
    files = [write_papers(folder / "0-large.jsonl", [*large, large[3], replace(large[500 % len(large)], year=1800)])]
    step = len(small) // 20
    for number in range(20):
        here = [*small[number * step : (number + 1) * step], large[number * 7], replace(small[number], year=1700)]
        files.append(write_papers(folder / f"{number + 1}-small.jsonl", here))
    return files


def embed_parts(files: list[Path], folder: Path, count: int, **options: Any) -> None:
    """Embed all parts, the last one first."""
    for number in range(count, 0, -1):
        embed_part(PartInput(paths=files, **options), FakeEncoder(), folder, PartNumber(number, count), layout=LAYOUT)


def describe(folder: Path) -> dict[str, Any]:
    """Return all that a user sees of a collection: papers with places, vectors of each space, counts."""
    stored = StoredCollection.open(folder)
    stored.verify()
    papers = sorted(stored.papers(stored.live), key=lambda paper: paper.id)
    rows = np.array([stored.find(paper.id) for paper in papers], np.int64)
    assert sorted(rows.tolist()) == stored.live.tolist()
    manifest = stored.manifest
    return {
        "papers": [(paper.to_json(), paper.place) for paper in papers],
        "vectors": {space: stored.read_rows(space, rows).block(0, len(rows)).tolist() for space in manifest.spaces},
        "counts": (manifest.papers, manifest.missing_abstracts, manifest.input),
        "encoder": manifest.encoder,
    }
