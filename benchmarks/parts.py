"""One process against two parts on real papers, and the merge of a million rows in four parts.

The papers are embedded by the command line: by one process with two threads, and by two workers at once with one
thread each, from one file (divided by blocks of records) and from 40 files (whole files). What is compared: papers,
vectors, and the answers to titles of other papers as queries. The million rows have short texts and random vectors
of 384 numbers in float16; one in a hundred papers recurs in the file of another part. Each run is stored when it ends.
Run from the repository root:

    python benchmarks/parts.py --data DATA -o results/parts.json
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from measurement import build_parser, provenance, read_memory, run_apart, write_result
from sciprism.papers.division import PartNumber
from sciprism.store import CollectionLayout, StoredCollection
from sciprism.store.parts import PartInput, embed_part, merge

PAPERS, QUERIES, FILES = 3_000, 50, 40
ROWS, PARTS, DIM = 1_000_000, 4, 384
RECURRING = 100
"""One in so many synthetic papers is in the file of the next part, too."""
SOURCE = "arxiv_multidomain/papers-0.jsonl.gz"


class RandomEncoder:
    """Gives random vectors: what is measured is what is around an encoder."""

    name, fingerprint, dim, distance = "random", "r0", DIM, "cosine"
    formats = ("proximity",)
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


def run_command(*words: Any) -> subprocess.Popen[bytes]:
    """Start a command of sciprism, without a word of it on the terminal."""
    command = [sys.executable, "-m", "sciprism", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def time_commands(*commands: Sequence[Any]) -> float:
    """Run commands at once, and return the seconds until the last ends. Raises RuntimeError where one fails."""
    began = time.perf_counter()
    started = [run_command(*words) for words in commands]
    if any(each.wait() for each in started):
        raise RuntimeError(f"a command failed: {commands}")
    return round(time.perf_counter() - began, 2)


def read_lines(data: Path, count: int) -> list[str]:
    """Return the first records of the real papers."""
    with gzip.open(data / SOURCE, "rt", encoding="utf-8") as file:
        return list(islice(file, count))


def write_files(folder: Path, lines: Sequence[str], count: int) -> Path:
    """Write records to so many files, in their order."""
    folder.mkdir()
    step = -(-len(lines) // count)
    for number in range(count):
        (folder / f"{number:03d}.jsonl").write_text("".join(lines[number * step : (number + 1) * step]))
    return folder


def measure_real(data: Path, folder: Path) -> dict[str, Any]:
    """Embed real papers by one process and in two parts."""
    lines = read_lines(data, PAPERS + QUERIES)
    queries = folder / "queries.txt"
    queries.write_text("".join(json.loads(line)["title"].replace("\n", " ") + "\n" for line in lines[PAPERS:]))
    result: dict[str, Any] = {"papers": PAPERS, "queries": QUERIES, "source": SOURCE}
    for name, count in (("one file", 1), (f"{FILES} files", FILES)):
        source = write_files(folder / name.replace(" ", "-"), lines[:PAPERS], count)
        one, many = folder / f"one-{count}", folder / f"many-{count}"
        seconds = time_commands(("embed", source, "-o", one, "--threads", 2))
        parts = [("embed", source, "-o", many, "--part", f"{part}/2", "--threads", 1) for part in (1, 2)]
        result[name] = {
            "seconds of one process, two threads": seconds,
            "seconds of two workers at once, one thread each": time_commands(*parts),
            "seconds of the command merge": time_commands(("merge", many)),
            **compare(one, many, queries),
        }
    return result


def compare(one: Path, many: Path, queries: Path) -> dict[str, Any]:
    """Compare the papers, the vectors and the answers of two collections."""
    first, second = StoredCollection.open(one), StoredCollection.open(many)
    second.verify()
    papers = [{paper.id: (paper, paper.place) for paper in each.papers(each.live)} for each in (first, second)]
    ids = sorted(papers[0])
    (space,) = first.manifest.spaces
    vectors = [
        each.read_rows(space, np.array([each.find(id) for id in ids])).block(0, len(ids)) for each in (first, second)
    ]
    answers = [search(each, queries) for each in (one, many)]
    same_ids = sum(a["ids"] == b["ids"] for a, b in zip(*answers, strict=True))
    return {
        "papers equal": papers[0] == papers[1],
        "same order of rows": first.papers(range(first.rows)) == second.papers(range(second.rows)),
        "vectors with identical bytes": int((vectors[0] == vectors[1]).all(axis=1).sum()),
        "largest difference of a number in a vector": float(np.abs(vectors[0] - vectors[1]).max()),
        "searches with equal ten answers": same_ids,
        "largest difference of a score": max(
            abs(x - y) for a, b in zip(*answers, strict=True) for x, y in zip(a["scores"], b["scores"], strict=True)
        ),
    }


def search(collection: Path, queries: Path) -> list[dict[str, Any]]:
    """Return the ten best papers of each query."""
    from sciprism import Collection

    opened = Collection(collection)
    found = [opened.search(query, k=10) for query in queries.read_text().splitlines()]
    return [{"ids": [hit.id for hit in hits], "scores": [hit.score for hit in hits]} for hits in found]


def generate(part: int, rows: int) -> Iterator[str]:
    """Yield the records of a part's file; the first in a hundred of them are also in the file before."""
    for number in range(rows // PARTS + (rows // PARTS // RECURRING if part + 1 < PARTS else 0)):
        n = part * (rows // PARTS) + number
        text = f"Effect {n % 97} of matter {n % 1009} grows with number {n}"
        yield json.dumps({"id": f"W{n}", "title": text, "abstract": f"{text}. " * 3, "year": 1950 + n % 70}) + "\n"


def embed_synthetic(files: list[Path], folder: Path, part: int) -> None:
    """Embed one part of the synthetic papers."""
    layout = CollectionLayout(dtype="float16")
    embed_part(PartInput(paths=files), RandomEncoder(), folder, PartNumber(part, PARTS), layout=layout)  # type: ignore[arg-type]


def merge_apart(folder: Path) -> dict[str, Any]:
    """Merge, and return counts, seconds and peak memory."""
    before = read_memory("VmHWM")
    began = time.perf_counter()
    report = merge(folder)
    seconds = round(time.perf_counter() - began, 2)
    return {
        "papers": report.papers,
        "rows of recurring papers": report.repeated,
        "shards": report.shards,
        "seconds": seconds,
        "peak memory MB": read_memory("VmHWM"),
        "peak memory before the merge MB": before,
    }


def measure_synthetic(folder: Path, rows: int) -> dict[str, Any]:
    """Merge so many rows in four parts."""
    source = folder / "in"
    source.mkdir()
    for part in range(PARTS):
        with (source / f"{part}.jsonl").open("w") as file:
            file.writelines(generate(part, rows))
    context = get_context("spawn")
    began = time.perf_counter()
    files = split_files(source)
    workers = [context.Process(target=embed_synthetic, args=(files, folder / "c", part + 1)) for part in range(PARTS)]
    for pair in (workers[:2], workers[2:]):
        for worker in pair:
            worker.start()
        for worker in pair:
            worker.join()
    seconds = round(time.perf_counter() - began, 1)
    size = sum(path.stat().st_size for path in (folder / "c").rglob("*") if path.is_file())
    merged = run_apart(merge_apart, folder / "c")
    began = time.perf_counter()
    StoredCollection.open(folder / "c").verify()
    verified = round(time.perf_counter() - began, 1)
    return {
        "parts": PARTS,
        "megabytes": round(size / 1e6),
        "seconds of the workers, two at once": seconds,
        "merge": merged,
        "seconds to verify all bytes": verified,
    }


def split_files(folder: Path) -> list[Path]:
    """Split each file into eight, so that no file need be divided, and return them in order."""
    found = []
    for path in sorted(folder.glob("?.jsonl")):
        lines = path.read_text().splitlines(keepends=True)
        step = -(-len(lines) // 8)
        for number in range(8):
            target = path.with_name(f"{path.stem}-{number}.jsonl")
            target.write_text("".join(lines[number * step : (number + 1) * step]))
            found.append(target)
        path.unlink()
    return found


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("SCIPRISM_DATA"), required="SCIPRISM_DATA" not in os.environ
    )
    parser.add_argument(
        "--runs", nargs="*", default=["real", str(ROWS // 4), str(ROWS)], help="real, or numbers of rows"
    )
    args = parser.parse_args()
    for run in args.runs:
        with TemporaryDirectory() as name:
            result = measure_real(args.data, Path(name)) if run == "real" else measure_synthetic(Path(name), int(run))
        print(json.dumps(result, indent=1), flush=True)
        label = "real papers" if run == "real" else f"{int(run):,} synthetic rows"
        write_result(args.output, provenance(["torch", "sciprism", "numpy", "pyarrow"], **result), label)


if __name__ == "__main__":
    main()
