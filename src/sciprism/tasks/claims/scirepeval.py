"""SciRepEval's claims (R1 to R7): several vectors for one paper; each gets its contrasts with its models."""

from __future__ import annotations

from sciprism.tasks.claims import claims
from sciprism.tasks.claims.declared import Claim

DECLARED = (
    Claim(
        id="R1",
        paper="scirepeval",
        text="Several vectors of a paper beat one, by codes or adapters",
        figure="70.2 and 70.7 against 69.2 (average)",
        test="the open suite, tasks like the training and others",
    ),
    Claim(
        id="R2",
        paper="scirepeval",
        text="Out of train, adapters lead",
        figure="58.8 against 57.7 (codes) and 56.7 (one CLS)",
        test="out-of-train tasks of the open suite",
    ),
    Claim(
        id="R3",
        paper="scirepeval",
        text="An ensemble of adapters and codes is best",
        figure="71.0",
        test="the open suite",
    ),
    Claim(
        id="R4",
        paper="scirepeval",
        text="Each code is best on its own format",
        figure="the diagonal of Table 4",
        test="every format scored with every code (--as-format)",
    ),
    Claim(
        id="R5",
        paper="scirepeval",
        text="Parting tasks by format beats parting them at random",
        figure="out of train +0.2, +3.9, +4.5, +2.2",
        test="five random partitions",
    ),
    Claim(
        id="R6",
        paper="scirepeval",
        text="Codes cost nothing, adapters little, PALs and fusion much",
        figure="inference 1x, 1.05x, 1.29x, 1.69x",
        test="time of each method",
    ),
    Claim(
        id="R7",
        paper="scirepeval",
        text="Citation triplets help tasks that are no citations",
        figure="out of train 57.5 -> 57.9",
        test="training without that objective",
    ),
)
for claim in DECLARED:
    claims.register(claim.id)(claim)
