"""Peak memory and seconds of the commands over collections of several sizes, what a further paper adds, and growth.

The papers are those of `scale.py papers`, or any JSON Lines files. Each command runs in a separate process. `anonymous`
is the memory that the process needs; `resident` counts pages of mapped files too, which the system takes back when
others need them. The steps of a size are stored when it ends. The processor's seconds grow as the number of papers to
the power `growth exponents`, from one size to the next. Run from the repository root:

    python benchmarks/command_memory.py PAPERS FOLDER --sizes 10000 100000 -o results/command_memory.json
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from measurement import build_parser, provenance, read_memory, write_result

FURTHER = 1_000
"""Papers that are added to each collection, and deleted from it."""
LIBRARY = 200
"""Papers for which others are recommended."""
QUERY = "how does noise limit the precision of measurements"


def read_lines(folder: Path, skip: int, count: int) -> Iterator[str]:
    """Yield so many lines of the files of a folder."""
    lines = (line for path in sorted(folder.glob("*.jsonl")) for line in path.open(encoding="utf-8"))
    return islice(lines, skip, skip + count)


def write_inputs(papers: Path, folder: Path, size: int) -> None:
    """Write the papers of a collection, further ones with other ids, and a reader's library."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "papers.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(read_lines(papers, 0, size))
    further = [json.loads(line) for line in read_lines(papers, 0, FURTHER)]
    renamed = [row | {"id": f"further/{row['id']}", "title": f"{row['title']}, again"} for row in further]
    for name, rows in (("further", renamed), ("library", renamed[:LIBRARY])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "ids.txt").write_text("".join(f"{row['id']}\n" for row in renamed), encoding="utf-8")


def measure(*words: Any) -> dict[str, float]:
    """Run a command of sciprism; return its seconds and its peak memory in MB. Raises RuntimeError where it fails."""
    command = [sys.executable, "-m", "sciprism", *map(str, words)]
    began, anonymous = time.perf_counter(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        anonymous = max(anonymous, read_memory("RssAnon", process.pid))
        time.sleep(0.02)
    _, status, usage = ended
    if status:
        said = process.stderr.read().decode()[-2000:] if process.stderr else ""
        raise RuntimeError(f"{' '.join(command)}: {said}")
    seconds = round(time.perf_counter() - began, 1)
    processor = round(usage.ru_utime + usage.ru_stime, 1)
    return {
        "seconds": seconds,
        "processor seconds": processor,
        "anonymous MB": anonymous,
        "resident MB": round(usage.ru_maxrss / 1024),
    }


def measure_size(folder: Path, made: Path | None) -> dict[str, Any]:
    """Run the commands over one collection; made: a collection that holds the papers already, copied."""
    papers, vecs = folder / "papers.jsonl", folder / "vecs"
    shutil.rmtree(vecs, ignore_errors=True)
    found = {"inspect": measure("inspect", papers, "--skip-bad")}
    if made:
        shutil.copytree(made, vecs)
    else:
        found["embed"] = measure("embed", papers, "-o", vecs, "--dtype", "float16")
    first = json.loads(papers.open(encoding="utf-8").readline())["id"]
    steps: dict[str, tuple[Any, ...]] = {
        f"embed {FURTHER:,} further papers": ("embed", folder / "further.jsonl", "-o", vecs),
        "index --lexical": ("index", vecs, "--lexical"),
        "index --approximate": ("index", vecs, "--approximate"),
        "search": ("search", vecs, QUERY),
        "search --mode hybrid": ("search", vecs, QUERY, "--mode", "hybrid"),
        "search --mode approximate": ("search", vecs, QUERY, "--mode", "approximate"),
        "search --year": ("search", vecs, QUERY, "--year", "2000-2010"),
        "similar": ("similar", vecs, "--to", first),
        "recommend": ("recommend", "--library", folder / "library.jsonl", "--new", vecs, "-o", folder / "ranked.csv"),
        "export": ("export", vecs, "-o", folder / "vectors.parquet"),
        f"delete {FURTHER:,} papers": ("delete", vecs, "--ids", folder / "ids.txt"),
        "verify": ("verify", vecs),
    }
    for name, words in steps.items():
        found[name] = measure(*words)
        print(name, found[name], file=sys.stderr)
        for path in (*folder.glob("ranked*"), *folder.glob("vectors*")):
            path.unlink()
    return found


def slopes(small: dict[str, Any], large: dict[str, Any], papers: int) -> dict[str, int]:
    """Return the bytes that a further paper adds to the anonymous memory of each command."""
    name = "anonymous MB"
    return {each: round((large[each][name] - small[each][name]) * 2**20 / papers) for each in large if each in small}


def growth(sizes: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return, for each command and size, the power of the papers by which its seconds grew from the size before."""
    found: dict[str, dict[str, float]] = {}
    for small, large in pairwise(sorted(sizes, key=int)):
        for name in sizes[large].keys() & sizes[small].keys():
            pair = sizes[small][name], sizes[large][name]
            ratio = pair[1]["processor seconds"] / pair[0]["processor seconds"]
            exponent = round(math.log(ratio) / math.log(int(large) / int(small)), 2)
            found.setdefault(name, {})[f"{int(small):,} to {int(large):,}"] = exponent
    return dict(sorted(found.items()))


def main() -> None:
    """Measure each size."""
    parser = build_parser(__doc__)
    parser.add_argument("papers", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--made", type=Path, help="a collection of all papers, for the largest size")
    parser.add_argument("--inspect", action="store_true", help="measure inspect alone, and add it to the record")
    options = parser.parse_args()
    result = provenance(("torch", "sciprism", "numpy", "faiss-cpu", "bm25s"), sizes={})
    if options.inspect:
        for size in options.sizes:
            write_inputs(options.papers, options.folder, size)
            result["sizes"][size] = measure("inspect", options.folder / "papers.jsonl", "--skip-bad")
        write_result(options.output, json.loads(options.output.read_text("utf-8")) | {"inspect": result})
        return
    for size in options.sizes:
        folder = options.folder / str(size)
        write_inputs(options.papers, folder, size)
        made = options.made if size == max(options.sizes) else None
        result["sizes"][str(size)] = measure_size(folder, made)
        write_result(options.output, result)
    if len(options.sizes) > 1:
        below, above = sorted(options.sizes)[-2:]
        sizes = result["sizes"]
        result["bytes a further paper adds"] = slopes(sizes[str(below)], sizes[str(above)], above - below)
        result["growth exponents"] = growth(sizes)
        write_result(options.output, result)


if __name__ == "__main__":
    main()
