"""Systems for tests: known vectors, so that scores can be worked out by hand."""

import numpy as np

from sciprism.evaluation.systems import DenseSystem
from sciprism.papers import Label


class TextVectorEncoder:
    """An encoder whose vector of a text is the row of numbers in the text (or title)."""

    name = "written"
    fingerprint = "f00"

    def __init__(self, dim=2, distance="dot"):
        self.dim, self.distance = dim, distance

    def describe(self):
        return {"dim": self.dim}

    def space(self, format, role):
        return "one"

    def path(self, format, role):
        return "one"

    def texts(self, items, role, fields):
        return [self._text(item) for item in items]

    def encode(self, items, *, format, role, fields):
        return np.array([[float(x) for x in self._text(item).split()] for item in items], np.float32)

    def _text(self, item):
        if isinstance(item, Label):
            return item.definition or item.name
        return item if isinstance(item, str) else item.title


def build_system(tmp_path, dim=2, distance="dot"):
    return DenseSystem(TextVectorEncoder(dim, distance), tmp_path)


def spell_vectors(vectors):
    """Return texts with these vectors."""
    return [" ".join(repr(float(x)) for x in row) for row in vectors]
