"""Our own claim (P1): one pass for every format."""

from __future__ import annotations

from sciprism.tasks.claims import claims
from sciprism.tasks.claims.declared import Claim

DECLARED = (
    Claim(
        id="P1",
        paper="prism",
        text="One pass gives the vectors of every format as good as adapters or experts",
        figure="none, it is ours",
        test="the prism study",
    ),
)
for claim in DECLARED:
    claims.register(claim.id)(claim)
