"""Weights between a stage's start and its end: new tasks learnt, less of the others forgotten.

WiSE-FT (Wortsman et al. 2022, equation 1): on the line between the two, what was learnt comes early and what
is forgotten late.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError

Shares = float | Mapping[str, float]
"""How far to go from the start, 1 for all the way: of all weights, or of modules of these names."""


def share_of(name: str, shares: Shares) -> float:
    """Return how far the weights of a parameter go; all the way where no name is a part of its own."""
    if not isinstance(shares, Mapping):
        return shares
    return next((share for part, share in shares.items() if part in name.split(".")), 1.0)


def check_shares(encoder: Encoder, shares: Shares) -> None:
    """Refuse a name that belongs to no weights that are trained."""
    trained = [name for name, each in encoder.model.named_parameters() if each.requires_grad]
    known = {part for name in trained for part in name.split(".")}
    if lost := sorted(set(shares) - known if isinstance(shares, Mapping) else ()):
        raise InputError(f"interpolation: no weights that are trained are those of {lost[0]!r}")


def starts_of(encoder: Encoder, shares: Shares) -> dict[str, Tensor]:
    """Return copies of the weights that training will change and interpolation will ask for."""
    return {
        name: each.detach().clone()
        for name, each in encoder.model.named_parameters()
        if each.requires_grad and share_of(name, shares) < 1
    }


def interpolate(encoder: Encoder, starts: Mapping[str, Tensor], shares: Shares) -> None:
    """Draw a model's weights towards those that they started from; prepare it before it encodes."""
    with torch.no_grad():
        for name, weight in encoder.model.named_parameters():
            if name in starts:
                weight.copy_(torch.lerp(starts[name].to(weight), weight, share_of(name, shares)))
