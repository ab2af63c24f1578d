"""The ranker: a small network from the evidence of a candidate to the probability that it is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from sciprism.arrays import Doubles, Floats
from sciprism.uses.calibration import Calibration
from sciprism.uses.tagging.evidence import FEATURES

HIDDEN = (64, 32)
EPOCHS = 4
BATCH = 4096
RATE = 3e-3
WEIGHT_DECAY = 1e-4
MIN_DEVIATION = 1e-2
CONSTANT = np.float32(1e12)  # the scale of a feature that was constant in training


@dataclass(frozen=True, slots=True, eq=False)
class Ranker:
    """A network over some features of the evidence. mean, scale: (f,) of the features; layers: weights and biases."""

    columns: tuple[int, ...]
    mean: Floats
    scale: Floats
    layers: tuple[tuple[Floats, Floats], ...]

    @classmethod
    def fit(cls, features: Floats, right: Floats, columns: Sequence[int], *, seed: int = 0) -> Ranker:
        """Train on candidates (c, f) and whether each is right (c,), by cross-entropy."""
        chosen = np.ascontiguousarray(features[:, list(columns)])
        mean = chosen.mean(axis=0)
        scale = chosen.std(axis=0)
        scale[scale < MIN_DEVIATION] = CONSTANT  # nothing was learned of it: no value of it is evidence
        chosen -= mean
        chosen /= scale
        network = _train(torch.from_numpy(chosen), torch.from_numpy(right.astype(np.float32)), seed)
        linear = [layer for layer in network if isinstance(layer, nn.Linear)]
        layers = tuple((layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linear)
        return cls(tuple(columns), mean, scale, layers)

    def score(self, features: Floats) -> Doubles:
        """Return the log odds of candidates (c, f), (c,)."""
        values = (features[:, list(self.columns)] - self.mean) / self.scale
        for number, (weight, bias) in enumerate(self.layers):
            values = values @ weight.T + bias
            if number < len(self.layers) - 1:
                values = np.maximum(values, 0)
        return values[:, 0].astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Weighing:
    """How evidence becomes a probability. threshold: the one with the best F1 on held-out papers."""

    ranker: Ranker
    calibration: Calibration
    threshold: float

    def weigh(self, features: Floats) -> Doubles:
        """Return the probability of each candidate (c,)."""
        return self.calibration.apply(self.ranker.score(features))

    def to_json(self) -> dict[str, Any]:
        """Return ranker, calibration and threshold as JSON values; features by name."""
        ranker, calibration = self.ranker, self.calibration
        return {
            "ranker": {
                "columns": [FEATURES[column] for column in ranker.columns],
                "mean": ranker.mean.tolist(),
                "scale": ranker.scale.tolist(),
                "layers": [{"weight": weight.tolist(), "bias": bias.tolist()} for weight, bias in ranker.layers],
            },
            "calibration": {"scores": calibration.scores.tolist(), "probabilities": calibration.probabilities.tolist()},
            "threshold": self.threshold,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Weighing:
        """Return what `to_json` gave; ValueError for an unknown feature."""
        given = values["ranker"]
        ranker = Ranker(
            tuple(FEATURES.index(name) for name in given["columns"]),
            np.array(given["mean"], np.float32),
            np.array(given["scale"], np.float32),
            tuple(
                (np.array(part["weight"], np.float32), np.array(part["bias"], np.float32)) for part in given["layers"]
            ),
        )
        steps = (np.array(values["calibration"][name], np.float64) for name in ("scores", "probabilities"))
        return cls(ranker, Calibration(*steps), float(values["threshold"]))


def _train(features: torch.Tensor, right: torch.Tensor, seed: int) -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        sizes = (features.shape[1], *HIDDEN)
        hidden = [part for pair in pairwise(sizes) for part in (nn.Linear(*pair), nn.ReLU())]
        network = nn.Sequential(*hidden, nn.Linear(sizes[-1], 1))
        optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=WEIGHT_DECAY)
        batches = max(1, -(-len(features) // BATCH))
        epochs = max(EPOCHS, min(200, 400 // batches))
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=epochs * batches)
        for _ in range(epochs):
            order = torch.randperm(len(features))
            for start in range(0, len(features), BATCH):
                rows = order[start : start + BATCH]
                scores = network(features[rows])[:, 0]
                loss = nn.functional.binary_cross_entropy_with_logits(scores, right[rows])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                schedule.step()
    return network
