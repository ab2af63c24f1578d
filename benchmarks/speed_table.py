"""Collect the speeds of result files in results/speed.json, and write the README's table from it.

A cell is the range of the medians, over processors, models and numbers of cores. Run from the repository root after
the benchmarks (`make bench` does):

    python benchmarks/speed_table.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))
from marked_pages import fill_marks  # noqa: E402

TABLE, README = ROOT / "results" / "speed.json", ROOT / "README.md"
PEER, PEER_RUN = "sentence-transformers, its default batch", "sentence-transformers, batch 32 (default)"
Reader = Callable[[Any], list[float]]  # a result file -> medians of ratios


def _encoding(precision: str) -> Reader:
    return lambda file: [
        run[f"sciprism {precision}"][f"times {PEER_RUN}"]["median"] for run in file["threads"].values()
    ]


def _search(queries: int, contender: str) -> Reader:
    return lambda file: [
        run["contenders"][f"sciprism {contender}"]["times_faster"]["median"]
        for run in file["measured"]
        if run["queries"] == queries
    ]


def _gpu(title: str, median: Callable[[Any], float]) -> Reader:
    return lambda file: [median(row) for name, row in file["runs"]["after"]["rows"].items() if title in name]


def _gpu_training(row: Any) -> float:
    rates = row["examples_per_second"]
    return float(rates["sciprism"] / rates["sentence-transformers, plain loop"])


def _all_formats(*methods: str) -> Reader:
    return lambda file: [file["runs"]["prism"]["costs"]["all formats"][method]["cost"]["median"] for method in methods]


ROWS: tuple[tuple[str, str, Mapping[str, Reader]], ...] = (
    ("encoding, float32", PEER, dict.fromkeys(("encode.json", "encode-avx2.json"), _encoding("float32"))),
    ("encoding, bfloat16, on processors that have it", f"{PEER}, float32", {"encode.json": _encoding("bfloat16")}),
    ("the same on others", f"{PEER}, float32", {"encode-avx2.json": _encoding("bfloat16")}),
    ("exact search of 100,000 vectors, 1 query, the first ones", "faiss", {"search.json": _search(1, "float32")}),
    ("the same, 1 query, later ones", "faiss", {"search.json": _search(1, "float32, int8 copy")}),
    ("the same, 8 queries", "faiss", {"search.json": _search(8, "float32, int8 copy")}),
    ("the same, 100 queries", "faiss", {"search.json": _search(100, "float32, int8 copy")}),
    (
        "encoding on an H200, bfloat16",
        "sentence-transformers",
        {"cuda.json": _gpu("shape, bfloat16", lambda row: float(row["times_peer"]["median"]))},
    ),
    ("training there, bfloat16", "a plain loop", {"cuda.json": _gpu("training", _gpu_training)}),
    (
        "training, the same losses",
        "sentence-transformers",
        dict.fromkeys(
            ("train.json", "train-avx512.json", "train-avx2.json"),
            lambda file: [file["times_faster"]["float32"]["median"]],
        ),
    ),
    (
        "linear probes, the same scores",
        "scikit-learn's grid search",
        {"probe.json": lambda file: [run["times_faster"]["median"] for run in file["measured"]]},
    ),
    (
        "time of all four formats of a paper, `prism`",
        "one pass of a plain encoder",
        {"formats.json": _all_formats("prism")},
    ),
    (
        "the same with codes or adapters",
        "one pass of a plain encoder",
        {"formats.json": _all_formats("control-codes", "adapters")},
    ),
)


def collect() -> dict[str, Any]:
    """Return the rows of the table: what, against, ratios of each result file."""
    return {
        "rows": [
            {
                "what": what,
                "against": against,
                "ratios": {
                    name: [round(ratio, 3) for ratio in read(json.loads((TABLE.parent / name).read_text("utf-8")))]
                    for name, read in readers.items()
                },
            }
            for what, against, readers in ROWS
        ]
    }


def build_readme(table: Mapping[str, Any]) -> str:
    """Return the README with the table of speeds."""
    lines = ["| what | against | |", "| --- | --- | --- |"]
    for row in table["rows"]:
        cells = [f"{r:.0f}x" if r >= 9.95 else f"{r:.1f}x" for r in sorted(chain(*row["ratios"].values()))]
        cell = cells[0] if cells[0] == cells[-1] else f"{cells[0]} to {cells[-1]}"
        lines.append(f"| {row['what']} | {row['against']} | {cell} |")
    return fill_marks(README, {"speed": "\n".join(lines) + "\n"}, "make bench")


def main() -> None:
    table = collect()
    TABLE.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
    README.write_text(build_readme(table), encoding="utf-8")


if __name__ == "__main__":
    main()
