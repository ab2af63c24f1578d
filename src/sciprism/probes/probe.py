"""A fitted probe and its predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats, inner_products
from sciprism.probes.features import check_features
from sciprism.probes.targets import ProbeTargets, TargetKind


@dataclass(frozen=True, slots=True)
class Probe:
    """Vectors (k, d) and intercepts (k,) of the decision functions, and their kind.

    classes: the values that a probe of kind "classes" predicts, ascending; two classes share one vector.
    """

    kind: TargetKind
    vectors: Floats
    intercepts: Floats
    classes: NDArray[Any] | None = None

    def decide(self, features: NDArray[np.floating]) -> Floats:
        """Return the decision values (n, k) of features (n, d)."""
        rows = torch.from_numpy(check_features(features))
        return np.asarray(inner_products(rows, torch.from_numpy(self.vectors)).numpy() + self.intercepts)

    def predict(self, features: NDArray[np.floating]) -> NDArray[Any]:
        """Return, of features (n, d), classes (n,), labels (n, k) of 0 and 1, or values (n, k).

        The class has the highest decision value, the lowest class among equals. A label is predicted where
        its decision value is above 0.
        """
        decisions = self.decide(features)
        if self.kind == "values":
            return decisions
        if self.kind == "labels":
            return (decisions > 0).astype(np.int64)
        assert self.classes is not None
        return self.classes[choose_classes(decisions)]


def build_probe(targets: ProbeTargets, vectors: Doubles, intercepts: Doubles) -> Probe:
    """Return the probe of weights (k, d) and intercepts (k,); constant labels stay constant."""
    constant = targets.constant()
    vectors[constant], intercepts[constant] = 0, targets.columns[constant, 0]
    return Probe(targets.kind, vectors.astype(np.float32), intercepts.astype(np.float32), targets.classes)


def choose_classes(decisions: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return the class numbers (..., n) of decision values (..., n, k); k = 1 means two classes."""
    if decisions.shape[-1] == 1:
        return (decisions[..., 0] > 0).astype(np.int64)
    highest: NDArray[np.int64] = decisions.argmax(axis=-1)
    return highest
