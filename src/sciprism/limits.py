"""Limits of what one input may hold, so that a small file cannot fill the memory or take hours; all can be raised."""

from __future__ import annotations

import os
from functools import cache

from sciprism.errors import InputError

VARIABLE = "SCIPRISM_LIMITS"
LIMITS = {
    "ratio": (250, "times the packed bytes, in 16 MB of what is unpacked"),
    "line": (1 << 26, "characters in a line"),
    "blank": (1 << 20, "blank lines after each other"),
    "unusable": (1 << 16, "records that cannot be used after each other"),
    "record": (1 << 26, "characters in a record"),
    "field": (1 << 24, "characters in a field"),
    "cells": (100_000_000, "cells in a sheet"),
    "nesting": (1000, "elements inside each other"),
    "macros": (1 << 20, "characters in a field that names macros (@string)"),
    "words": (1 << 18, "words in an inverted index"),
    "layers": (1000, "layers in a model"),
    "width": (1 << 17, "numbers in a row of a model's weights"),
    "tokens": (1 << 21, "tokens in a vocabulary"),
    "settings": (1 << 26, "bytes in a file of a model's settings or tokenizer"),
}
"""Name -> the most that an input may hold, and of what."""
LINE_SIZE = 64
"""What a line of a record counts besides its characters, as each takes a place in memory."""


def limit(name: str) -> int:
    """Return a limit: as SCIPRISM_LIMITS states it (`record=1000000000,ratio=5000`), else the default."""
    return _read_variable(os.environ.get(VARIABLE, "")).get(name, LIMITS[name][0])


def describe_excess(name: str) -> str:
    """Return what is too much, and how its limit is raised."""
    most = limit(name)
    return f"more than {most:,} {LIMITS[name][1]}; if that is right, set {VARIABLE}={name}={8 * most}"


@cache
def _read_variable(text: str) -> dict[str, int]:
    pairs = [part.partition("=")[::2] for part in text.replace(" ", "").split(",") if part]
    for name, number in pairs:
        if name not in LIMITS or not number.isdecimal():
            raise InputError(f"{VARIABLE}: unknown limit {name}={number}; known: {', '.join(LIMITS)}, as in ratio=5000")
    return {name: int(number) for name, number in pairs}
