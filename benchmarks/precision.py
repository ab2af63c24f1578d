"""Papers per second in each precision against float32, and the agreement of vectors, in rounds of one run.

What bfloat16 costs without its instructions is in the run avx2 of results/encode.json. Run from the repository root:

    SCIPRISM_DATA=... python benchmarks/precision.py -o results/precision.json
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from encode import agreement, read_texts
from measurement import build_parser, format_ratio, interleave, provenance, ratio, write_result
from sciprism import Encoder
from sciprism.encoders.settings import PRECISIONS, fastest_precision, has_instructions

MODELS, PAPERS, ROUNDS, THREADS = ("sciprism-small", "all-MiniLM-L6-v2"), 400, 5, 2
DEVICE = torch.device("cpu")


def measure(model: str, texts: list[str]) -> dict[str, Any]:
    """Time a model in all precisions; report rates, ratios and agreement with float32."""
    encoders = {name: Encoder.load(model, precision=name, device="cpu") for name in PRECISIONS}
    vectors: dict[str, np.ndarray] = {}

    def encode(name: str) -> None:
        vectors[name] = encoders[name].encode(texts)

    seconds = interleave({name: lambda name=name: encode(name) for name in encoders}, ROUNDS)
    rows = {}
    for name, times in seconds.items():
        rate, faster = round(len(texts) / float(np.median(times)), 1), ratio(seconds["float32"], times)
        rows[name] = {"papers_per_second": rate, "times float32": faster}
        rows[name] |= agreement(vectors[name], vectors["float32"])
        print(f"{model:<20} {name:<9} {rate:>6.1f} papers/s  {format_ratio(faster)}")
    return rows


def main() -> None:
    parser = build_parser(__doc__, data=True)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # of a precision that the processor has no instructions for
    torch.set_num_threads(THREADS)
    texts = read_texts(args.data, PAPERS)
    result = provenance(
        ["torch", "tokenizers", "numpy"],
        papers=len(texts),
        rounds=ROUNDS,
        threads=THREADS,
        has_instructions={name: has_instructions(name, DEVICE) for name in PRECISIONS},
        auto=fastest_precision(DEVICE),
        models={model: measure(model, texts) for model in MODELS},
    )
    write_result(args.output, result)


if __name__ == "__main__":
    main()
