"""Systems of tests: vectors known beforehand, so that every score can be worked out by hand."""

import numpy as np

from sciprism.evaluation.systems import NotServedError
from sciprism.evaluation.systems.dense import DenseSystem
from sciprism.papers import Label


class Written:
    """An encoder's face whose vector of a text is the row of numbers that the text (or title) spells."""

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


def written(tmp_path, dim=2, distance="dot"):
    return DenseSystem(Written(dim, distance), tmp_path)


def spelled(vectors):
    """Texts whose vectors these are."""
    return [" ".join(repr(float(x)) for x in row) for row in vectors]


class Voiceless:
    """A system without vectors, as BM25."""

    name = "voiceless"
    fingerprint = "v"

    def describe(self):
        return {}

    def vectors(self, texts):
        raise NotServedError("it has no vectors")
