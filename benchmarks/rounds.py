"""Time contenders turn by turn in one process and write down what ran where.

These machines slow down and speed up by the minute, so only ratios of neighbouring runs mean anything:
every round runs every contender once, and a speed-up is the median of the rounds' own ratios.
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any


def interleave(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Return each contender's seconds, one per round, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(peer: Sequence[float], ours: Sequence[float]) -> dict[str, float]:
    """Return how many times faster we are, round by round: median, min and max."""
    each = [p / o for p, o in zip(peer, ours, strict=True)]
    return {
        "median": round(statistics.median(each), 3),
        "min": round(min(each), 3),
        "max": round(max(each), 3),
    }


def provenance(packages: Sequence[str], **facts: Any) -> dict[str, Any]:
    """Return what a reader needs to run this again: command, versions, machine."""
    return {
        "command": " ".join(["python", *map(_portable, sys.argv)]),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
        "processor": _processor(),
        **facts,
    }


def _portable(word: str) -> str:
    """Return a word of the command, or what it says of a name (DOMAIN=FILE), without this machine's paths."""
    name, mark, path = word.rpartition("=")
    return f"{name}{mark}{Path(path).name.upper()}" if Path(path).is_absolute() else word


def write(path: Path, result: Mapping[str, Any], run: str = "") -> None:
    """Write a result file; with the name of a run, into the file that holds all runs of a benchmark."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if run:
        runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else {}
        result = {"runs": runs | {run: result}}
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {path}", file=sys.stderr)


def _processor() -> dict[str, Any]:
    facts: dict[str, Any] = {"machine": platform.machine()}
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8").splitlines()
        facts["cores"] = sum(line.startswith("processor") for line in lines)
        facts["model"] = next(
            (line.split(":")[1].strip() for line in lines if line.startswith("model name")), ""
        )
        flags = next((line for line in lines if line.startswith("flags")), "")
        facts["features"] = [
            flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_tile") if flag in flags.split()
        ]
    return facts
