"""Speed on a GPU: encoding and training against sentence-transformers, busy share, agreement with the CPU.

Speeds need no trained weights: models of the shapes of MiniLM-L6 and BERT-base are random, with the vocabulary of
sciprism-small, and both sides open the same folder. Each row is written when it is measured, so a run that is cut
off retains the others. All take three minutes on an H200 (results/cuda.json).
Run from the repository root:

    python benchmarks/cuda.py PAPERS.jsonl.gz --run before -o results/cuda.json
    python benchmarks/cuda.py --device cpu --tiny

PAPERS.jsonl.gz: lines with title and abstract; by default the landmarks of `examples`, repeated.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from encode import agreement
from measurement import build_parser, format_ratio, interleave, provenance, ratio, write_result
from sciprism import Encoder
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.new_models import create_encoder

ROOT = Path(__file__).resolve().parent.parent
SHAPES = {
    "minilm": {"layers": 6, "hidden": 384, "heads": 12, "intermediate": 1536},
    "bert": {"layers": 12, "hidden": 768, "heads": 12, "intermediate": 3072},
}
TINY = {"layers": 2, "hidden": 32, "heads": 2, "intermediate": 64}
MAX_LENGTH = 256
PEER = "sentence-transformers"
PEER_BATCHES = (64, 256)
LIBRARIES = ("torch", "sentence-transformers", "transformers", "tokenizers", "numpy")
Row = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """What rows are measured with.

    papers: dicts with title and abstract. folder: of the random models. peer: whether the peer is timed too.
    """

    device: torch.device
    papers: list[dict[str, str]]
    folder: Path
    tiny: bool
    rounds: int
    peer: bool = True

    def take(self, count: int) -> list[dict[str, str]]:
        """Return so many papers, from the start again where there are fewer."""
        count = 24 if self.tiny else count
        return [self.papers[i % len(self.papers)] for i in range(count)]

    def shape(self, name: str) -> Path:
        """Return the folder of a random model, written on first use."""
        folder = self.folder / name
        if not folder.exists():
            shape = (TINY if self.tiny else SHAPES[name]) | {"positions": 512, "types": 2, "norm_eps": 1e-12}
            tokenizer = resolve(None)[1] / "tokenizer.json"
            model = create_encoder(shape, tokenizer, max_length=MAX_LENGTH, distance="cosine", device="cpu")
            model.save(folder)
        return folder

    def encoder(self, name: str | None, precision: str) -> Encoder:
        """Return a model on the device: one of the shapes, or sciprism-small."""
        return Encoder(self.shape(name) if name else None, precision=precision, device=str(self.device))

    @cached_property
    def product_rate(self) -> dict[str, float]:
        """Return the floating-point operations a second of a large product, by precision."""
        side, rates = 64 if self.tiny else 8192, {}
        for name, dtype in (("bfloat16", torch.bfloat16), ("float32", torch.float32)):
            left, right = (torch.randn(side, side, device=self.device, dtype=dtype) for _ in range(2))
            seconds = [self.time(lambda left=left, right=right: left @ right) for _ in range(8)]
            rates[name] = 2 * side**3 / statistics.median(seconds[2:])
        return rates

    def time(self, run: Callable[[], object]) -> float:
        """Return the seconds of a function, with all that it starts on the device."""
        self.wait()
        start = time.perf_counter()
        run()
        self.wait()
        return time.perf_counter() - start

    def wait(self) -> None:
        """Wait for the device."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def profile(self, run: Callable[[], object]) -> Row:
        """Return what the device does in a run: seconds of its kernels, and how often the host starts and awaits it."""
        if self.device.type != "cuda":
            run()
            return {}
        activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
        self.wait()
        with torch.profiler.profile(activities=activities) as profiler:
            run()
            self.wait()
        events = profiler.events() or []
        on_device = [event for event in events if event.device_type == torch.autograd.DeviceType.CUDA]
        spans = sorted((e.time_range.start, e.time_range.end) for e in on_device)
        busy = end = 0.0
        for start, stop in spans:  # of several streams, which overlap
            busy, end = busy + max(0.0, stop - max(start, end)), max(end, stop)
        kernels: Counter[str] = Counter()
        for event in on_device:
            kernels[event.name[:90]] += event.time_range.end - event.time_range.start
        calls = Counter(event.name for event in events if event.name.startswith(("cuda", "cuLaunch")))
        total = sum(kernels.values()) or 1
        return {
            "device_seconds": busy / 1e6,
            "launches": sum(n for name, n in calls.items() if "Launch" in name),
            "waits": sum(n for name, n in calls.items() if "Synchronize" in name),
            "largest_shares": {name: round(us / total, 3) for name, us in kernels.most_common(12)},
        }


