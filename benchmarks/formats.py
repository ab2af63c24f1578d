"""What each method costs per paper against `single`: one format, all of them, training.

Same backbone, texts of 256 tokens (--tokens; with --shortest of all lengths from there), in rounds of one
process; `single` runs twice, to show the spread of ratios on this machine. Random weights of MiniLM's shape
or, with --shape bert-base, BERT's. Run from the repository root:

    python benchmarks/formats.py -o results/formats.json
    python benchmarks/formats.py --shape bert-base --papers 8 --rounds 3 --evidence results/scirepeval \\
        --methods control-codes adapters adapter-fusion pals facets --run bert-base -o results/formats.json
    python benchmarks/formats.py --papers 64 --rounds 5 --methods prism prism:split=true,depth=3 \\
        prism:split=true,depth=1 --run prism-256 -o results/formats.json
    python benchmarks/formats.py --shortest 10 --tokens 50 --run titles -o results/formats.json

"training step" is a forward and a backward pass with a gradient for every vector.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from evidence.claims import claims
from evidence.measurements import add_findings
from evidence.records import ClaimFinding, ClaimRecord
from evidence.records import write_record as write_record
from evidence.verdict import Direction, combine_all, decide
from measurement import build_parser, format_ratio, interleave, provenance, ratio, write_result
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods.instruction import InstructionContext
from sciprism.encoders.methods.registry import build_method, methods
from sciprism.encoders.settings import EncoderSettings
from sciprism.encoders.transformer import Transformer, TransformerConfig
from sciprism.errors import InputError
from sciprism.training.steps import EncoderPass, PassSettings

METHODS = ("single", *sorted(set(methods) - {"single"}), "prism:weights=bottleneck")
"""A method, or one with options of its own, as `prism:split=true,depth=3`."""
AGAIN = "single, again"
FORMAT = "proximity"
TOKENS = 256
SHAPES = {
    "minilm": TransformerConfig(vocabulary=30_522, hidden=384, layers=6, heads=12, intermediate=1_536, positions=512),
    "bert-base": TransformerConfig(
        vocabulary=30_522, hidden=768, layers=12, heads=12, intermediate=3_072, positions=512
    ),
}
PIECE = 2_048
"""Tokens of one packed batch, at most."""
WORDS = ("dark", "matter", "gene", "brain", "light", "protein", "climate", "star", "energy", "model", "trial")
INSTRUCTION = "find papers that one paper cites the other as dark as light ones"
"""13 words: with CLS and SEP as many tokens as SciMult's own for proximity has in BERT's vocabulary."""


def build_random_encoder(name: str, shape: str, tokens: int) -> Encoder:
    """Return an encoder of a shape; the backbone's random weights are the same for every method."""
    method, options = parse_method(name)
    words = {word: i for i, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    pooling = methods[method].pooling or "mean"
    settings = EncoderSettings(pooling=pooling, max_length=tokens, method=method, options=options)
    torch.manual_seed(0)
    model = Transformer(SHAPES[shape])
    build_method(method, settings.options).fill(model)
    shown = f"random, the shape of {shape}"
    return Encoder.from_parts(model, tokenizer, settings, name=shown, device="cpu")


def parse_method(name: str) -> tuple[str, dict[str, Any]]:
    """Return a method and its options."""
    method, _, text = name.partition(":")
    pairs = (each.partition("=") for each in text.split(",") if each)
    options = {
        key: text if text.isalpha() and text not in ("true", "false") else json.loads(text) for key, _, text in pairs
    }
    instructed = {"instructions": {FORMAT: INSTRUCTION}} if method in ("instruction", "prefix") else {}
    return method, instructed | options


def known(name: str) -> str:
    """Return the name of a method that can be made."""
    try:
        build_method(*parse_method(name))
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return name


def build_texts(count: int, shortest: int, longest: int) -> list[str]:
    """Return texts of all lengths from the shortest to the longest, special tokens counted.

    Tokenizers that split words truncate them at the longest.
    """
    rng = random.Random(0)
    return [" ".join(rng.choices(WORDS, k=rng.randint(shortest, longest) - 2)) for _ in range(count)]


def measure_costs(runs: Mapping[str, Callable[[], object]], papers: int, rounds: int) -> dict[str, Any]:
    """Time all methods in rounds; report papers per second and the cost against `single`."""
    seconds = interleave(runs, rounds)
    return {
        name: {
            "papers_per_second": round(papers / float(np.median(times)), 2),
            "seconds": [round(t, 3) for t in times],
            "cost": ratio(times, seconds["single"]),
        }
        for name, times in seconds.items()
    }


def chunk_tokens_for(lengths: Sequence[int]) -> int:
    """Return the tokens of a batch with which every thread has one."""
    return max(*lengths, min(PIECE, sum(lengths) // torch.get_num_threads()))


def step(encoder: Encoder, texts: Sequence[str]) -> None:
    """Take the texts forward and a gradient of each vector back."""
    encoder.model.train()
    formats = [encoder.formats[n % len(encoder.formats)] for n in range(len(texts))]
    routes = [encoder.route(format, "query") for format in formats]
    ids = encoder.tokenize(texts)
    pass_settings = PassSettings(chunk_tokens=chunk_tokens_for([len(each) for each in ids]))
    way = EncoderPass(encoder, ids, routes, settings=pass_settings, seed=0)
    way.vectors.sum().backward()
    way.backward()
    encoder.model.zero_grad(set_to_none=True)


def measure(encoders: Mapping[str, Encoder], texts: list[str], rounds: int) -> dict[str, Any]:
    """Measure one format, all formats, and a training step, of every method."""
    contenders = {**encoders, AGAIN: encoders["single"]}
    one = {name: partial(encoder.encode, texts, format=FORMAT) for name, encoder in contenders.items()}
    every = {name: partial(encoder.encode_all, texts) for name, encoder in contenders.items()}
    steps = {name: partial(step, encoder, texts) for name, encoder in contenders.items()}
    return {
        "one format": measure_costs(one, len(texts), rounds),
        "all formats": measure_costs(every, len(texts), rounds),
        "training step": measure_costs(steps, len(texts), rounds),
    }


def facts(encoder: Encoder) -> dict[str, Any]:
    """Return what decides a method's cost. instruction_tokens: special ones included."""
    context = encoder.model.context
    instructed = isinstance(context, InstructionContext)
    return {
        "parameters": sum(weight.numel() for weight in encoder.model.parameters()),
        "passes": 1 if encoder.model.beside else len({encoder.path(format) for format in encoder.formats}),
        "instruction_tokens": len(context.tokens[encoder.route(FORMAT)]) if instructed else None,
    }


COSTS: tuple[tuple[str, Direction, float, float | None], ...] = (
    ("control-codes", "within", 0.05, None),
    ("adapters", "not above", 0.15, None),
    ("pals", "above", 0.0, 0.29),
    ("adapter-fusion", "above", 0.0, 0.69),
)
"""SciRepEval's claim R6: method, direction, margin, and the paper's figure where it is the question."""
ABOVE = "cost of a pass above `single`"
MAX_COST = 0.10
"""Limit of the cost in P1."""


def decide_cost(
    result: dict[str, Any],
    what: str,
    method: str,
    name: str,
    direction: Direction,
    margin: float,
    figure: float | None = None,
) -> ClaimFinding:
    """Return what a method costs above `single`, and whether that is so much.

    The interval is that from the fastest round to the slowest.
    """
    cost = result["costs"][what][method]["cost"]
    value, low, high = (cost[key] - 1 for key in ("median", "min", "max"))
    facts = {"value": value, "low": low, "high": high, "figure": figure, "unit": "%", "n": result["rounds"]}
    return ClaimFinding(name=name, verdict=decide((low, high), direction, margin=margin, figure=figure), **facts)


def build_record(result: dict[str, Any]) -> ClaimRecord:
    """Return the verdict on R6."""
    findings = tuple(
        decide_cost(
            result,
            "one format",
            name,
            f"{name}: {ABOVE}" + (f", {direction} {margin:.0%}" if margin else ""),
            direction,
            margin,
            figure,
        )
        for name, direction, margin, figure in COSTS
    )
    verdicts = combine_all([finding.verdict for finding in findings])
    remark = "intervals are from the fastest to the slowest round"
    commands = (result["command"],)
    return ClaimRecord(claim="R6", verdict=verdicts, findings=findings, commands=commands, remarks=(remark,))


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--shape", choices=list(SHAPES), default="minilm")
    parser.add_argument("--papers", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=TOKENS, help="of a text, at most 256")
    parser.add_argument("--shortest", type=int, help="the shortest text in tokens, as the longest unless stated")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--methods", nargs="+", type=known, default=METHODS[1:])
    parser.add_argument("--evidence", type=Path, help="the folder of SciRepEval's results, for the claim R6")
    parser.add_argument("--cost", type=Path, help="the folder of prism's results, for the claim P1")
    parser.add_argument("--run", default="all-methods", help="the name of this run in the file")
    args = parser.parse_args()
    if args.cost and (args.tokens, args.shortest, "prism" in args.methods) != (TOKENS, None, True):
        parser.error(f"--cost: P1 is about prism at {TOKENS} tokens")
    torch.set_num_threads(args.threads)
    shortest = args.shortest or args.tokens
    texts = build_texts(args.papers, shortest, args.tokens)
    encoders = {method: build_random_encoder(method, args.shape, args.tokens) for method in ("single", *args.methods)}
    lengths = [len(ids) for ids in encoders["single"].tokenize(texts)]
    assert shortest <= min(lengths) and max(lengths) <= args.tokens
    result = provenance(
        ["torch", "tokenizers", "numpy"],
        model=encoders["single"].name,
        precision="float32",
        papers=len(texts),
        tokens=args.tokens,
        tokens_on_average=round(sum(lengths) / len(lengths), 1),
        rounds=args.rounds,
        threads=args.threads,
        methods={name: facts(encoder) for name, encoder in encoders.items()},
        costs=measure(encoders, texts, args.rounds),
    )
    for what, rows in result["costs"].items():
        for name, row in rows.items():
            print(f"{what:<16} {name:<24} {row['papers_per_second']:>7.2f} papers/s  {format_ratio(row['cost'])}")
    write_result(args.output, result, args.run)
    if args.evidence:
        write_record(args.evidence, build_record(result))
    if args.cost:
        (name,) = claims["P1"].measured
        cost = decide_cost(result, "all formats", "prism", name, "not above", MAX_COST)
        add_findings(args.cost, "P1", [cost], result["command"], datetime.date.today().isoformat())


if __name__ == "__main__":
    main()
