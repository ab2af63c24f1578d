"""How fast a model encodes on this machine in each precision, and what share that is of what the machine multiplies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median
from timeit import timeit
from typing import Any

import torch

from sciprism.arrays import mkl_is_faster
from sciprism.encoders.checkpoints.folder import TEXT
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import PackedLinear
from sciprism.encoders.settings import PRECISIONS, cpu_features, fastest_precision, has_instructions

SAMPLE = [" ".join([TEXT] * (3 + 5 * i % 8)) for i in range(64)]  # of some 70 to 256 tokens
FEATURES = {
    "float32": ("avx512f", "avx2", "asimd"),
    "bfloat16": ("amxbf16", "avx512bf16", "bf16"),
    "float16": ("amxfp16", "avx512fp16", "asimdhp"),
}
"""Instructions of a processor for products in each precision, the fastest first, without underscores."""
INT8 = ("amxint8", "avx512vnni", "avxvnni", "i8mm")
SIDE, PRODUCTS, ROUNDS = 1536, 8, 3
"""Rows and columns of the large product, how many of them a round has, and rounds."""


def measure_speed(encoder: Encoder) -> dict[str, Any]:
    """Return the instructions of the processor and, of each precision, path, papers a second and share of products.

    auto: what the precision of that name is here, if the model's vectors agree with those of float32.
    Every round runs each precision in turn, on the device and the number of threads in use. A precision without
    instructions is not measured. The encoder has its precision afterwards.
    """
    named = {name.replace("_", "") for name in cpu_features()}
    wanted = (*(name for names in FEATURES.values() for name in names), *INT8)
    paths = {precision: _describe_path(precision, encoder.device, named) for precision in PRECISIONS}
    before, operations = encoder.precision, count_operations(encoder, SAMPLE)
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name, path in paths.items() if path}
    try:
        for _ in range(ROUNDS):
            for precision, times in seconds.items():
                encoder.precision = precision
                encoder.prepare()
                encoder.encode(SAMPLE[:1], show_progress_bar=False)  # packs the weights
                spent = timeit(partial(encoder.encode, SAMPLE, show_progress_bar=False), number=1)
                layer = PackedLinear(torch.ones(SIDE, SIDE, device=encoder.device), None, "none", PRECISIONS[precision])
                left = torch.ones(SIDE, SIDE, dtype=PRECISIONS[precision], device=encoder.device)
                times.append((spent, timeit(lambda: float(layer(left)[0, 0]), number=PRODUCTS)))  # noqa: B023
    finally:
        encoder.precision = before
        encoder.prepare()
    speeds: dict[str, Any] = {name: {"path": path or "no instructions"} for name, path in paths.items()}
    for precision, times in seconds.items():
        rate = median(2 * SIDE**3 * PRODUCTS / product for _, product in times)
        speeds[precision] |= {
            "papers_per_second": round(len(SAMPLE) / median(spent for spent, _ in times), 1),
            "product_gflops": round(rate / 1e9, 1),
            "share_of_product_rate": round(median(operations / spent for spent, _ in times) / rate, 3),
        }
    return {
        "instructions": [name for name in dict.fromkeys(wanted) if name in named],
        "threads": torch.get_num_threads(),
        "auto": fastest_precision(encoder.device),
        "precisions": speeds,
    }


def count_operations(encoder: Encoder, texts: Sequence[str]) -> float:
    """Return the floating-point operations of the products of a plain backbone for the texts, without padding."""
    config = encoder.model.config
    linears = (module for module in encoder.model.blocks.modules() if isinstance(module, torch.nn.Linear))
    weights = sum(linear.weight.numel() for linear in linears)
    lengths = [len(tokens) for tokens in encoder.tokenize(texts)]
    width = config.heads * (config.style.head_width or config.hidden // config.heads)
    windows = config.style.windows or (0,) * config.layers
    pairs = sum(n * (min(n, 2 * window + 1) if window else n) for window in windows for n in lengths)
    return float(2 * weights * sum(lengths) + 4 * width * pairs)


def _describe_path(precision: str, device: torch.device, features: set[str]) -> str:
    """Name the library and the instructions of a precision's products; "" where there are none."""
    if not has_instructions(precision, device):
        return ""
    if device.type != "cpu":
        return f"torch on {torch.cuda.get_device_name(device) if device.type == 'cuda' else device}"
    packed = PackedLinear(torch.eye(4), None, "none", PRECISIONS[precision]).packed
    plain = "MKL" if precision == "float32" and mkl_is_faster() else "torch"
    best = [name for name in FEATURES[precision] if name in features][:1]
    return ", ".join(["oneDNN, weights packed" if packed else plain, *best])
