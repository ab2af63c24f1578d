"""What each method costs per paper against `single`, for one format and for all of them.

Same backbone, same texts of 256 tokens, turn by turn in one process; `single` runs twice, which tells how far
ratios spread on this machine. Random weights of MiniLM's shape, unless --model names a backbone or a saved
`single` model. Run from the repository root:

    python benchmarks/formats.py -o results/formats.json
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from rounds import interleave, provenance, ratio, write
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.instructions import Instructions
from sciprism.encoders.methods import make, methods
from sciprism.encoders.settings import Settings
from sciprism.encoders.transformer import Transformer, TransformerConfig

METHODS = ("single", *sorted(set(methods) - {"single"}))
AGAIN = "single, again"
FORMAT = "proximity"
TOKENS = 256
MINILM = TransformerConfig(
    vocabulary=30_522, hidden=384, layers=6, heads=12, intermediate=1_536, positions=512
)
WORDS = ("dark", "matter", "gene", "brain", "light", "protein", "climate", "star", "energy", "model", "trial")
INSTRUCTION = "find papers that one paper cites the other as dark as light ones"
"""13 words: with CLS and SEP as many tokens as SciMult's own for proximity has in BERT's vocabulary."""


def random_encoder(method: str, precision: str) -> Encoder:
    """Return an encoder of MiniLM's shape; the backbone's random weights are the same for every method."""
    words = {word: i for i, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    options = {"instructions": {FORMAT: INSTRUCTION}} if method in ("instruction", "prefix") else {}
    settings = Settings(pooling="mean", max_length=TOKENS, method=method, options=options)
    torch.manual_seed(0)
    model = Transformer(MINILM)
    make(method, settings.options).fill(model)
    return Encoder(
        model, tokenizer, settings, name="random, MiniLM's shape", precision=precision, device="cpu"
    )


def untrained(method: str, args: argparse.Namespace) -> Encoder:
    """Return an encoder of the method that knows no more than its backbone."""
    if args.model is None:
        return random_encoder(method, args.precision)
    return Encoder.start(
        args.model,
        method=method,
        pooling=args.pooling,
        max_length=TOKENS,
        precision=args.precision,
        device="cpu",
    )


def some_texts(count: int) -> list[str]:
    """Return texts that every tokenizer cuts at 256 tokens."""
    draw = random.Random(0)
    return [" ".join(draw.choices(WORDS, k=TOKENS)) for _ in range(count)]


def instruction_tokens(encoder: Encoder) -> int | None:
    """Return how many tokens the instruction has, special ones included."""
    context = encoder.model.context
    return len(context.tokens[encoder.route(FORMAT)]) if isinstance(context, Instructions) else None


def costs(runs: Mapping[str, Callable[[], object]], papers: int, rounds: int) -> dict[str, Any]:
    """Time all methods turn by turn; report papers per second and the cost against `single`."""
    seconds = interleave(runs, rounds)
    return {
        name: {
            "papers_per_second": round(papers / float(np.median(times)), 2),
            "seconds": [round(t, 3) for t in times],
            "cost": ratio(times, seconds["single"]),
        }
        for name, times in seconds.items()
    }


def measure(encoders: Mapping[str, Encoder], texts: list[str], rounds: int) -> dict[str, Any]:
    """Measure one format, then all formats, of every method."""
    contenders = {**encoders, AGAIN: encoders["single"]}
    one = {name: partial(encoder.encode, texts, format=FORMAT) for name, encoder in contenders.items()}
    every = {name: partial(encoder.encode_all, texts) for name, encoder in contenders.items()}
    return {"one format": costs(one, len(texts), rounds), "all formats": costs(every, len(texts), rounds)}


def facts(encoder: Encoder) -> dict[str, Any]:
    """Return what decides a method's cost."""
    return {
        "parameters": sum(weight.numel() for weight in encoder.model.parameters()),
        "passes": len({encoder.path(format) for format in encoder.formats}),
        "instruction_tokens": instruction_tokens(encoder),
    }


def show(result: dict[str, Any]) -> None:
    """Print the result as a table."""
    for what, rows in result["costs"].items():
        print(f"\n{what}, {result['papers']} papers of {TOKENS} tokens, {result['threads']} thread(s)")
        for name, row in rows.items():
            cost, known = row["cost"], result["methods"].get(name, {})
            line = f"  {name:<20} {row['papers_per_second']:>7.2f} papers/s  {cost['median']:.3f}x "
            line += f"({cost['min']:.3f}-{cost['max']:.3f})"
            if known:
                line += f"  {known['parameters'] / 1e6:.1f} M parameters, {known['passes']} pass(es)"
            if known.get("instruction_tokens"):
                line += f", instruction of {known['instruction_tokens']} tokens"
            print(line)
    print("\ncost: seconds against single's, round by round; median (min-max)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", help="a backbone or a saved single model; random weights without it")
    parser.add_argument("--pooling", help="for a backbone that does not state it")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--papers", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    texts = some_texts(args.papers)
    encoders = {method: untrained(method, args) for method in METHODS}
    assert all(len(ids) == TOKENS for ids in encoders["single"].tokenize(texts))
    result = provenance(
        ["torch", "tokenizers", "numpy"],
        model=encoders["single"].name,
        precision=args.precision,
        papers=len(texts),
        rounds=args.rounds,
        threads=args.threads,
        methods={name: facts(encoder) for name, encoder in encoders.items()},
        costs=measure(encoders, texts, args.rounds),
    )
    show(result)
    if args.output:
        write(args.output, result)


if __name__ == "__main__":
    main()
