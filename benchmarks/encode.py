"""Papers per second and peak memory of the encoder against sentence-transformers.

Same model, same real texts, same maximum length, in rounds of one run. The share of the machine's own limit is that of
the floating-point operations of the encoder's products in the rate of one large product, which takes its turn in the
rounds too. `--instructions avx2` keeps all libraries from newer instructions: a processor without them. `--modernbert`
encodes with ModernBERT-base's shape and random weights; `--joined 16` joins papers to one long text. Run from the
repository root:

    SCIPRISM_DATA=... python benchmarks/encode.py -o results/encode.json
    SCIPRISM_DATA=... python benchmarks/encode.py --instructions avx2 -o results/encode.json
    SCIPRISM_DATA=... python benchmarks/encode.py --modernbert --papers 24 --rounds 3 -o results/encode-modernbert.json
    SCIPRISM_DATA=... python benchmarks/encode.py --modernbert --papers 2 --joined 24 --max-length 4096 --threads 2 \\
        --rounds 3 -o results/encode-modernbert-long.json
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from measurement import (
    CLOCKS,
    build_parser,
    format_ratio,
    interleave,
    newest_instructions,
    provenance,
    ratio,
    read_json_lines,
    read_memory,
    write_result,
)

MINILM = "all-MiniLM-L6-v2"
PEERS = {"sentence-transformers, batch 32 (default)": 32, "sentence-transformers, batch 8 (best)": 8}
OURS = {"sciprism float32": "float32", "sciprism bfloat16": "bfloat16"}
DEFAULT_PEER = next(iter(PEERS))
LIMITS = {"avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}}
"""Instructions -> environment in which torch, oneDNN and MKL use no newer ones."""
SIDE, PRODUCTS = 1536, 8
"""Rows and columns of the large product, and how many of them a round has."""


def read_texts(data: Path, count: int) -> list[str]:
    """Return `title abstract` of papers spread evenly over the first file of conference_papers."""
    rows = read_json_lines(data / "conference_papers" / "papers-0.jsonl.gz")
    return [f"{row['title']} {row['abstract']}" for row in rows[:: len(rows) // count][:count]]


def make_modernbert(folder: Path, **settings: int) -> Path:
    """Write a model of ModernBERT-base's shape, or of another one, with random weights; return its folder."""
    from transformers import ModernBertConfig, ModernBertModel

    from sciprism import Encoder
    from sciprism.encoders.checkpoints.names import resolve

    torch.manual_seed(0)
    special = {"pad_token_id": 0, "cls_token_id": 101, "sep_token_id": 102, "bos_token_id": 101, "eos_token_id": 102}
    ModernBertModel(ModernBertConfig(**special, **settings)).save_pretrained(folder / "plain")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(resolve(MINILM)[1] / name, folder / "plain")
    Encoder.load(folder / "plain", pooling="mean", max_length=8192, device="cpu").save(folder / "modernbert")
    return folder / "modernbert"


def load_contender(name: str, args: argparse.Namespace) -> Callable[[list[str]], np.ndarray]:
    """Return the function of the named contender that encodes a list of texts."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    if name in PEERS:
        from sentence_transformers import SentenceTransformer

        from sciprism.encoders.checkpoints.names import resolve

        peer = SentenceTransformer(str(resolve(str(args.model))[1]), device="cpu")
        peer.max_seq_length = args.max_length
        return lambda texts: peer.encode(texts, batch_size=PEERS[name], show_progress_bar=False)
    from sciprism import Encoder

    encoder = Encoder.load(args.model, precision=OURS[name], max_length=args.max_length, device="cpu")
    return encoder.encode


def load_product(name: str) -> Callable[[], object]:
    """Return the function that multiplies two large matrices in a contender's precision, as its layers do."""
    from sciprism.encoders.layers import PackedLinear
    from sciprism.encoders.settings import PRECISIONS

    dtype = PRECISIONS[OURS[name]]
    layer, left = PackedLinear(torch.ones(SIDE, SIDE), None, "none", dtype), torch.ones(SIDE, SIDE, dtype=dtype)

    @torch.inference_mode()
    def multiply() -> None:
        for _ in range(PRODUCTS):
            layer(left)

    return multiply


def agreement(ours: np.ndarray, reference: np.ndarray) -> dict[str, float]:
    """Return the smallest cosine to the reference and the mean overlap of the ten nearest papers."""
    ours, reference = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (ours, reference))

    def nearest(vectors: np.ndarray) -> np.ndarray:
        scores = vectors @ vectors.T
        np.fill_diagonal(scores, -np.inf)
        return np.argsort(-scores, axis=1)[:, :10]

    shared = [len(set(a) & set(b)) / len(a) for a, b in zip(nearest(ours), nearest(reference), strict=True)]
    return {"min_cosine": float((ours * reference).sum(1).min()), "top10_overlap": float(np.mean(shared))}


