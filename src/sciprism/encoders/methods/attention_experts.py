"""`attention-experts`: one attention per format (SciMult's MHAExpert)."""

from __future__ import annotations

from sciprism.encoders.methods.experts import Experts
from sciprism.encoders.methods.registry import methods


@methods.register("attention-experts")
class AttentionExperts(Experts):
    """An expert owns the query, key, value and output maps; the norm after them stays shared."""

    sublayers = ("attention",)
