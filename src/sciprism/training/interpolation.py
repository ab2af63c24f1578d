"""Weights between a stage's start and its end: most of the new tasks, less forgetting of the others.

WiSE-FT (Wortsman et al. 2022, equation 1): on the line between the two, the gain comes early and the loss
late.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError

InterpolationWeights = float | Mapping[str, float]
"""The weight of the stage's end, 1 for the end alone: of all weights, or by names of modules."""


def interpolation_weight(name: str, weights: InterpolationWeights) -> float:
    """Return the weight of the end for a parameter; 1 where no name is a part of its own."""
    if not isinstance(weights, Mapping):
        return weights
    return next((weight for part, weight in weights.items() if part in name.split(".")), 1.0)


def check_interpolation(encoder: Encoder, weights: InterpolationWeights) -> None:
    """Refuse names of modules without trained weights."""
    trained = [name for name, parameter in encoder.model.named_parameters() if parameter.requires_grad]
    modules = {part for name in trained for part in name.split(".")}
    if unknown := sorted(set(weights) - modules if isinstance(weights, Mapping) else ()):
        raise InputError(f"interpolation: no module {unknown[0]!r} has weights that are trained")


def copy_start_weights(encoder: Encoder, weights: InterpolationWeights) -> dict[str, Tensor]:
    """Return copies of the weights that training changes and interpolation needs."""
    return {
        name: parameter.detach().clone()
        for name, parameter in encoder.model.named_parameters()
        if parameter.requires_grad and interpolation_weight(name, weights) < 1
    }


def interpolate(encoder: Encoder, start_weights: Mapping[str, Tensor], weights: InterpolationWeights) -> None:
    """Interpolate a model's weights with those of its start; call `prepare` before it encodes."""
    with torch.no_grad():
        for name, weight in encoder.model.named_parameters():
            if name in start_weights:
                weight.copy_(torch.lerp(start_weights[name].to(weight), weight, interpolation_weight(name, weights)))