def peak_memory(name: str, args: argparse.Namespace) -> float:
    """Return the peak resident memory in MB of a fresh process that loads `name` and encodes the texts."""
    command = [sys.executable, __file__, "--alone", name, "--data", str(args.data), "--papers", str(args.papers)]
    command += ["--model", str(args.model), "--max-length", str(args.max_length), "--joined", str(args.joined)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(texts: list[str], threads: int, args: argparse.Namespace) -> dict[str, Any]:
    """Time all contenders with so many threads; report rates, ratios and agreement."""
    from sciprism import Encoder
    from sciprism.encoders.speed import count_operations

    torch.set_num_threads(threads)
    runs = {name: load_contender(name, args) for name in (*PEERS, *OURS)}
    vectors: dict[str, np.ndarray] = {}

    def keep(name: str) -> Callable[[], None]:
        return lambda: vectors.update({name: runs[name](texts)})

    products = {f"product of {name}": load_product(name) for name in OURS}
    seconds = interleave({name: keep(name) for name in runs} | products, args.rounds, args.clock)
    counted = Encoder.load(args.model, max_length=args.max_length, device="cpu")
    operations, rows = count_operations(counted, texts), {}
    for name in runs:
        times = seconds[name]
        rows[name] = {
            "papers_per_second": round(len(texts) / float(np.median(times)), 1),
            "seconds": [round(t, 3) for t in times],
        }
        if name in OURS:
            rows[name] |= {f"times {peer}": ratio(seconds[peer], times) for peer in PEERS}
            rows[name] |= agreement(vectors[name], vectors[DEFAULT_PEER])
            limit = [2 * SIDE**3 * PRODUCTS / t for t in seconds[f"product of {name}"]]
            share = float(np.median([operations / t for t in times]) / np.median(limit))
            if share <= 1:  # without instructions for bfloat16 the plain product is no limit
                rate = round(float(np.median(limit)) / 1e9, 1)
                rows[name] |= {"product_gflops": rate, "share_of_product_rate": round(share, 3)}
    return rows


def main() -> None:
    parser = build_parser(__doc__, data=True)
    parser.add_argument("--papers", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--instructions", choices=list(LIMITS), help="use no newer ones")
    parser.add_argument(
        "--clock", choices=list(CLOCKS), default="wall", help="processor: for one thread, on busy cores"
    )
    parser.add_argument("--model", default=MINILM)
    parser.add_argument("--modernbert", action="store_true", help="ModernBERT-base's shape in place of --model")
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--joined", type=int, default=1, help="papers in a text")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    args = parser.parse_args()
    limits = LIMITS.get(args.instructions, {})
    if not limits.items() <= os.environ.items():  # read when the libraries start
        raise SystemExit(subprocess.run([sys.executable, *sys.argv], env=os.environ | limits).returncode)
    papers = read_texts(args.data, args.papers * args.joined)
    texts = [" ".join(papers[first : first + args.joined]) for first in range(0, len(papers), args.joined)]
    if args.alone:
        load_contender(args.alone, args)(texts)
        print(read_memory("VmHWM"))
        return
    if args.modernbert:
        args.model = make_modernbert(Path(tempfile.mkdtemp()))
    result = provenance(
        ["torch", "sentence-transformers", "transformers", "tokenizers", "numpy"],
        model=args.model if args.model == MINILM else Path(args.model).name,
        max_length=args.max_length,
        papers_in_a_text=args.joined,
        texts_sha256=hashlib.sha256("\n".join(texts).encode()).hexdigest(),
        papers=len(texts),
        instructions=args.instructions or "all",
        rounds=args.rounds,
        clock=args.clock,
        threads={str(n): measure(texts, n, args) for n in args.threads},
        peak_memory_mb={name: peak_memory(name, args) for name in (*PEERS, *OURS)},
    )
    for threads, rows in result["threads"].items():
        for name, row in rows.items():
            faster = (format_ratio(row[f"times {peer}"]) for peer in PEERS if f"times {peer}" in row)
            print(f"{threads} thread(s)  {name:<42} {row['papers_per_second']:>6.1f} papers/s ", *faster)
    write_result(args.output, result, args.instructions or newest_instructions())


if __name__ == "__main__":
    main()