def count_operations(encoder: Encoder, texts: list[str]) -> float:
    """Return the floating-point operations of the products that encode the texts, without padding."""
    config = encoder.model.config
    lengths = np.array([len(tokens) for tokens in encoder.tokenize(texts)], float)
    weights = config.layers * (4 * config.hidden**2 + 2 * config.hidden * config.intermediate)
    return float(2 * weights * lengths.sum() + config.layers * 4 * config.hidden * (lengths**2).sum())


def join(papers: list[dict[str, str]]) -> list[str]:
    """Return title and abstract as one text each."""
    return [f"{paper['title']} {paper['abstract']}" for paper in papers]


def compare_speed(bench: Bench, shape: str, precision: str, count: int, peer_count: int) -> Row:
    """Return rates of both sides for a shape, the device's share of the time, and its share of the product rate."""
    texts = join(bench.take(count))
    encoder = bench.encoder(shape, precision)
    if not bench.peer:
        encoder.encode(texts)
        seconds = [bench.time(lambda: encoder.encode(texts)) for _ in range(bench.rounds)]
        return describe(bench, encoder, texts, seconds, precision)
    from sentence_transformers import SentenceTransformer

    few = texts[: min(peer_count, len(texts))]
    peer = SentenceTransformer(str(bench.shape(shape)), device=str(bench.device))
    peer.max_seq_length = MAX_LENGTH
    if precision == "bfloat16":
        peer.bfloat16()

    def run_peer(batch: int) -> object:
        return peer.encode(few, batch_size=batch, show_progress_bar=False)

    run_peer(64)
    best = min(PEER_BATCHES, key=lambda batch: bench.time(lambda: run_peer(batch)))
    runs = {"sciprism": lambda: encoder.encode(texts), PEER: lambda: run_peer(best)}
    by_name = interleave(runs, bench.rounds)
    row = describe(bench, encoder, texts, by_name["sciprism"], precision)
    per_text = {name: [s / n for s in by_name[name]] for name, n in (("sciprism", len(texts)), (PEER, len(few)))}
    row |= {"peer_papers_per_second": round(1 / statistics.median(per_text[PEER]), 1), "peer_batch": best}
    return row | {"times_peer": ratio(per_text[PEER], per_text["sciprism"])}


def describe(bench: Bench, encoder: Encoder, texts: list[str], seconds: list[float], precision: str) -> Row:
    """Return the rate of timed runs of `encode` over the texts, and where the time goes."""
    wall, operations = statistics.median(seconds), count_operations(encoder, texts)
    seen = bench.profile(lambda: encoder.encode(texts))
    tokenizing = bench.time(lambda: encoder.tokenize(texts))
    rate = bench.product_rate[precision]
    row = {
        "papers_per_second": round(len(texts) / wall, 1),
        "seconds": [round(s, 4) for s in seconds],
        "tokenizer_papers_per_second": round(len(texts) / tokenizing, 1),
        "product_tflops": round(rate / 1e12, 1),
        "mfu": round(operations / wall / rate, 4),
    }
    if seen:
        row["busy"] = round(seen["device_seconds"] / wall, 3)
        row["device_papers_per_second"] = round(len(texts) / seen["device_seconds"], 1)
    return row | {key: value for key, value in seen.items() if key != "device_seconds"}


# ---- rows ----


def agree(bench: Bench) -> Row:
    """Compare sciprism-small on the device with the CPU in float32."""
    papers, row = bench.take(1000), {}
    reference = Encoder(device="cpu").encode(papers)
    for precision in ("float32", "bfloat16"):
        vectors = bench.encoder(None, precision).encode(papers)
        apart = np.abs(vectors - reference).max() / np.abs(reference).max()
        row[precision] = {"largest_difference": float(apart), **agreement(vectors, reference)}
    return row


