"""What the host does for each paper while an accelerator encodes, with a stand-in for the accelerator.

The stand-in computes nothing: a batch takes it a fixed time a token, one batch after the other, while the host goes on
as with a real one. It starts some small operators, which pass on Python's lock as launches do, and awaits the batch
before. All else is the package's own: items, texts, token ids, packed batches, results in order. Copies to a device and
its driver are missing. One title is encoded by the CPU. Run from the repository root:

    SCIPRISM_DATA=... python benchmarks/host.py --before OTHER_CHECKOUT/src -o results/host.json
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

import sciprism
from measurement import CLOCKS, build_parser, format_ratio, peak_memory_mb, provenance, ratio, write_result
from sciprism import Encoder, Paper
from sciprism.encoders import streaming
from sciprism.encoders.packing import PackedBatch, pack, token_batches
from sciprism.encoders.streaming import CUDA_BUDGET, CUDA_WINDOW, read_inputs, read_windows
from sciprism.store.embed import embed

DEVICE = torch.device("cuda")
FIELDS = ("title", "abstract")
COMPARED = {"us", "host_us", "host_processor_us", "peak_mb", "all", "items and texts", "token ids", "packing", "encode"}
LAUNCHES = 80  # of a batch, as on an H200
Row = dict[str, Any]


class StandIn:
    """An accelerator that returns zeros after `LAUNCHES` small operators; a batch takes it a fixed time a token."""

    def __init__(self, encoder: Encoder, tokens_per_second: float) -> None:
        self.encoder, self.rate = encoder, tokens_per_second
        self.number, self.ready, self.seconds = torch.zeros(1), 0.0, 0.0

    def vectors(self, batch: PackedBatch, routes: Sequence[str] = ()) -> torch.Tensor:
        """Return zeros when the batch before is ready, as `LateVectors` awaits it."""
        for _ in range(LAUNCHES):
            self.number.add_(1)
        self.wait()
        seconds = len(batch.ids) / self.rate
        self.ready, self.seconds = time.perf_counter() + seconds, self.seconds + seconds
        return torch.zeros(len(batch.lengths), *[len(routes)] * bool(routes), self.encoder.dim)

    def wait(self) -> None:
        """Sleep until the last batch is ready."""
        if (left := self.ready - time.perf_counter()) > 0:
            time.sleep(left)

    @contextmanager
    def use(self, rate: float) -> Iterator[None]:
        """Let the encoder compute by the stand-in, of this rate, as on a GPU."""
        self.rate, self.seconds = rate, 0.0
        with ExitStack() as stack:
            stack.enter_context(patch.object(streaming, "pack", lambda *args, device: pack(*args)))
            stack.enter_context(patch.object(self.encoder, "device", DEVICE))
            for name in ("vectors", "vectors_by_route"):
                stack.enter_context(patch.object(self.encoder, name, self.vectors))
            yield


def time_run(run: Callable[[], object], clock: str = "wall") -> float:
    """Return the seconds of a function."""
    start = CLOCKS[clock]()
    run()
    return CLOCKS[clock]() - start


def measure_rate(device: StandIn, run: Callable[[], object], count: int, rate: float) -> Row:
    """Return the time of both, of the host and the stand-in alone, and the share of the shorter that is hidden."""

    def encode() -> None:
        run()
        device.wait()

    with device.use(float("inf")):
        processor = time.process_time()
        host = time_run(encode)
        processor = time.process_time() - processor
    with device.use(rate):
        both = time_run(encode)
    alone = device.seconds
    return {
        "papers_per_second": count / both,
        "us": 1e6 * both / count,
        "host_us": 1e6 * host / count,
        "device_us": 1e6 * alone / count,
        "overlap": (host + alone - both) / min(host, alone),
        "host_processor_us": 1e6 * processor / count,
    }


def measure_parts(device: StandIn, papers: Sequence[Paper | str]) -> Row:
    """Return the processor's microseconds a paper of the parts of the host's work, in one thread."""
    encoder, found = device.encoder, {}
    template = encoder.settings.template
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # read at each call

    def measure(name: str, run: Callable[[], object]) -> None:
        found[name] = 1e6 * time_run(run, "processor") / len(papers)

    def read() -> list[list[str]]:
        return list(read_windows(read_inputs(papers).items, template, "paper", FIELDS, DEVICE))

    def tokenize() -> list[Any]:
        return list(streaming.tokenize_windows(encoder.tokenize, windows, DEVICE, 1))

    def divide() -> list[list[Any]]:
        batches = [token_batches([len(ids) for ids in window], CUDA_BUDGET) for window in sequences]
        return [[window[i] for i in batch] for window, found in zip(sequences, batches, strict=True) for batch in found]

    windows = read()
    measure("items and texts", read)
    measure("token ids", tokenize)
    sequences = tokenize()
    measure("batches", divide)
    batches = divide()
    measure("packing", lambda: [pack(batch) for batch in batches])
    with device.use(float("inf")):
        measure("all", lambda: encoder.encode(papers))
    del os.environ["TOKENIZERS_PARALLELISM"]
    found["rest"] = found["all"] - sum(us for name, us in found.items() if name != "all")
    return found


def measure_embed(device: StandIn, papers: list[Paper], rate: float) -> Row:
    """Return the rates of `embed` into a new collection."""
    with tempfile.TemporaryDirectory() as folder:
        new = (Path(folder) / str(number) for number in range(2))
        return measure_rate(device, lambda: embed(papers, device.encoder, next(new)), len(papers), rate)


def measure_one(encoder: Encoder, titles: list[str]) -> Row:
    """Return the milliseconds of one title at a time on the CPU, and of its computation alone."""
    seconds: dict[str, list[float]] = {"encode": [], "tokenize": [], "vectors": []}
    for title in titles:
        start = time.perf_counter()
        encoder.encode(title)
        seconds["encode"].append(time.perf_counter() - start)
        start = time.perf_counter()
        ids = encoder.tokenize([title])
        seconds["tokenize"].append(time.perf_counter() - start)
        with torch.inference_mode():
            start = time.perf_counter()
            encoder.vectors(pack(ids, encoder.route()))
            seconds["vectors"].append(time.perf_counter() - start)
    return {name: 1e3 * statistics.median(each[len(each) // 4 :]) for name, each in seconds.items()}


def read_papers(data: Path, count: int) -> list[Paper]:
    """Return papers with title and abstract of the first file of conference_papers."""
    with gzip.open(data / "conference_papers" / "papers-0.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if row["title"] and row["abstract"]]
    return [Paper.from_json(rows[n % len(rows)] | {"id": str(n)}) for n in range(count)]


def measure_all(data: Path, count: int, rate: float) -> dict[str, Row]:
    """Return all rows of this checkout; the memory is that of encoding papers."""
    torch.set_num_threads(1)
    encoder = Encoder(device="cpu")
    papers = read_papers(data, count)
    dicts = [{"title": paper.title, "abstract": paper.abstract} for paper in papers]
    titles = [paper.title for paper in papers]
    device = StandIn(encoder, rate)
    with device.use(float("inf")):
        encoder.encode(papers[:CUDA_WINDOW])
    rows = {"papers": measure_rate(device, lambda: encoder.encode(dicts), count, rate) | {"peak_mb": peak_memory_mb()}}
    rows["titles"] = measure_rate(device, lambda: encoder.encode(titles), count, 4 * rate)
    rows["embed"] = measure_embed(device, papers, rate)
    rows["parts, papers, us"] = measure_parts(device, papers)
    rows["parts, dicts, us"] = measure_parts(device, dicts)
    rows["one title, ms"] = measure_one(encoder, titles[:200])
    torch.set_num_threads(2)
    rows["computed by the CPU"] = {"us": 1e6 * time_run(lambda: encoder.encode(papers[:256])) / 256}
    return rows


def run_alone(source: Path, args: argparse.Namespace) -> dict[str, Row]:
    """Return the rows of a checkout, by its folder `src`, in a separate process."""
    words = [sys.executable, __file__, "--alone", "--data", str(args.data), "--papers", str(args.papers)]
    words += ["--tokens-per-second", str(args.tokens_per_second)]
    environment = os.environ | {"PYTHONPATH": str(source)}
    rows: dict[str, Row] = json.loads(subprocess.run(words, env=environment, check=True, capture_output=True).stdout)
    return rows


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("SCIPRISM_DATA"))
    parser.add_argument("--before", type=Path, help="folder src of another checkout, whose turn comes in each round")
    parser.add_argument("--papers", type=int, default=2 * CUDA_WINDOW)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tokens-per-second", type=float, default=600_000, help="of the stand-in; of titles 4 times")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        print(json.dumps(measure_all(args.data, args.papers, args.tokens_per_second)))
        return
    sources = {"before": args.before} if args.before else {}
    sources["after"] = Path(sciprism.__file__).parent.parent
    found: dict[str, list[dict[str, Row]]] = {name: [] for name in sources}
    for _ in range(args.rounds):
        for name, source in sources.items():
            found[name].append(run_alone(source, args))
    runs = {name: _take_medians(rows) for name, rows in found.items()}
    for name, rows in runs.items():
        for row, values in rows.items():
            print(f"{name:8}{row:20} {json.dumps(values)}")
    times = {
        row: {key: ratio(*([each[row][key] for each in found[name]] for name in sources)) for key in values}
        for row, values in ((row, COMPARED & values.keys()) for row, values in runs["after"].items() if args.before)
    }
    for row, values in times.items():
        print(f"{row:28} before / after", *(f"{key} {format_ratio(found)}" for key, found in sorted(values.items())))
    facts = {"papers": args.papers, "rounds": args.rounds, "tokens_per_second": args.tokens_per_second}
    write_result(
        args.output,
        provenance(("torch", "tokenizers", "numpy"), **facts, launches=LAUNCHES, runs=runs, before_by_after=times),
    )


def _take_medians(rounds: list[dict[str, Row]]) -> dict[str, Row]:
    return {
        row: {key: round(statistics.median(each[row][key] for each in rounds), 3) for key in values}
        for row, values in rounds[0].items()
    }


if __name__ == "__main__":
    main()
