"""Speed on a GPU: encoding and training against sentence-transformers, and the share of the time that it computes.

Speeds need no trained weights: models of the shapes of MiniLM-L6 and BERT-base are random, with the vocabulary of
sciprism-small, and both sides open the same folder. Each row is written when it is measured, so a run that is cut
off retains the others. All take three minutes on an H200. Run from the repository root:

    python benchmarks/cuda.py PAPERS.jsonl.gz -o results/cuda.json
    python benchmarks/cuda.py --device cpu --tiny

PAPERS.jsonl.gz: lines with title and abstract; by default the landmarks of `examples`, repeated.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from encode import make_modernbert
from measurement import build_parser, interleave, provenance, ratio, read_json_lines, write_result
from sciprism import Encoder
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.new_models import create_encoder
from sciprism.encoders.settings import PRECISIONS
from sciprism.encoders.speed import count_operations
from sciprism.files import write_lines

LANDMARKS = Path(__file__).parent.parent / "examples" / "landmarks" / "landmarks.jsonl"
SHAPES = {
    "minilm": {"layers": 6, "hidden": 384, "heads": 12, "intermediate": 1536},
    "bert": {"layers": 12, "hidden": 768, "heads": 12, "intermediate": 3072},
}
TINY = {"layers": 2, "hidden": 32, "heads": 2, "intermediate": 64}
TINY_MODERN = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64}
MAX_LENGTH, LONG = 256, 4096
PEER = "sentence-transformers"
PEER_BATCHES = (64, 256)
LIBRARIES = ("torch", "sentence-transformers", "transformers", "tokenizers", "numpy")
Row = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """What rows are measured with: the device, papers (title, abstract), a folder for random models."""

    device: torch.device
    papers: list[dict[str, str]]
    folder: Path
    tiny: bool
    rounds: int

    def take(self, count: int) -> list[dict[str, str]]:
        """Return so many papers, from the start again where there are fewer."""
        count = 24 if self.tiny else count
        return [self.papers[i % len(self.papers)] for i in range(count)]

    def shape(self, name: str) -> Path:
        """Return the folder of a random model, written on first use."""
        folder = self.folder / name
        if not folder.exists() and name == "modernbert":
            make_modernbert(self.folder, **TINY_MODERN if self.tiny else {})
        elif not folder.exists():
            shape = (TINY if self.tiny else SHAPES[name]) | {"positions": 512, "types": 2, "norm_eps": 1e-12}
            tokenizer = resolve(None)[1] / "tokenizer.json"
            create_encoder(shape, tokenizer, max_length=MAX_LENGTH, distance="cosine", device="cpu").save(folder)
        return folder

    def encoder(self, name: str | None, precision: str) -> Encoder:
        """Return a model on the device: one of the shapes, or sciprism-small."""
        return Encoder(self.shape(name) if name else None, precision=precision, device=str(self.device))

    def product_rate(self, precision: str) -> float:
        """Return the floating-point operations a second of a large product."""
        side, dtype = 64 if self.tiny else 8192, PRECISIONS[precision]
        left, right = (torch.randn(side, side, device=self.device, dtype=dtype) for _ in range(2))
        return 2 * side**3 / statistics.median([self.time(lambda: left @ right) for _ in range(8)][2:])

    def time(self, run: Callable[[], object]) -> float:
        """Return the seconds of a function, with all that it starts on the device."""
        self.wait()
        start = time.perf_counter()
        run()
        self.wait()
        return time.perf_counter() - start

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def measure_busy(self, run: Callable[[], object]) -> float:
        """Return the seconds in which the device computes in a run, 0 for a CPU."""
        if self.device.type != "cuda":
            return 0.0
        self.wait()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
            run()
            self.wait()
        on_device = (e for e in profiler.events() or [] if e.device_type == torch.autograd.DeviceType.CUDA)
        busy = end = 0.0
        for start, stop in sorted((e.time_range.start, e.time_range.end) for e in on_device):
            busy, end = busy + max(0.0, stop - max(start, end)), max(end, stop)  # several streams overlap
        return busy / 1e6

    def measure(self, run: Callable[[], object], papers: int) -> Row:
        """Return the rate of timed runs over papers, and the device's share of the time."""
        run()
        seconds = [self.time(run) for _ in range(self.rounds)]
        return self.describe(run, papers, seconds)

    def describe(self, run: Callable[[], object], papers: int, seconds: list[float]) -> Row:
        wall = statistics.median(seconds)
        row = {"papers_per_second": round(papers / wall, 1), "seconds": [round(s, 4) for s in seconds]}
        return row | {"busy": round(self.measure_busy(run) / wall, 3)}


