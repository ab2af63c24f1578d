"""`feedforward-experts`: a feed-forward of its own for each format (SciMult's FFNExpert)."""

from __future__ import annotations

from sciprism.encoders.methods import methods
from sciprism.encoders.methods.experts import Experts


@methods.register("feedforward-experts")
class FeedForwardExperts(Experts):
    """An expert owns both linear maps and the norm after them; attention stays shared."""

    sublayers = ("feed_forward", "feed_forward_norm")
