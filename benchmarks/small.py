"""Papers per second of the shipped model against all-MiniLM-L6-v2, one format and all; and a cold start.

The same texts, truncated to the same length, at the same precision, in rounds of one process. Four formats of
MiniLM are four passes, as methods with a pass for each need; sentence-transformers computes in float32.
Run from the repository root:

    SCIPRISM_DATA=... python benchmarks/small.py -o results/small/speed.json
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from encode import MAX_LENGTH, load_contender, read_texts
from measurement import build_parser, format_ratio, interleave, provenance, ratio, write_result
from sciprism import Encoder

LARGE, PEER = "all-MiniLM-L6-v2", "sentence-transformers, batch 8 (best)"
ONE, EACH = f"{LARGE}, one format", f"{LARGE}, a pass for each format"
COLD = "from sciprism import Encoder; print(Encoder.load({!r}).encode(['one paper']).shape, flush=True)"


def contenders(model: str | None, texts: list[str], precision: str) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name."""
    small = Encoder.load(model, max_length=MAX_LENGTH, precision=precision, device="cpu")
    large = Encoder.load(LARGE, max_length=MAX_LENGTH, precision=precision, device="cpu")
    peer = load_contender(PEER)

    def four_passes() -> None:
        for _ in small.formats:
            large.encode(texts)

    return {
        ONE: lambda: large.encode(texts),
        EACH: four_passes,
        "one format": lambda: small.encode(texts),
        "all formats": lambda: small.encode_all(texts),
        PEER: lambda: peer(texts),
    }


def cold_starts(model: str | None, times: int) -> list[float]:
    """Return the seconds from the start of fresh processes until a model is loaded and a paper encoded."""
    found = []
    for _ in range(times + 1):
        began = time.perf_counter()
        with subprocess.Popen([sys.executable, "-c", COLD.format(model)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline().startswith(b"(1, ")
            found.append(round(time.perf_counter() - began, 3))
    return found[1:]  # the first one reads the files from disk


def main() -> None:
    parser = build_parser(__doc__, data=True)
    parser.add_argument("--model", help="folder or name; the default model otherwise")
    parser.add_argument("--papers", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--run", default="latest", help="the name of this run in the file")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    texts = read_texts(args.data, args.papers)
    seconds = interleave(contenders(args.model, texts, args.precision), args.rounds)
    times = {
        "one format": ratio(seconds[ONE], seconds["one format"]),
        "all formats": ratio(seconds[EACH], seconds["all formats"]),
        "all formats against one": ratio(seconds["all formats"], seconds["one format"]),
        "one format, sentence-transformers": ratio(seconds[PEER], seconds["one format"]),
    }
    for name, found in times.items():
        print(f"{name}: {format_ratio(found)}")
    cold = cold_starts(args.model, args.rounds)
    print(f"cold start: {statistics.median(cold):.2f} s ({min(cold):.2f} to {max(cold):.2f})")
    rates = {name: round(len(texts) / statistics.median(took), 1) for name, took in seconds.items()}
    facts = {"papers": len(texts), "tokens": MAX_LENGTH, "precision": args.precision}
    facts |= {"threads": args.threads, "rounds": args.rounds, "papers_per_second": rates, "times": times}
    packages = ["torch", "sentence-transformers", "tokenizers", "numpy"]
    write_result(args.output, provenance(packages, **facts, cold_start_seconds=cold), args.run)


if __name__ == "__main__":
    main()
