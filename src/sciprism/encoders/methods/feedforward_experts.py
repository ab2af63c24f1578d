"""`feedforward-experts`: one feed-forward per format (SciMult's FFNExpert)."""

from __future__ import annotations

from sciprism.encoders.methods.experts import Experts
from sciprism.encoders.methods.registry import methods


@methods.register("feedforward-experts")
class FeedForwardExperts(Experts):
    """An expert owns both linear maps and the norm after them; attention stays shared."""

    sublayers = ("feed_forward", "feed_forward_norm")
