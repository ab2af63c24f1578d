"""INDUS's claims (I1 to I6): a vocabulary and texts of a domain, and small models."""

from __future__ import annotations

from sciprism.tasks.claims import claims
from sciprism.tasks.claims.declared import Claim

DECLARED = (
    Claim(
        id="I1",
        paper="indus",
        text="A tokenizer of the domain needs fewer tokens",
        figure="about 8 % fewer (5.8 % over all, recomputed)",
        test="held-out texts of each domain",
    ),
    Claim(
        id="I2",
        paper="indus",
        text="Pre-training on the domain beats general vocabulary and text on its tasks",
        figure="climate entities 64.0 against 60.8",
        test="small encoders, our own and general ones",
    ),
    Claim(
        id="I3",
        paper="indus",
        text="A small retriever keeps up with a large one at several times its speed",
        figure="NASA-IR 0.73 against 0.71 at 4.6x",
        test="a small model against its teacher",
    ),
    Claim(
        id="I4",
        paper="indus",
        text="The four-sum InfoNCE beats plain in-batch contrast",
        figure="taken over from GTE",
        test="the same data and steps",
    ),
    Claim(
        id="I5",
        paper="indus",
        text="Masked auto-encoding helps the small model and not the large one",
        figure="stated without figures",
        test="with and without",
    ),
    Claim(
        id="I6",
        paper="indus",
        text="Distillation in one stage beats several stages",
        figure="BEIR 0.42 against 0.41",
        test="both",
    ),
)
for claim in DECLARED:
    claims.register(claim.id)(claim)
