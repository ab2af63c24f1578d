"""Write training examples: the one place that makes, describes and removes their files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any

from sciprism.datasets.open_data import Part
from sciprism.files import sha256, write_json, write_lines
from sciprism.prepare.samplers.sampling import NONE, QuerySample
from sciprism.training.examples import Example, write_examples

PARTS: tuple[Part, ...] = ("train", "dev")
"""The parts of a source: to train on, and to select checkpoints."""
MIN_DEV_EXAMPLES = 20
"""Examples of a dev file; fewer are too few to select a checkpoint."""


class ExampleFolder:
    """A folder of example files. counts: name of a written file, such as "train/NAME.jsonl" -> its lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: dict[str, int] = {}

    def write(self, name: str, examples: Iterable[Example], *, min_examples: int = 0) -> int:
        """Write examples, DPR-style; return how many. A file with fewer than `min_examples` is removed."""
        count = write_examples(examples, self.path / name)
        if count < min_examples:
            self.remove(name)
        else:
            self.counts[name] = count
        return count

    def write_triplets(self, name: str, ids: Sequence[str], samples: Iterable[tuple[int, QuerySample]]) -> None:
        """Write triplets of ids, whose texts are in papers.jsonl. samples: (row of the query, its sample)."""

        def lines() -> Iterator[str]:
            for row, sample in samples:
                for positive, negative, kind in zip_longest(sample.positives, sample.negatives, sample.kinds):
                    triplet = {"query": ids[row], "positive": ids[positive]}
                    if negative is not None and kind != NONE:
                        triplet |= {"negative": ids[negative], "kind": kind}
                    yield json.dumps(triplet, ensure_ascii=False)

        self.counts[name] = write_lines(self.path / name, lines(), errors="replace")

    def remove(self, name: str) -> None:
        """Remove a file, of this run or an earlier one."""
        (self.path / name).unlink(missing_ok=True)
        self.counts.pop(name, None)

    def describe(self, name: str) -> dict[str, Any]:
        """Return name and SHA-256 of a file as JSON values; no name if it was not written."""
        return {"file": name, "sha256": sha256(self.path / name)} if name in self.counts else {"file": None}

    def write_manifest(self, name: str, record: dict[str, Any]) -> dict[str, Any]:
        """Write the record of what is in the folder, with our version; return it."""
        record = {"version": version("sciprism")} | record
        write_json(self.path / name, record)
        return record
