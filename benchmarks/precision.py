"""Papers per second in each precision against float32, and the agreement of vectors, in rounds of one run.

The cost without instructions is measured in processes whose oneDNN may use older instructions only
(ONEDNN_MAX_CPU_ISA). Run from the repository root:

    SCIPRISM_DATA=... python benchmarks/precision.py -o results/precision.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from encode import agreement, read_texts
from measurement import build_parser, format_ratio, interleave, provenance, ratio, write_result
from sciprism import Encoder
from sciprism.encoders.settings import PRECISIONS, fastest_precision, has_instructions

MODELS = ("sciprism-small", "all-MiniLM-L6-v2")
OLDER = "AVX512_CORE"
"""Instructions without those of half precision."""
DEVICE = torch.device("cpu")


def measure(model: str, texts: list[str], rounds: int, precisions: list[str]) -> dict[str, Any]:
    """Time a model in some precisions; report rates, ratios and agreement with float32."""
    warnings.simplefilter("ignore")
    encoders = {name: Encoder.load(model, precision=name, device="cpu") for name in precisions}
    vectors: dict[str, np.ndarray] = {}

    def encode(name: str) -> None:
        vectors[name] = encoders[name].encode(texts)

    seconds = interleave({name: lambda name=name: encode(name) for name in encoders}, rounds)
    return {
        name: {
            "papers_per_second": round(len(texts) / float(np.median(times)), 1),
            "times float32": ratio(seconds["float32"], times),
            **agreement(vectors[name], vectors["float32"]),
        }
        for name, times in seconds.items()
    }


def measure_without_instructions(model: str, args: argparse.Namespace) -> dict[str, Any]:
    """Time float32 and bfloat16 in a process that may use older instructions only."""
    papers, rounds = str(max(20, args.papers // 4)), str(args.rounds)
    words = [sys.executable, __file__, "--alone", model, "--data", args.data, "--papers", papers, "--rounds", rounds]
    environment = os.environ | {"ONEDNN_MAX_CPU_ISA": OLDER}
    done = subprocess.run([*words, "--threads", str(args.threads)], env=environment, check=True, capture_output=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--data", default=os.environ.get("SCIPRISM_DATA"))
    parser.add_argument("--papers", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.data is None:
        parser.error("say where the data sets are: --data FOLDER or SCIPRISM_DATA")
    texts = read_texts(Path(args.data), args.papers)
    torch.set_num_threads(args.threads)
    if args.alone:
        print(json.dumps(measure(args.alone, texts, args.rounds, ["float32", "bfloat16"])))
        return
    result = provenance(
        ["torch", "tokenizers", "numpy"],
        papers=len(texts),
        rounds=args.rounds,
        threads=args.threads,
        has_instructions={name: has_instructions(name, DEVICE) for name in PRECISIONS},
        auto=fastest_precision(DEVICE),
        models={model: measure(model, texts, args.rounds, list(PRECISIONS)) for model in MODELS},
        without_instructions={
            "ONEDNN_MAX_CPU_ISA": OLDER,
            "models": {model: measure_without_instructions(model, args) for model in MODELS},
        },
    )
    for title, models in (("", result["models"]), (f" ({OLDER})", result["without_instructions"]["models"])):
        for model, rows in models.items():
            for name, row in rows.items():
                line = f"{model + title:<32} {name:<9} {row['papers_per_second']:>6.1f} papers/s"
                line += f"  {format_ratio(row['times float32'])}"
                print(f"{line}  cosine >= {row['min_cosine']:.6f}, top-10 {row['top10_overlap']:.4f}")
    write_result(args.output, result)


if __name__ == "__main__":
    main()
