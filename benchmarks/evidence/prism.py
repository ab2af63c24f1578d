"""Our claim (P1): one pass for every format."""

from __future__ import annotations

from evidence.claim import Claim, require_all, show_only, versus

RIVALS = ("single", "control-codes", "adapters", "attention-experts", "facets")
SHOWN = ("pals", "adapter-fusion", "prefix")
ONE_PASS = ("control-codes@proximity", "adapters@proximity")
"""Methods with the vectors of one format for all tasks: what a single pass buys there."""
GROUPS = ("In-Train", "Out-of-Train", "Average")
MARGIN = 0.005
"""Half a point: smaller differences do not count."""
COST, MAX_COST = "cost of all formats above one pass", 0.10
"""The measurement in addition to scores, at 256 tokens, and its limit."""

SETTING = "Ours: no paper claims it. The encoder is all-MiniLM-L6-v2 (6 layers of 384, 23 million parameters)."
CLAIMS = (
    Claim(
        id="P1",
        text="One pass gives the vectors of every format as good as adapters or experts, at the cost of one",
        figure="none (our claim)",
        test="the same backbone, data and steps; half a point is the margin, a tenth that of the cost, over rounds",
        questions=(
            *require_all(
                *(versus("prism", rival, "Average", direction="not below", margin=MARGIN) for rival in RIVALS)
            ),
            *show_only(
                *(versus("prism", rival, "Average", direction="not below", margin=MARGIN) for rival in SHOWN),
                *(versus("prism", rival, "Average") for rival in ONE_PASS),
                versus("prism-trained", "prism", "Average"),
                *(versus(model, "backbone", group) for model in ("prism", "prism-trained") for group in GROUPS),
            ),
        ),
        tables=("P1", "P1-one-pass"),
        command="python benchmarks/formats.py --cost results/prism",
        measured=(COST,),
    ),
)
