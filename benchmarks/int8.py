"""Whether int8 products would encode faster than bfloat16 on a CPU, and what the vectors would lose: they do not.

Weights are int8 per output channel; activations are quantized when a layer runs, with one scale for all tokens
("tensor") or one for each ("token"), by torch's oneDNN operator. `kinds` are the linear maps of a block that are int8;
the others stay in bfloat16. `layers` times the products of a layer and what quantizing costs, on a core, and products
of numbers of rows that are new to oneDNN. `--fbgemm` compares with float32 instead, on a processor with AVX2 alone:
some maps by torch's fbgemm, where activations have 7 bits, for sums of 16. Run from the repository root:

    SCIPRISM_DATA=... python benchmarks/int8.py -o results/int8.json
    SCIPRISM_DATA=... python benchmarks/int8.py --fbgemm --papers 96 -o results/int8-avx2.json
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor

from encode import DEFAULT_PEER, MAX_LENGTH, MODEL, agreement, load_contender, read_texts
from measurement import build_parser, format_ratio, interleave, provenance, ratio, write_result
from sciprism import Encoder
from sciprism.encoders import layers, transformer
from sciprism.encoders.layers import ACTIVATIONS, FUSED, ROW_STEP, PackedLinear

KINDS = ("qkv", "output", "expand", "contract")
VARIANTS = [
    ("tensor", KINDS),
    ("token", KINDS),
    ("tensor", ("qkv", "expand")),
    ("tensor", ("expand",)),
    ("token", ("expand",)),
]
FBGEMM_KINDS = [KINDS, KINDS[:3], ("qkv", "expand"), ("output", "expand"), ("expand",)]
BuildLinear = Callable[[Tensor, Tensor | None, str], Any]
Encode = Callable[[list[str]], np.ndarray]
SHAPES = {"qkv": (384, 1152, "none"), "output": (384, 384, "none"), "expand": (384, 1536, "gelu")}
SHAPES["contract"] = (1536, 384, "none")
TOKENS = 2048


def quantize(x: Tensor, scale: str) -> tuple[Tensor, Any]:
    """Return activations as uint8, 128 for 0, and their scale: a number, or (T, 1)."""
    if scale == "token":
        scales = torch.maximum(x.amax(1, keepdim=True), -x.amin(1, keepdim=True)) / 127
        return torch.add(128.5, x / scales).to(torch.uint8), scales
    lowest, highest = torch.aminmax(x)
    one = max(-float(lowest), float(highest)) / 127
    return torch.quantize_per_tensor(x, one, 128, torch.quint8).int_repr(), one


class Int8Linear:
    """A packed linear layer with int8 products, in bfloat16 at both ends."""

    def __init__(self, weight: Tensor, bias: Tensor | None, activation: str, scale: str) -> None:
        weight = weight.detach().float()
        self.scale, self.activation, self.bias = scale, activation, None if bias is None else bias.detach().float()
        self.scales = weight.abs().amax(1) / 127
        self.weight = torch.ops.onednn.qlinear_prepack((weight / self.scales[:, None]).round().to(torch.int8), None)
        self.zeros = torch.zeros(len(weight), dtype=torch.int32)

    def __call__(self, x: Tensor) -> Tensor:
        filled = torch.zeros(len(x) + -len(x) % ROW_STEP, *x.shape[1:])
        filled[: len(x)] = x
        return self.multiply(*quantize(filled, self.scale))[: len(x)]

    def multiply(self, x: Tensor, scale: Any) -> Tensor:
        """Return the outputs of quantized activations."""
        weights = self.weight, self.scales, self.zeros
        multiply = torch.ops.onednn.qlinear_pointwise
        if self.scale == "token":  # the operator has no scale per row
            out = multiply(x, 1.0, 128, *weights, None, 1.0, 0, torch.float32, "none", [], "")
            return ACTIVATIONS[self.activation](torch.addcmul(self.bias, out, scale)).bfloat16()
        name, algorithm = FUSED[self.activation]
        return multiply(x, scale, 128, *weights, self.bias, 1.0, 0, torch.bfloat16, name, [], algorithm)


class FbgemmLinear:
    """A linear layer with int8 products by fbgemm, one scale for all tokens, in float32 at both ends."""

    def __init__(self, weight: Tensor, bias: Tensor | None, activation: str) -> None:
        scales, zeros = weight.detach().abs().amax(1) / 127, torch.zeros(len(weight), dtype=torch.int64)
        values = torch.quantize_per_channel(weight.detach().float(), scales, zeros, 0, torch.qint8)
        self.packed = torch.ops.quantized.linear_prepack(values, None if bias is None else bias.detach().float())
        self.activation = ACTIVATIONS[activation]

    def __call__(self, x: Tensor) -> Tensor:
        return self.activation(torch.ops.quantized.linear_dynamic(x.float().contiguous(), self.packed, True))


def load_int8(model: str, build: BuildLinear, kinds: tuple[str, ...], texts: list[str], precision: str) -> Encode:
    """Return the function that encodes with int8 products in some linear maps of each block."""

    def pack(weight: Tensor, bias: Tensor | None, activation: str, dtype: torch.dtype) -> Any:
        rows, columns = weight.shape
        kind = "qkv" if rows == 3 * columns else "expand" if rows > columns else "contract"
        if (kind if rows != columns else "output") in kinds:
            return build(weight, bias, activation)
        return PackedLinear(weight, bias, activation, dtype)

    encoder = Encoder.load(model, precision=precision, max_length=MAX_LENGTH, device="cpu")
    encoder.prepare()
    with mock.patch.object(layers, "PackedLinear", pack), mock.patch.object(transformer, "PackedLinear", pack):
        encoder.encode(texts[:8])
    return encoder.encode


def measure_fbgemm(model: str, texts: list[str], args: argparse.Namespace) -> dict[str, Any]:
    """Time a model with some maps by fbgemm against float32, and compare vectors."""
    torch.set_num_threads(args.threads)
    runs = {"float32": Encoder.load(model, precision="float32", max_length=MAX_LENGTH, device="cpu").encode}
    runs |= {" ".join(kinds): load_int8(model, FbgemmLinear, kinds, texts, "float32") for kinds in FBGEMM_KINDS}
    seconds = interleave({name: lambda run=run: run(texts) for name, run in runs.items()}, args.rounds)
    expected = runs.pop("float32")(texts)
    found = {
        name: {"times float32": ratio(seconds["float32"], seconds[name])} | agreement(run(texts), expected)
        for name, run in runs.items()
    }
    for name, facts in found.items():
        print(f"{model} {name:<32} {format_ratio(facts['times float32'])}, {facts['top10_overlap']:.4f}")
    return found


def time_layers(rounds: int) -> dict[str, Any]:
    """Time each product of a block, and quantizing its input, on one core; milliseconds, and GOP/s of products."""
    torch.set_num_threads(1)
    found = {}
    for kind, (inputs, outputs, activation) in SHAPES.items():
        weight, bias, x = torch.randn(outputs, inputs) / 50, torch.zeros(outputs), torch.randn(TOKENS, inputs)
        half, small = x.bfloat16(), Int8Linear(weight, bias, activation, "tensor")
        packed, given = PackedLinear(weight, bias, activation, torch.bfloat16), quantize(x, "tensor")
        contenders: dict[str, Callable[[], object]] = {
            "bfloat16": lambda run=packed, x=half: run(x),
            "int8": lambda run=small, given=given: run.multiply(*given),
            "quantize, scale given": lambda x=x: torch.quantize_per_tensor(x, 0.03, 128, torch.quint8),
            "quantize, tensor": lambda x=half: quantize(x.float(), "tensor"),
            "quantize, token": lambda x=half: quantize(x.float(), "token"),
        }
        seconds = {name: median(times) for name, times in interleave(contenders, rounds).items()}
        found[kind] = {name: round(1000 * spent, 3) for name, spent in seconds.items()}
        for step, title in ((1, "new numbers of rows"), (ROW_STEP, f"filled up to multiples of {ROW_STEP}")):
            with mock.patch.object(layers, "ROW_STEP", step):
                first = median(_time(packed, half[: TOKENS - 3 * number]) for number in range(1, 8))
            found[kind][f"bfloat16, {title}"] = round(1000 * first, 3)
        for name in ("bfloat16", "int8"):
            found[kind][f"{name} GOP/s"] = round(2 * TOKENS * inputs * outputs / seconds[name] / 1e9)
    return found


def _time(run: Callable[[Tensor], object], x: Tensor) -> float:
    start = time.perf_counter()
    run(x)
    return time.perf_counter() - start


def measure(model: str, texts: list[str], args: argparse.Namespace) -> dict[str, Any]:
    """Time every variant of a model against bfloat16 and float32; compare vectors with those of float32."""
    torch.set_num_threads(args.threads)
    runs = {name: Encoder.load(model, precision=name, max_length=MAX_LENGTH, device="cpu").encode for name in
            ("float32", "bfloat16")}  # fmt: skip
    for scale, kinds in VARIANTS:
        build = partial(Int8Linear, scale=scale)
        runs[f"int8 {scale}, {' '.join(kinds)}"] = load_int8(model, build, kinds, texts, "bfloat16")
    if model == MODEL:
        runs[DEFAULT_PEER] = load_contender(DEFAULT_PEER)
    vectors: dict[str, np.ndarray] = {}
    contenders = {name: lambda name=name: vectors.update({name: runs[name](texts)}) for name in runs}
    seconds = interleave(contenders, args.rounds)
    rows = {
        name: {
            "papers_per_second": round(len(texts) / median(times), 1),
            **{f"times {other}": ratio(seconds[other], times) for other in ("bfloat16", DEFAULT_PEER) if other in runs},
            **agreement(vectors[name], vectors["float32"]),
        }
        for name, times in seconds.items()
    }
    for name, row in rows.items():
        faster = format_ratio(row["times bfloat16"])
        print(
            f"{model} {name:<42} {row['papers_per_second']:>7} papers/s, bfloat16 {faster}, {row['top10_overlap']:.4f}"
        )
    return rows


def main() -> None:
    warnings.simplefilter("ignore")
    parser = build_parser(__doc__)
    parser.add_argument("--data", default=os.environ.get("SCIPRISM_DATA"))
    parser.add_argument("--papers", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--fbgemm", action="store_true")
    args = parser.parse_args()
    if args.data is None:
        parser.error("say where the data sets are: --data FOLDER or SCIPRISM_DATA")
    texts = read_texts(Path(args.data), args.papers)
    way = measure_fbgemm if args.fbgemm else measure
    result = provenance(
        ["torch", "sentence-transformers", "numpy"],
        papers=len(texts),
        rounds=args.rounds,
        threads=args.threads,
        **({} if args.fbgemm else {"layers": {"tokens": TOKENS, **time_layers(4 * args.rounds + 1)}}),
        models={model: way(model, texts, args) for model in ("sciprism-small", MODEL)},
    )
    write_result(args.output, result)


if __name__ == "__main__":
    main()
