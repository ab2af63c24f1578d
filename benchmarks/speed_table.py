"""Collect the speeds of result files in results/speed.json, and write the tables of README and docs/results.md from it.

A ratio is the range of the medians, over processors, models and numbers of cores; README has the rows that need no
further explanation. Run from the repository root after the benchmarks (`make bench` does):

    python benchmarks/speed_table.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))
from marked_pages import fill_marks  # noqa: E402

TABLE, README, RESULTS = ROOT / "results" / "speed.json", ROOT / "README.md", ROOT / "docs" / "results.md"
PEER, PEER_RUN = "sentence-transformers", "sentence-transformers, batch 32 (default)"
AMD, BOTH, GPU = "AMD EPYC, 1 or 2 cores", "Intel Xeon; AMD EPYC with AVX2 alone; 1 or 2 cores", "NVIDIA H200"
SEARCH = ("search.json", "search-avx2.json")
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


def _all_formats(file: Any) -> dict[str, float]:
    costs = file["runs"]["prism"]["costs"]["all formats"]
    return {method: float(cost["cost"]["median"]) for method, cost in costs.items()}


def _separate_passes(file: Any) -> list[float]:
    costs = _all_formats(file)
    return [costs[method] / costs["prism"] for method in ("control-codes", "adapters")]


def _serving(load: str, run: str = "load") -> Reader:
    return lambda file: [
        float(file["runs"][run]["pairs"]["sciprism-small"]["loads"][load]["throughput_ratio"]["median"])
    ]


class Row(NamedTuple):
    """A comparison: what is done, against what, on which machine, and where the ratios are; whether README has it."""

    what: str
    against: str
    machine: str
    readers: Mapping[str, Reader]
    in_readme: bool = True


ROWS = (
    Row(
        "encode papers, float32",
        f"{PEER}, default batch",
        AMD,
        dict.fromkeys(("encode.json", "encode-avx2.json"), _encoding("float32")),
    ),
    Row(
        "encode papers, bfloat16",
        f"{PEER}, default batch, float32",
        f"{AMD}, with bfloat16 instructions",
        {"encode.json": _encoding("bfloat16")},
    ),
    Row(
        "encode papers, bfloat16 without such instructions, so that `--precision auto` takes float32",
        f"{PEER}, default batch, float32",
        AMD,
        {"encode-avx2.json": _encoding("bfloat16")},
        in_readme=False,
    ),
    Row(
        "encode papers, bfloat16",
        f"{PEER}, best batch, bfloat16",
        GPU,
        {"cuda.json": _gpu("shape, bfloat16", lambda row: float(row["times_peer"]["median"]))},
    ),
    Row(
        "search 100,000 papers, the first eight queries",
        "faiss, exact",
        BOTH,
        dict.fromkeys(SEARCH, _search(1, "float32")),
    ),
    Row(
        "search 100,000 papers, later queries one by one",
        "faiss, exact",
        BOTH,
        dict.fromkeys(SEARCH, _search(1, "float32, int8 copy")),
    ),
    Row(
        "search 100,000 papers, 8 queries together",
        "faiss, exact",
        BOTH,
        dict.fromkeys(SEARCH, _search(8, "float32, int8 copy")),
        in_readme=False,
    ),
    Row(
        "search 100,000 papers, 100 queries together",
        "faiss, exact",
        BOTH,
        dict.fromkeys(SEARCH, _search(100, "float32, int8 copy")),
    ),
    Row(
        "serve embeddings to 64 clients",
        f"FastAPI with {PEER}",
        "Intel Xeon, 2 cores",
        {"serve.json": _serving("embed 1 text, 64 clients")},
    ),
    Row(
        "serve embeddings to one client",
        f"FastAPI with {PEER}",
        "Intel Xeon, 2 cores",
        {"serve.json": _serving("embed 1 text, 1 clients")},
        in_readme=False,
    ),
    Row(
        "serve searches of 100,000 papers to 64 clients",
        f"FastAPI with {PEER}",
        "AMD EPYC with AVX2 alone, 2 cores",
        {"serve.json": _serving("search, 64 clients", "load, 100,000 papers")},
    ),
    Row(
        "serve searches of 20,000 papers to one client",
        f"FastAPI with {PEER}",
        "Intel Xeon, 2 cores",
        {"serve.json": _serving("search, 1 clients")},
        in_readme=False,
    ),
    Row(
        "train with the same losses, float32",
        PEER,
        "AMD EPYC, 2 cores",
        dict.fromkeys(
            ("train.json", "train-avx512.json", "train-avx2.json"),
            lambda file: [file["times_faster"]["float32"]["median"]],
        ),
    ),
    Row("train, bfloat16", f"a plain loop over {PEER}", GPU, {"cuda.json": _gpu("training", _gpu_training)}),
    Row(
        "fit linear probes with the same scores",
        "scikit-learn's grid search",
        "AMD EPYC, 2 cores",
        {"probe.json": lambda file: [run["times_faster"]["median"] for run in file["measured"]]},
    ),
    Row(
        "embed a paper for all four task types, `prism`",
        "control codes, adapters",
        "AMD EPYC, 2 cores",
        {"formats.json": _separate_passes},
    ),
    Row(
        "the same",
        "one vector of a plain encoder",
        "AMD EPYC, 2 cores",
        {"formats.json": lambda file: [1 / _all_formats(file)["prism"]]},
        in_readme=False,
    ),
)


def collect() -> dict[str, Any]:
    """Return the rows of the table: what, against, machine, ratios of each result file."""
    return {
        "rows": [
            {
                "what": row.what,
                "against": row.against,
                "machine": row.machine,
                "in_readme": row.in_readme,
                "ratios": {
                    name: [round(ratio, 3) for ratio in read(json.loads((TABLE.parent / name).read_text("utf-8")))]
                    for name, read in row.readers.items()
                },
            }
            for row in ROWS
        ]
    }


def build_pages(table: Mapping[str, Any]) -> dict[Path, str]:
    """Return README and docs/results.md with their tables of speeds."""
    head = ["| what | against | times as fast | on |", "| --- | --- | --- | --- |"]
    lines = {README: [*head], RESULTS: [*head]}
    for row in table["rows"]:
        cells = [f"{r:.0f}x" if r >= 9.95 else f"{r:.1f}x" for r in sorted(chain(*row["ratios"].values()))]
        ratio = cells[0] if cells[0] == cells[-1] else f"{cells[0]} to {cells[-1]}"
        for page in (README, RESULTS) if row["in_readme"] else (RESULTS,):
            lines[page].append(f"| {row['what']} | {row['against']} | {ratio} | {row['machine']} |")
    return {page: fill_marks(page, {"speed": "\n".join(rows) + "\n"}, "make bench") for page, rows in lines.items()}


def main() -> None:
    table = collect()
    TABLE.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
    for page, text in build_pages(table).items():
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
