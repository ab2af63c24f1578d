"""The self-check: texts and their vectors, written with a model and verified when it is loaded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.arrays import Floats
from sciprism.errors import InputError
from sciprism.formats import Format
from sciprism.text.tokenizer import read_json

NAME = "selfcheck.json"
TEXT = "A paper of known content: light is split by a prism into a spectrum, and every colour has its own angle."
MORE_TEXTS = ("Dark matter", "β-decay in 3.14 µs: naïve Schrödinger, 量子力学 και φως [SEP] 🔬")
TEXTS = (TEXT, *MORE_TEXTS)
LONG_TEXT = " ".join([TEXT] * 30)
"""Its token ids show where texts are truncated; its vectors would take time at each load."""
TOLERANCE = {"float32": 1e-4, "bfloat16": 5e-2, "float16": 5e-3}  # of the vector's largest entry

EncodeAll = Callable[[list[str]], Mapping[Format, Floats]]
"""Maps texts to one array per format."""
Tokenize = Callable[[list[str]], list[list[int]]]


def write(folder: Path, encode_all: EncodeAll, tokenize: Tokenize) -> None:
    """Write `selfcheck.json`: one vector per text and format, and the token ids of a long text."""
    found = encode_all(list(TEXTS))
    rows = [
        {"text": text, "vectors": {format: vectors[n].tolist() for format, vectors in found.items()}}
        for n, text in enumerate(TEXTS)
    ]
    content = {**rows[0], "more": rows[1:], "long_text": LONG_TEXT, "long_text_ids": tokenize([LONG_TEXT])[0]}
    (folder / NAME).write_text(json.dumps(content) + "\n", encoding="utf-8")


def verify(folder: Path, encode_all: EncodeAll, tokenize: Tokenize, precision: str) -> None:
    """Compare vectors with the folder's `selfcheck.json`, if any; a difference is an InputError.

    That of version 0.1 has one text.
    """
    path = folder / NAME
    if not path.exists():
        return
    known = read_json(path)
    rows = [known, *known["more"]] if isinstance(known.get("more"), list) else [known]
    texts = [row.get("text") if isinstance(row, dict) else None for row in rows]
    now = encode_all([str(text) for text in texts]) if all(isinstance(text, str) for text in texts) else {}
    if not now or any(not isinstance(row.get("vectors"), dict) or set(row["vectors"]) != set(now) for row in rows):
        raise InputError(f"{path}: does not hold a text and one vector per format; damaged")
    for number, row in enumerate(rows):
        for format, vectors in now.items():
            _compare(folder, format, row["vectors"][format], vectors[number], TOLERANCE[precision])
    if "long_text" in known and tokenize([str(known["long_text"])])[0] != known.get("long_text_ids"):
        raise InputError(f"{folder}: the tokens of a long text differ from selfcheck.json: damaged")


def _compare(folder: Path, format: Format, stored: Any, vector: Floats, tolerance: float) -> None:
    """Raise InputError where a vector is not the stored one."""
    try:
        expected = np.asarray(stored, dtype=np.float32).reshape(-1)
    except (TypeError, ValueError) as error:
        raise InputError(f"{folder / NAME}: the {format} vector is not a list of numbers; damaged") from error
    if expected.shape != vector.shape:
        raise InputError(f"{folder}: selfcheck.json has {len(expected)} numbers, the model gives {len(vector)}")
    off = float(np.abs(vector - expected).max() / max(np.abs(expected).max(), 1e-12))
    if not off <= tolerance:
        raise InputError(f"{folder}: the {format} vector differs from selfcheck.json by {off:.1e}: damaged")
