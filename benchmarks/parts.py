"""The merge of a million rows in four parts: seconds and memory.

The rows have short texts and random vectors of 384 numbers in float16; one in a hundred papers recurs in the file of
another part. Each run is stored when it ends. Run from the repository root:

    python benchmarks/parts.py -o results/parts.json
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from measurement import build_parser, provenance, read_memory, run_apart, write_result
from sciprism.papers.division import InputPart
from sciprism.store import CollectionLayout, StoredCollection
from sciprism.store.embed_files import EmbedInput
from sciprism.store.parts import embed_part, merge

ROWS, PARTS, DIM = 1_000_000, 4, 384
RECURRING = 100
"""One in so many papers is in the file of the next part, too."""


class RandomEncoder:
    """Gives random vectors: what is measured is what is around an encoder."""

    name, fingerprint, dim, distance = "random", "r0", DIM, "cosine"
    formats = ("proximity",)
    device, method = SimpleNamespace(type="cpu"), SimpleNamespace(one_pass=True)
    options: ClassVar[dict[str, Any]] = {}

    def space(self, format: str = "proximity", role: str = "paper") -> str:
        """Return the only space."""
        return "random"

    def path(self, format: str = "proximity", role: str = "paper") -> str:
        """Return the only path."""
        return "random"

    def texts(self, items: Sequence[Any], role: str = "paper") -> list[str]:
        """Return titles with abstracts."""
        return [f"{item.title} {item.abstract}" for item in items]

    def encode_all(self, items: Sequence[Any], *, formats: Sequence[str], **_: Any) -> dict[str, np.ndarray]:
        """Return random vectors."""
        random = np.random.default_rng(len(items))
        return {format: random.standard_normal((len(items), DIM), np.float32) for format in formats}


def generate(part: int, rows: int) -> Iterator[str]:
    """Yield the records of a part's file; the first in a hundred of them are also in the file before."""
    for number in range(rows // PARTS + (rows // PARTS // RECURRING if part + 1 < PARTS else 0)):
        n = part * (rows // PARTS) + number
        text = f"Effect {n % 97} of matter {n % 1009} grows with number {n}"
        yield json.dumps({"id": f"W{n}", "title": text, "abstract": f"{text}. " * 3, "year": 1950 + n % 70}) + "\n"


def embed_synthetic(source: Path, folder: Path, part: int) -> None:
    """Embed one part."""
    given = EmbedInput(paths=[source], part=InputPart(part, PARTS))
    embed_part(given, RandomEncoder(), folder / str(part), layout=CollectionLayout(dtype="float16"))  # type: ignore[arg-type]


def merge_apart(folder: Path) -> dict[str, Any]:
    """Merge, and return counts, seconds and peak memory."""
    before = read_memory("VmHWM")
    began = time.perf_counter()
    report = merge([folder], folder.with_name("merged"), lambda _stored: RandomEncoder())  # type: ignore[arg-type,return-value]
    return {
        "papers": report.papers,
        "duplicates": report.duplicates,
        "seconds": round(time.perf_counter() - began, 2),
        "peak memory MB": read_memory("VmHWM"),
        "peak memory before the merge MB": before,
    }


def measure(folder: Path, rows: int) -> dict[str, Any]:
    """Merge so many rows in four parts, two of which are embedded at once."""
    source, parts = folder / "in", folder / "parts"
    source.mkdir()
    for part in range(PARTS):
        with (source / f"{part}.jsonl").open("w") as file:
            file.writelines(generate(part, rows))
    context = get_context("spawn")
    began = time.perf_counter()
    workers = [context.Process(target=embed_synthetic, args=(source, parts, part + 1)) for part in range(PARTS)]
    for pair in (workers[:2], workers[2:]):
        for worker in pair:
            worker.start()
        for worker in pair:
            worker.join()
    seconds = round(time.perf_counter() - began, 1)
    size = sum(path.stat().st_size for path in parts.rglob("*") if path.is_file())
    merged = run_apart(merge_apart, parts)
    began = time.perf_counter()
    StoredCollection.open(folder / "merged").verify()
    return {
        "parts": PARTS,
        "megabytes": round(size / 1e6),
        "seconds of the workers, two at once": seconds,
        "merge": merged,
        "seconds to verify all bytes": round(time.perf_counter() - began, 1),
    }


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--rows", nargs="*", type=int, default=[ROWS // 4, ROWS])
    args = parser.parse_args()
    for rows in args.rows:
        with TemporaryDirectory() as name:
            result = measure(Path(name), rows)
        print(json.dumps(result, indent=1), flush=True)
        facts = provenance(["sciprism", "numpy", "pyarrow"], **result)
        write_result(args.output, facts, f"{rows:,} synthetic rows")


if __name__ == "__main__":
    main()
