"""Our own claim (P1): one pass for every format."""

from __future__ import annotations

from sciprism.tasks.claims import claims
from sciprism.tasks.claims.declared import Claim, against, all_of, beside

RIVALS = ("single", "control-codes", "adapters", "attention-experts", "facets")
MARGIN = 0.005
"""Half a point: as good as."""

DECLARED = (
    Claim(
        id="P1",
        paper="prism",
        text="One pass gives the vectors of every format as good as adapters or experts",
        figure="none, it is ours",
        test="the same backbone, data and steps; half a point is the margin",
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
    ),
)
for claim in DECLARED:
    claims.register(claim.id)(claim)
