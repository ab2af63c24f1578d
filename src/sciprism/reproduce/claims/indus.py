"""INDUS's claims (I1 to I6): a vocabulary and texts of a domain, and small models."""

from __future__ import annotations

from sciprism.reproduce.claims.declared import Claim, Contrast, Direction, against, all_of, beside
from sciprism.reproduce.claims.registry import claims

BOTH = ("NASA-IR", "BEIR")
MARGIN = 0.01
"""One point: less is not said to differ."""


def both(
    ours: str, other: str, *, direction: Direction = "above", margin: float = 0.0
) -> tuple[Contrast, ...]:
    """Return a contrast of two models over each group of searches."""
    return tuple(against(ours, other, group, direction=direction, margin=margin) for group in BOTH)


DECLARED = (
    Claim(
        id="I1",
        paper="indus",
        text="A tokenizer of the domain needs fewer tokens",
        figure="about 8 % fewer (5.8 % over all, recomputed)",
        test="held-out texts of each domain",
        command="python benchmarks/tokens.py OURS OTHER --texts DOMAIN=FILE --evidence results/indus",
    ),
    Claim(
        id="I2",
        paper="indus",
        text="Pre-training on the domain beats general vocabulary and text on its tasks",
        figure="climate entities 64.0 against 60.8",
        test="small encoders, our own and general ones",
        questions=(
            *all_of(*both("retriever-base", "roberta-base")),
            *beside(
                against("encoder", "encoder-general", "classification"),
                against("encoder-small", "minilm-encoder", "climate entities"),
            ),
        ),
        tables=("I2", "6"),
    ),
    Claim(
        id="I3",
        paper="indus",
        text="A small retriever keeps up with a large one at several times its speed",
        figure="NASA-IR 0.73 against 0.71 at 4.6x",
        test="a small model against its teacher",
        questions=(
            *all_of(*both("retriever-small", "retriever-base", direction="not below", margin=MARGIN)),
            *beside(*both("retriever-small-minilm", "minilm", direction="not below", margin=MARGIN)),
        ),
        tables=("8", "teachers"),
        command="python benchmarks/retrieval_time.py LARGE SMALL --data FOLDER --evidence results/indus",
        measured=("times as fast",),
    ),
    Claim(
        id="I4",
        paper="indus",
        text="The four-sum InfoNCE beats plain in-batch contrast",
        figure="taken over from GTE",
        test="the same data and steps",
        questions=(
            *all_of(*both("retriever-base", "retriever-base-contrast")),
            *beside(
                *both("retriever-base-once", "retriever-base-contrast"),
                *both("retriever-base", "retriever-base-once"),
            ),
        ),
        tables=("I4",),
    ),
    Claim(
        id="I5",
        paper="indus",
        text="Masked auto-encoding helps the small model and not the large one",
        figure="stated without figures",
        test="with and without",
        questions=all_of(
            *both("retriever-small", "retriever-small-no-retromae"),
            *both("retriever-base", "retriever-base-retromae", direction="not below", margin=MARGIN),
        ),
        tables=("I5",),
    ),
    Claim(
        id="I6",
        paper="indus",
        text="Distillation in one stage beats several stages",
        figure="BEIR 0.42 against 0.41",
        test="both",
        questions=all_of(*both("retriever-small", "retriever-small-staged")),
        tables=("ablation",),
    ),
)
for claim in DECLARED:
    claims.register(claim.id)(claim)
