"""Precisions of matrix products, and which of them a device has instructions for.

Without the instructions, half precision is computed by conversion to float32 and back, at a fraction of its
speed.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import torch

from sciprism.errors import InputError, SlowPrecisionWarning

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
AUTO = "auto"
"""The fastest precision that a device has instructions for, and whose vectors agree with those of float32."""
MIN_COSINE = 0.999
"""Of each vector with that of float32, in a precision that `auto` takes."""
CPU_FEATURES = {"bfloat16": ("avx512_bf16", "amx_bf16", "bf16"), "float16": ("avx512_fp16", "amx_fp16")}
"""Features of a processor, as torch and Linux name them, one of which a precision needs."""
TIMES_SLOWER = {"bfloat16": "2 to 5", "float16": "8"}
"""Without the instructions, against float32, as measured on CPUs (results/precision.json)."""


def has_instructions(precision: str, device: torch.device) -> bool:
    """Return whether a device has instructions for products in this precision."""
    if precision == "float32":
        return True
    if device.type == "cpu":
        return not set(CPU_FEATURES[precision]).isdisjoint(_cpu_features())
    if device.type == "cuda" and precision == "bfloat16":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return True


def fastest_precision(device: torch.device) -> str:
    """Return bfloat16 where the device has the instructions, else float32.

    Not float16: some models exceed its range.
    """
    known = device.type in ("cpu", "cuda") and has_instructions("bfloat16", device)
    return "bfloat16" if known else "float32"


def check_precision(precision: str, device: torch.device) -> None:
    """Warn about a precision that the device has no instructions for. Raises InputError for an unknown one."""
    if precision not in PRECISIONS:
        raise InputError(f"unknown precision {precision!r}; known: {', '.join([AUTO, *PRECISIONS])}")
    if slow := describe_slowness(precision, device):
        warnings.warn(SlowPrecisionWarning(f"{slow}; --precision auto takes the fastest"), stacklevel=3)


def describe_slowness(precision: str, device: torch.device) -> str:
    """Say that a device has no instructions for a precision and what it costs; "" where it has them."""
    if has_instructions(precision, device):
        return ""
    where = "this processor" if device.type == "cpu" else f"the device {device}"
    return f"{where} has no instructions for {precision}: it takes {TIMES_SLOWER[precision]} times as long as float32"


def _cpu_features() -> set[str]:
    """Return the names of the processor's features: as torch states them, else as Linux does."""
    try:
        return {name for name, value in torch.cpu.get_capabilities().items() if value is True}
    except (AttributeError, RuntimeError):  # torch before 2.12
        pass
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return {name for line in lines if line.startswith(("flags", "Features")) for name in line.split()}
