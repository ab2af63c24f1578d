"""INDUS's claims (I1 to I6): domain vocabulary and texts, and small models."""

from __future__ import annotations

from collections.abc import Sequence

from evidence.claim import Claim, ClaimQuestion, ScoreContrast, printed, require_all, show_only, versus
from evidence.verdict import Direction

BOTH = ("NASA-IR", "BEIR")
MARGIN = 0.01
"""One point: smaller differences do not count."""


def compare_on_both(
    ours: str,
    other: str,
    *,
    direction: Direction = "above",
    margin: float = 0.0,
    figures: Sequence[float] = (),
) -> tuple[ScoreContrast, ...]:
    """Return one contrast of two models per retrieval group; figures: the paper's differences there, in points."""
    return tuple(
        versus(ours, other, group, direction=direction, margin=margin, figure=figure)
        for group, figure in zip(BOTH, map(printed, figures) if figures else (None, None), strict=True)
    )


DOMAIN_FIGURES = (printed(64.0, 60.8), 5, 4)
"""Of vocabulary and text together: the paper has no encoder with one of them."""


def beat_general(other: str) -> tuple[ClaimQuestion, ...]:
    """Return the questions whether the domain's arm is above another one on climate entities and on both groups."""
    entities = versus("domain", other, "climate entities", figure=DOMAIN_FIGURES[0])
    return require_all(entities, *compare_on_both("domain", other, figures=DOMAIN_FIGURES[1:]))


SETTING = (
    "Encoders have 6 or 2 layers of 384 (7 to 23 million parameters) and begin as all-MiniLM-L6-v2 with our own words, "
    "in place of RoBERTa-base's shape from nothing; stages take some hundred steps on texts of 96 tokens in place of "
    "500,000 on 512. The data behind the names of the paper's tests are stand-ins, listed with each claim."
)
CLAIMS = (
    Claim(
        id="I1",
        text="A tokenizer of the domain needs fewer tokens",
        figure="about 8 % fewer (5.8 % over all, recomputed)",
        test="held-out texts of each domain",
        command="python benchmarks/tokens.py OURS OTHER --texts DOMAIN=FILE --figure -0.058 --evidence results/indus",
    ),
    Claim(
        id="I2a",
        text="A vocabulary of the domain beats a general one on its tasks",
        figure="with vocabulary and text of the domain, climate entities 64.0 against 60.8",
        test="both vocabularies new, not RoBERTa's; texts of the domain, one size, initialization and number of steps",
        questions=(
            *beat_general("general-words"),
            *show_only(
                versus("domain", "general", "climate entities", figure=DOMAIN_FIGURES[0]),
                *compare_on_both("domain", "general", figures=DOMAIN_FIGURES[1:]),
                versus("domain", "general", "classification"),
            ),
        ),
        tables=("I2-domain", "I2-entities"),
    ),
    Claim(
        id="I2b",
        text="Pre-training on texts of the domain beats general texts on its tasks",
        figure="with vocabulary and text of the domain, climate entities 64.0 against 60.8",
        test="masked-LM on texts of the domain or general, with the domain's vocabulary, as many steps",
        questions=beat_general("general-text"),
        remarks=(
            "All arms then train on titles and abstracts of the domain, so their corpora differ in the steps of "
            "masked-LM alone; the general one is of speeches and a novel, 2.2 million words.",
        ),
        tables=("I2-domain", "I2-entities"),
    ),
    Claim(
        id="I3",
        text="A small retriever keeps up with a large one at several times its speed",
        figure="NASA-IR 0.73 against 0.71 at 4.6x",
        test="a small model against its teacher",
        questions=(
            *require_all(*compare_on_both("retriever-small", "retriever-base", direction="not below", margin=MARGIN)),
            *show_only(*compare_on_both("retriever-small-minilm", "minilm", direction="not below", margin=MARGIN)),
        ),
        tables=("8", "teachers"),
        command="python benchmarks/retrieval_time.py LARGE SMALL --data FOLDER --evidence results/indus",
        measured=("times as fast",),
    ),
    Claim(
        id="I4",
        text="The four-sum InfoNCE beats plain in-batch contrast",
        figure="adopted from GTE",
        test="the same data and steps, at temperatures of 0.05 and 0.02",
        questions=(
            *require_all(
                *compare_on_both("retriever-base", "retriever-base-contrast"),
                *compare_on_both("retriever-base-sharp", "retriever-base-contrast-sharp"),
            ),
            *show_only(
                *compare_on_both("retriever-base-once", "retriever-base-contrast"),
                *compare_on_both("retriever-base", "retriever-base-once"),
            ),
        ),
        tables=("I4",),
    ),
    Claim(
        id="I5",
        text="Masked auto-encoding helps the small model and not the large one",
        figure="stated without figures",
        test="with and without",
        questions=require_all(
            *compare_on_both("retriever-small", "retriever-small-no-retromae"),
            *compare_on_both("retriever-base", "retriever-base-retromae", direction="not below", margin=MARGIN),
        ),
        tables=("I5",),
    ),
    Claim(
        id="I6",
        text="Distillation in one stage beats several stages",
        figure="BEIR 0.42 against 0.41",
        test="both",
        questions=require_all(*compare_on_both("retriever-small", "retriever-small-staged", figures=(1, 1))),
        tables=("9",),
    ),
)