def compare_speed(bench: Bench, shape: str, precision: str, count: int, peer_count: int, joined: int = 1) -> Row:
    """Return rates of both sides for a shape, the device's share of the time, and its share of the product rate.

    joined: papers in a text, of which `LONG` tokens are read where there are several.
    """
    from sentence_transformers import SentenceTransformer

    papers = [f"{paper['title']} {paper['abstract']}" for paper in bench.take(count * joined)]
    texts = [" ".join(papers[first : first + joined]) for first in range(0, len(papers), joined)]
    few, encoder = texts[:peer_count], bench.encoder(shape, precision)
    peer = SentenceTransformer(str(bench.shape(shape)), device=str(bench.device))
    peer.max_seq_length = LONG if joined > 1 else MAX_LENGTH
    encoder.truncate_to(peer.max_seq_length)
    if precision == "bfloat16":
        peer.bfloat16()

    def run_peer(batch: int) -> object:
        return peer.encode(few, batch_size=batch, show_progress_bar=False)

    run_peer(64)
    best = min(PEER_BATCHES, key=lambda batch: bench.time(lambda: run_peer(batch)))
    runs = {"sciprism": lambda: encoder.encode(texts), PEER: lambda: run_peer(best)}
    seconds = interleave(runs, bench.rounds)
    row = bench.describe(runs["sciprism"], len(texts), seconds["sciprism"])
    rate, operations = bench.product_rate(precision), count_operations(encoder, texts)
    row |= {"product_tflops": round(rate / 1e12, 1)}
    row |= {"mfu": round(operations / statistics.median(seconds["sciprism"]) / rate, 4)}
    each = {name: [s / n for s in seconds[name]] for name, n in (("sciprism", len(texts)), (PEER, len(few)))}
    row |= {"peer_papers_per_second": round(1 / statistics.median(each[PEER]), 1), "peer_batch": best}
    return row | {"times_peer": ratio(each[PEER], each["sciprism"])}


def encode_formats(bench: Bench) -> Row:
    """Time the four formats of sciprism-small in one pass."""
    encoder, papers = bench.encoder(None, "bfloat16"), bench.take(16_384)
    return bench.measure(lambda: encoder.encode_all(papers), len(papers))


def encode_titles(bench: Bench) -> Row:
    """Time titles alone, one format of sciprism-small."""
    encoder, titles = bench.encoder(None, "bfloat16"), [paper["title"] for paper in bench.take(65_536)]
    return bench.measure(lambda: encoder.encode(titles), len(titles))


def train(bench: Bench, shape: str, pairs: int, precision: str = "bfloat16") -> Row:
    """Train titles against abstracts with the model's dropout: our defaults, the peer's trainer, a plain loop."""
    from sciprism.training.recipe import SourceSpec
    from sciprism.training.sources import ExampleSource
    from train import train_peer, train_sciprism

    steps = 3 if bench.tiny else 20
    pairs = 4 if bench.tiny else pairs
    args = argparse.Namespace(model=bench.shape(shape), batch=pairs, steps=steps, max_length=MAX_LENGTH, tokens=None)
    args.device, args.precision, args.clock = str(bench.device), precision, "wall"
    papers = [paper for paper in bench.take(pairs * steps) if paper["title"] and paper["abstract"]]
    rows = [(paper["title"], paper["abstract"]) for paper in papers]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pairs.jsonl"
        write_lines(file, [json.dumps({"question": t, "positive_ctxs": [{"title": "", "text": a}]}) for t, a in rows])
        source = ExampleSource(SourceSpec(file=file, format="proximity"))
        seconds = {
            "sciprism": train_sciprism(args, source, precision, None)[0],
            "sciprism, no dropout": train_sciprism(args, source, precision, 0.0)[0],
            f"{PEER}, trainer": train_peer(args, rows, None)[0],
            f"{PEER}, plain loop": train_plain(bench, args, rows),
        }
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
    "MiniLM shape, bfloat16": lambda bench: compare_speed(bench, "minilm", "bfloat16", 32_768, 4_096),
    "BERT-base shape, bfloat16": lambda bench: compare_speed(bench, "bert", "bfloat16", 16_384, 4_096),
    "BERT-base shape, float32": lambda bench: compare_speed(bench, "bert", "float32", 2_048, 1_024),
    "ModernBERT-base shape, bfloat16": lambda bench: compare_speed(bench, "modernbert", "bfloat16", 8_192, 4_096),
    "ModernBERT-base shape, 4,096 tokens, bfloat16": lambda bench: compare_speed(
        bench, "modernbert", "bfloat16", 256, 256, joined=32
    ),
    "sciprism-small, four formats, bfloat16": encode_formats,
    "sciprism-small, titles, bfloat16": encode_titles,
    "training BERT-base shape, 64 pairs, bfloat16": lambda bench: train(bench, "bert", 64),
    "training MiniLM shape, 32 pairs, bfloat16": lambda bench: train(bench, "minilm", 32),
}


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("papers", type=Path, nargs="?", default=LANDMARKS)
    parser.add_argument("--rows", nargs="+", default=[""], help="parts of names of rows; by default all")
    parser.add_argument("--run", default="after", help="name of the run in the result file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="small models and few papers, to try each row")
    args = parser.parse_args()
    papers = [row for row in read_json_lines(args.papers) if row.get("title") and row.get("abstract")]
    rows: dict[str, Row] = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(torch.device(args.device), papers, Path(folder), args.tiny, 1 if args.tiny else args.rounds)
        for name, measure in ROWS.items():
            if any(part in name for part in args.rows):
                try:
                    rows[name] = measure(bench)
                except Exception as error:  # noqa: BLE001 - a row that fails leaves the others: time on a GPU is scarce
                    traceback.print_exc()
                    rows[name] = {"failed": f"{type(error).__name__}: {error}"}
                print(name, json.dumps(rows[name]), flush=True)
                facts = {"tf32": torch.backends.cuda.matmul.allow_tf32, "papers": len(papers), "rounds": args.rounds}
                write_result(args.output, provenance(LIBRARIES, **facts, rows=rows), run=args.run)


if __name__ == "__main__":
    main()
