"""An input of several files in which papers recur, and what is compared of a collection made of it in parts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fake_encoder import FakeEncoder, some_papers
from sciprism.papers.input_paths import InputPart
from sciprism.papers.read import AbstractCompletion
from sciprism.papers.records import Paper
from sciprism.store import CollectionLayout, StoredCollection
from sciprism.store.embed import EmbedInput, embed_files
from sciprism.store.parts import embed_part

LAYOUT = CollectionLayout(formats=("proximity", "classification"), dtype="int8", shard_size=100)
PAPERS = 1200


def write_papers(path: Path, papers: list[Paper]) -> Path:
    """Write papers as JSON lines."""
    path.write_text("".join(json.dumps(paper.to_json()) + "\n" for paper in papers))
    return path


def write_input(folder: Path, count: int = PAPERS) -> list[Path]:
    """Write a large file, which parts divide, and small ones; papers recur in a file and from file to file.

    Others have a second copy, another year, an abstract that the first record lacks, or another id.
    """
    folder.mkdir(parents=True, exist_ok=True)
    papers = some_papers(count)
    large, small = papers[: count // 2], papers[count // 2 :]
    files = [write_papers(folder / "0-large.jsonl", [*large, large[3], replace(large[-1], year=1800)])]
    step, quarter = len(small) // 20, len(large) // 4
    for number in range(20):
        known, other = large[quarter + 2 * number], large[2 * quarter + number]
        again = [
            large[number],
            replace(known, abstract=f"Its abstract {number}.", ids={**known.ids, "pmid": f"1{number}"}),
        ]
        again.append(replace(other, id=f"other-{number}", venue="Science"))
        write_papers(folder / f"{number + 1:02}-small.jsonl", [*small[number * step : (number + 1) * step], *again])
    return [*files, *sorted(folder.glob("*-small.jsonl"), reverse=True)]


def embed_whole(files: list[Path], folder: Path, **options: Any) -> None:
    """Embed all files in one process."""
    embed_files(EmbedInput(paths=files, **options), FakeEncoder(), folder, AbstractCompletion(), layout=LAYOUT)


def embed_parts(files: list[Path], folder: Path, count: int, **options: Any) -> None:
    """Embed all parts, the last one first, each into its folder in a folder."""
    for number in range(count, 0, -1):
        source = EmbedInput(paths=files, part=InputPart(number, count), **options)
        embed_part(source, FakeEncoder(), folder / str(number), layout=LAYOUT)


def load(_stored: StoredCollection) -> Any:
    """Return the encoder of all collections here."""
    return FakeEncoder()


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
        "counts": (manifest.papers, stored.count_missing_abstracts(), manifest.input),
        "encoder": manifest.encoder,
    }
