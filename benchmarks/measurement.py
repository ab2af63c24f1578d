"""What benchmarks share: timing in rounds, peak memory, the command line, the result file.

Speed varies by the minute on shared machines, so only ratios of neighbouring runs are meaningful: every
round runs every contender once, and a speed-up is the median of the ratios of the rounds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any


def build_parser(about: str | None, output: Path | None = None, *, data: bool = False) -> argparse.ArgumentParser:
    """Return a parser with the options of every benchmark: the result file, and the folder of the data sets (data)."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=output)
    if data:
        folder = os.environ.get("SCIPRISM_DATA")
        parser.add_argument("--data", type=Path, default=folder, required=not folder, help="or SCIPRISM_DATA")
    return parser


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines, compressed or not."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
"""Seconds that pass; or that this process computes, on all cores: other programs disturb those less."""


def interleave(
    contenders: Mapping[str, Callable[[], object]], rounds: int, clock: str = "wall", *, warm: bool = True
) -> dict[str, list[float]]:
    """Return each contender's seconds, one per round, after one that does not count (warm). clock: of `CLOCKS`."""
    now = CLOCKS[clock]
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + warm):
        for name, run in contenders.items():
            start = now()
            run()
            if number >= warm:
                seconds[name].append(now() - start)
    return seconds


def ratio(peer: Sequence[float], ours: Sequence[float]) -> dict[str, float]:
    """Return how many times faster we are, round by round: median, min and max."""
    each = [p / o for p, o in zip(peer, ours, strict=True)]
    return {
        "median": round(statistics.median(each), 3),
        "min": round(min(each), 3),
        "max": round(max(each), 3),
    }


def format_ratio(found: Mapping[str, float]) -> str:
    """Return a ratio as "2.50x (2.40 to 2.60)": median, min and max."""
    return f"{found['median']:.2f}x ({found['min']:.2f} to {found['max']:.2f})"


def peak_memory_mb() -> int:
    """Return the largest resident memory of this process so far; pages of mapped files count."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def read_memory(kind: str, process: int | str = "self") -> float:
    """Return a kind of memory of a process in MB: VmHWM (peak, mapped files too), RssAnon, RssFile; 0 if it ended.

    VmHWM is without the peak of the process that started this one, which `peak_memory_mb` may have.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return round(next((int(line.split()[1]) for line in lines if line.startswith(kind)), 0) / 1024)


def processor_seconds(pid: int) -> float:
    """Return the seconds that a process has had a processor: other programs disturb them less than the clock's."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_apart(task: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function returns in a separate process, whose memory is its own."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(task, arguments)


def provenance(packages: Sequence[str], **facts: Any) -> dict[str, Any]:
    """Return what a reader needs to run this again: command, versions, machine."""
    return {
        "command": " ".join(["python", *map(_hide_folder, sys.argv)]),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
        "processor": _processor(),
        **facts,
    }


def newest_instructions() -> str:
    """Return the newest of the processor's instructions that matter here: the name of a run in a result file."""
    return (_processor().get("features") or ["none"])[-1]


def _hide_folder(word: str) -> str:
    """Return a word of the command (also NAME=PATH) with the last part of an absolute path, in capitals."""
    name, mark, path = word.rpartition("=")
    return f"{name}{mark}{Path(path).name.upper()}" if Path(path).is_absolute() else word


def write_result(path: Path | None, result: Mapping[str, Any], run: str = "") -> None:
    """Write a result file, none without a path; a named run goes into the file of all runs of a benchmark."""
    if path is None:
        return
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
        facts["model"] = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
        flags = next((line for line in lines if line.startswith("flags")), "")
        facts["features"] = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_tile") if flag in flags.split()]
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        facts["gpu"] = torch.cuda.get_device_name()
    return facts