def encode_formats(bench: Bench) -> Row:
    """Time the four formats of sciprism-small in one pass."""
    encoder, papers = bench.encoder(None, "bfloat16"), bench.take(16_384)
    encoder.encode_all(papers)
    seconds = [bench.time(lambda: encoder.encode_all(papers)) for _ in range(bench.rounds)]
    seen = bench.profile(lambda: encoder.encode_all(papers))
    wall = statistics.median(seconds)
    row: Row = {"papers_per_second": round(len(papers) / wall, 1), "seconds": [round(s, 4) for s in seconds]}
    return row | ({"busy": round(seen.pop("device_seconds") / wall, 3)} | seen if seen else {})


def encode_titles(bench: Bench) -> Row:
    """Time titles alone, one format of sciprism-small."""
    encoder, titles = bench.encoder(None, "bfloat16"), [paper["title"] for paper in bench.take(65_536)]
    encoder.encode(titles)
    seconds = [bench.time(lambda: encoder.encode(titles)) for _ in range(bench.rounds)]
    return describe(bench, encoder, titles, seconds, "bfloat16")


def encode_one(bench: Bench) -> Row:
    """Time one title at a time, of many titles, and of one title again and again."""
    encoder, titles = bench.encoder(None, "bfloat16"), [paper["title"] for paper in bench.take(400)]
    runs = {"many titles": titles[:200] + titles[200:], "one title": titles[:1] * len(titles)}
    row: Row = {}
    for name, texts in runs.items():
        seconds = [bench.time(lambda text=text: encoder.encode(text)) for text in texts]
        late = sorted(seconds[len(seconds) // 2 :])
        row[name] = {
            "median_ms": round(1e3 * statistics.median(late), 3),
            "p90_ms": round(1e3 * late[-len(late) // 10], 3),
        }
        row[name] |= {"first_ms": round(1e3 * seconds[0], 3), "slowest_later_ms": round(1e3 * max(seconds[1:]), 3)}
    seen = bench.profile(lambda: encoder.encode(titles[0]))
    return row | {key: value for key, value in seen.items() if key != "largest_shares"}


def train(bench: Bench, shape: str, pairs: int, precision: str = "bfloat16") -> Row:
    """Train titles against abstracts with the model's dropout: our defaults, the peer's trainer, a plain loop."""
    from sciprism.training.recipe import SourceSpec
    from sciprism.training.sources import ExampleSource
    from train import train_peer, train_sciprism

    steps = 3 if bench.tiny else 20
    pairs = 4 if bench.tiny else pairs
    args = argparse.Namespace(model=bench.shape(shape), batch=pairs, steps=steps, max_length=MAX_LENGTH, tokens=None)
    args.device, args.precision = str(bench.device), precision
    papers = [paper for paper in bench.take(pairs * steps) if paper["title"] and paper["abstract"]]
    rows = [(paper["title"], paper["abstract"]) for paper in papers]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pairs.jsonl"
        lines = [
            json.dumps({"question": t, "positive_ctxs": [{"title": "", "text": a}]}, ensure_ascii=False)
            for t, a in rows
        ]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        source = ExampleSource(SourceSpec(file=file, format="proximity"))
        seconds = {
            "sciprism": train_sciprism(args, source, precision, None)[0],
            "sciprism, no dropout": train_sciprism(args, source, precision, 0.0)[0],
        }
        if bench.peer:
            seconds[f"{PEER}, trainer"] = train_peer(args, rows, None)[0]
            seconds[f"{PEER}, plain loop"] = train_plain(bench, args, rows)
    return {"examples_per_second": {name: round(pairs / s, 1) for name, s in seconds.items()}, "steps": steps}


def train_plain(bench: Bench, args: argparse.Namespace, rows: list[tuple[str, str]]) -> float:
    """Return the seconds of a step of a plain loop over the peer's model, with fused AdamW."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(args.model), device=str(bench.device)).train()
    model.max_seq_length = MAX_LENGTH
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, fused=True)
    cast = torch.autocast(bench.device.type, torch.bfloat16) if args.precision == "bfloat16" else nullcontext()

    def vectors(texts: list[str]) -> torch.Tensor:
        features = {key: value.to(bench.device) for key, value in model.tokenize(texts).items() if hasattr(value, "to")}
        return torch.nn.functional.normalize(model(features)["sentence_embedding"].float(), dim=-1)

    def step(part: list[tuple[str, str]]) -> None:
        optimizer.zero_grad(set_to_none=True)
        with cast:
            scores = vectors([t for t, _ in part]) @ vectors([a for _, a in part]).T * 20
            loss = torch.nn.functional.cross_entropy(scores.float(), torch.arange(len(part), device=bench.device))
        loss.backward()
        optimizer.step()
        loss.item()

    parts = [rows[start : start + args.batch] for start in range(0, len(rows) - args.batch + 1, args.batch)]
    return statistics.mean([bench.time(lambda part=part: step(part)) for part in parts][1:])


ROWS: dict[str, Callable[[Bench], Row]] = {
    "sciprism-small, agreement with the CPU": agree,
    "MiniLM shape, bfloat16": lambda bench: compare_speed(bench, "minilm", "bfloat16", 32_768, 4_096),
    "BERT-base shape, bfloat16": lambda bench: compare_speed(bench, "bert", "bfloat16", 16_384, 4_096),
    "BERT-base shape, float32": lambda bench: compare_speed(bench, "bert", "float32", 2_048, 1_024),
    "sciprism-small, four formats, bfloat16": encode_formats,
    "sciprism-small, titles, bfloat16": encode_titles,
    "sciprism-small, one title": encode_one,
    "training BERT-base shape, 64 pairs, bfloat16": lambda bench: train(bench, "bert", 64),
    "training MiniLM shape, 32 pairs, bfloat16": lambda bench: train(bench, "minilm", 32),
}


def read_papers(path: Path | None) -> list[dict[str, str]]:
    """Return the papers with a title and an abstract; by default the landmarks."""
    path = path or ROOT / "examples" / "landmarks" / "landmarks.jsonl"
    reader = gzip.open if path.suffix == ".gz" else open
    with reader(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        {key: row[key] for key in ("title", "abstract")} for row in rows if row.get("title") and row.get("abstract")
    ]


def print_row(name: str, row: Mapping[str, Any]) -> None:
    """Print a row in a few words."""
    shown = {key: value for key, value in row.items() if key not in ("seconds", "largest_shares", "times_peer")}
    times = f"  {format_ratio(row['times_peer'])} the peer" if "times_peer" in row else ""
    print(f"{name}{times}\n    {json.dumps(shown)}", flush=True)


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("papers", type=Path, nargs="?")
    parser.add_argument("--rows", nargs="+", default=[""], help="parts of names of rows; by default all")
    parser.add_argument("--run", default="after", help="name of the run in the result file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peer", action="store_true", help="time this package alone")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="small models and few papers, to try each row")
    args = parser.parse_args()
    papers, began = read_papers(args.papers), time.perf_counter()
    rows: dict[str, Row] = {}
    with tempfile.TemporaryDirectory() as folder:
        rounds, device = 1 if args.tiny else args.rounds, torch.device(args.device)
        bench = Bench(device, papers, Path(folder), args.tiny, rounds, not args.no_peer)
        for name, measure in ROWS.items():
            if any(part in name for part in args.rows):
                start = time.perf_counter()
                try:
                    rows[name] = measure(bench)
                except Exception as error:  # noqa: BLE001 - a row that fails leaves the others: time on a GPU is scarce
                    traceback.print_exc()
                    rows[name] = {"failed": f"{type(error).__name__}: {error}"}
                rows[name]["row_seconds"] = round(time.perf_counter() - start, 1)
                print_row(name, rows[name])
                facts = {"tf32": torch.backends.cuda.matmul.allow_tf32, "papers": len(papers), "rounds": args.rounds}
                write_result(args.output, provenance(LIBRARIES, **facts, rows=rows), run=args.run)
    card = torch.cuda.get_device_name() if args.device != "cpu" else "cpu"
    print(f"{card}, torch {torch.__version__}, tf32 {torch.backends.cuda.matmul.allow_tf32}", end="; ")
    print(f"{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
