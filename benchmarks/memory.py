"""Peak memory and time of embedding papers in all formats, and their titles as queries.

The model has SPECTER2's shape: BERT-base, an adapter for each format, random weights, MiniLM's vocabulary; or
any with --model. Run from the repository root, where PAPERS is a file that `sciprism inspect` reads:

    python benchmarks/memory.py PAPERS --count 2000 -o results/memory.json
"""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path

import torch

from formats import SHAPES
from measurement import build_parser, peak_memory_mb, provenance, write_result
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods.registry import build_method
from sciprism.encoders.settings import EncoderSettings
from sciprism.encoders.transformer import Transformer
from sciprism.papers import Paper, read_papers
from sciprism.text.template import Template


def build_specter2_encoder() -> Encoder:
    """Return an encoder of SPECTER2's shape with random weights."""
    torch.manual_seed(0)
    model = Transformer(SHAPES["bert-base"])
    build_method("adapters", {}).fill(model)
    settings = EncoderSettings(
        pooling="cls",
        max_length=512,
        method="adapters",
        template=Template(separator=" [SEP] "),
        distance="euclidean",
    )
    tokenizer = Encoder.load("all-MiniLM-L6-v2").tokenizer
    return Encoder.from_parts(model, tokenizer, settings, name="random, the shape of SPECTER2", device="cpu")


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("papers", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--model")
    args = parser.parse_args()
    began = time.perf_counter()
    encoder = Encoder.load(args.model) if args.model else build_specter2_encoder()
    read = (paper for paper in read_papers(args.papers) if isinstance(paper, Paper) and paper.abstract)
    papers = list(islice(read, args.count))
    vectors = encoder.encode_all(papers)
    vectors |= {"queries": encoder.encode([p.title for p in papers], format="search", role="query")}
    result = provenance(
        ["torch", "sciprism"],
        model=encoder.name,
        parameters=sum(weight.numel() for weight in encoder.model.parameters()),
        papers=len(papers),
        formats={format: list(rows.shape) for format, rows in vectors.items()},
        seconds=round(time.perf_counter() - began, 1),
        peak_memory_mb=peak_memory_mb(),
    )
    print(result)
    write_result(args.output, result)


if __name__ == "__main__":
    main()
