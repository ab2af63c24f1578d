"""The self-check: a text and its vectors, written with a model and verified when it is loaded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from sciprism.arrays import Floats
from sciprism.errors import InputError
from sciprism.formats import Format
from sciprism.text.tokenizer import read_json

TEXT = "A paper of known content: light is split by a prism into a spectrum, and every colour has its own angle."
TOLERANCE = {"float32": 1e-4, "bfloat16": 5e-2, "float16": 5e-3}  # of the vector's largest entry


EncodeAll = Callable[[list[str]], Mapping[Format, Floats]]
"""Maps texts to one array per format."""


def write(folder: Path, encode_all: EncodeAll) -> None:
    """Write `selfcheck.json`: one vector per format."""
    vectors = {format: vector[0].tolist() for format, vector in encode_all([TEXT]).items()}
    (folder / "selfcheck.json").write_text(json.dumps({"text": TEXT, "vectors": vectors}) + "\n", encoding="utf-8")


def verify(folder: Path, encode_all: EncodeAll, precision: str) -> None:
    """Compare vectors with the folder's `selfcheck.json`, if any; a difference is an InputError."""
    path = folder / "selfcheck.json"
    if not path.exists():
        return
    known = read_json(path)
    text, vectors = known.get("text"), known.get("vectors")
    now = encode_all([text]) if isinstance(text, str) else {}
    if not now or not isinstance(vectors, dict) or set(vectors) != set(now):
        raise InputError(f"{path}: does not hold a text and one vector per format; damaged")
    for format, (vector,) in now.items():
        try:
            expected = np.asarray(vectors[format], dtype=np.float32).reshape(-1)
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}: the {format} vector is not a list of numbers; damaged") from error
        if expected.shape != vector.shape:
            raise InputError(f"{folder}: selfcheck.json has {len(expected)} numbers, the model gives {len(vector)}")
        off = float(np.abs(vector - expected).max() / max(np.abs(expected).max(), 1e-12))
        if not off <= TOLERANCE[precision]:
            raise InputError(f"{folder}: the {format} vector differs from selfcheck.json by {off:.1e}: damaged")
