"""Our own claim (P1): one pass for every format."""

from __future__ import annotations

from sciprism.reproduce.claims.declared import Claim, against, all_of, beside
from sciprism.reproduce.claims.registry import claims

RIVALS = ("single", "control-codes", "adapters", "attention-experts", "facets")
MARGIN = 0.005
"""Half a point: as good as."""
COST, MORE = "cost of all formats above one pass", 0.10
"""What is measured beside the scores, at 256 tokens, and how much is allowed."""

DECLARED = (
    Claim(
        id="P1",
        paper="prism",
        text="One pass gives the vectors of every format as good as adapters or experts, at the cost of one",
        figure="none, it is ours",
        test="the same backbone, data and steps; half a point is the margin, a tenth that of the cost",
        questions=(
            *all_of(
                *(
                    against("prism", rival, "Average", direction="not below", margin=MARGIN)
                    for rival in RIVALS
                )
            ),
            *beside(
                *(against("prism", "backbone", group) for group in ("In-Train", "Out-of-Train", "Average"))
            ),
        ),
        tables=("P1",),
        command="python benchmarks/formats.py --cost results/prism",
        measured=(COST,),
    ),
)
for claim in DECLARED:
    claims.register(claim.id)(claim)
