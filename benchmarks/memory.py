"""Peak memory and time of embedding papers in all formats, and their titles as queries.

The model has SPECTER2's shape: BERT-base, an adapter for each format, random weights, MiniLM's vocabulary; or
any with --model. Run from the repository root, where PAPERS is a file that `sciprism inspect` reads:

    python benchmarks/memory.py PAPERS --count 2000 -o results/memory.json
"""

from __future__ import annotations

import argparse
import resource
import time
from itertools import islice
from pathlib import Path

import torch

from formats import SHAPES
from rounds import provenance, write
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods.registry import make
from sciprism.encoders.settings import Settings
from sciprism.encoders.transformer import Transformer
from sciprism.papers import Paper, read_papers
from sciprism.text.template import Template


def specter2_shaped() -> Encoder:
    """Return an encoder of SPECTER2's shape with random weights."""
    torch.manual_seed(0)
    model = Transformer(SHAPES["bert-base"])
    make("adapters", {}).fill(model)
    settings = Settings(
        pooling="cls",
        max_length=512,
        method="adapters",
        template=Template(separator=" [SEP] "),
        distance="euclidean",
    )
    tokenizer = Encoder.load("all-MiniLM-L6-v2").tokenizer
    return Encoder(model, tokenizer, settings, name="random, the shape of SPECTER2", device="cpu")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("papers", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--model")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    began = time.perf_counter()
    encoder = Encoder.load(args.model) if args.model else specter2_shaped()
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
        peak_memory_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    )
    print(result)
    if args.output:
        write(args.output, result)


if __name__ == "__main__":
    main()
