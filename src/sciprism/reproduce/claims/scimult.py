"""SciMult's claims (S1 to S9): multi-task training, experts, warm-up, hard negatives, labels."""

from __future__ import annotations

from sciprism.reproduce.claims.claim import (
    Claim,
    ContrastSide,
    Direction,
    ScoreContrast,
    require_all,
    require_any,
    show_only,
    versus,
)
from sciprism.reproduce.claims.registry import register_claims

FIVE = ("fine", "coarse", "retrieval", "reranking", "search")


def swapped_instruction(instruction: str) -> ScoreContrast:
    """Return the effect of another link instruction at inference; the margin is one point of MAP."""
    return ScoreContrast(
        f"{instruction} instruction within 1 MAP of cite",
        ContrastSide(f"instruction+{instruction}", "reranking"),
        ContrastSide("instruction+cite", "reranking"),
        direction="within",
        margin=0.01,
        metrics=("map",),
    )


def label_name_gain(model: str) -> ScoreContrast:
    """Return the effect of the label-name rule on a model."""
    name = f"{model}, names first above vectors alone"
    return ScoreContrast(name, ContrastSide(model, "fine"), ContrastSide(model, "fine without names"))


def definition_gain(model: str) -> ScoreContrast:
    """Return the effect of label definitions, in addition to names, on a model."""
    group = "fine with definitions"
    name = f"{model}, names and definitions above names"
    return ScoreContrast(name, ContrastSide(model, group), ContrastSide(model, group, "names-only"))


GAIN_AND_LOSS: tuple[Direction, ...] = ("above", "below")
MIXED = [
    tuple(versus(model, "vanilla", group, direction=direction, relative=True) for group in FIVE)
    for model in ("ffn-expert", "prefix", "instruction")
    for direction in GAIN_AND_LOSS
]
RIVALS = ("vanilla", "ffn-expert", "prefix", "instruction")

register_claims(
    "scimult",
    Claim(
        id="S1",
        text="Contrastive training on several kinds of tasks beats the untouched backbone and training on "
        "citations alone",
        figure="fine 60.3 against 52.2, search 66.5 against 47.1 (Vanilla, SPECTER)",
        test="Vanilla against the untouched MiniLM and against a citation-only run",
        questions=(
            *require_all(
                *(versus("vanilla", "backbone", g) for g in ("fine", "retrieval", "reranking", "search")),
                *(versus("vanilla", "citation-only", g) for g in ("fine", "search")),
            ),
            *show_only(versus("vanilla", "backbone", "fine without names"), versus("vanilla", "backbone", "coarse")),
        ),
        tables=("S1",),
    ),
    Claim(
        id="S2",
        text="Attention experts are above Vanilla in every group of tasks",
        figure="+3.2, +1.0, +4.1, +0.1, +0.9 % (fine, coarse, retrieval, reranking, search)",
        test="the same sources and steps",
        questions=require_all(*(versus("mha-expert", "vanilla", group, relative=True) for group in FIVE)),
        tables=("9",),
    ),
    Claim(
        id="S3",
        text="Feed-forward experts, prefixes and instructions help some groups and hurt others",
        figure="search -9.3, -1.3, -3.3 %",
        test="each against Vanilla: a group above, and a group below",
        questions=tuple(question for some in MIXED for question in require_any(*some)),
        tables=("9",),
    ),
    Claim(
        id="S4",
        text="Attention experts are the best variant on domains without training papers",
        figure="Geography and Psychology: best of all",
        test="tasks of SciMult's groups without similar training data",
        questions=require_all(*(versus("mha-expert", rival, "out of train") for rival in RIVALS)),
        tables=("S4",),
    ),
    Claim(
        id="S5",
        text="Hard negatives help",
        figure="fine +0.4, retrieval +2.6, search +0.6; coarse 77.4 -> 75.5",
        test="Vanilla with and without them",
        questions=(
            *require_all(
                *(versus("vanilla", "vanilla-no-hard-negatives", group) for group in ("fine", "retrieval", "search"))
            ),
            *show_only(
                versus("vanilla", "vanilla-no-hard-negatives", "coarse", direction="below"),
                versus("vanilla", "vanilla-no-hard-negatives", "reranking"),
            ),
        ),
        tables=("A4",),
    ),
    Claim(
        id="S6",
        text="Initializing the experts from a trained Vanilla helps",
        figure="fine +2.2, retrieval +2.9, search +4.7",
        test="MHAExpert with and without the warm-up",
        questions=(
            *require_all(
                *(versus("mha-expert", "mha-expert-no-warm-up", group) for group in ("fine", "retrieval", "search"))
            ),
            *show_only(*(versus("mha-expert", "mha-expert-no-warm-up", group) for group in ("coarse", "reranking"))),
        ),
        tables=("A5",),
    ),
    Claim(
        id="S7",
        text="Another instruction at inference changes little",
        figure="within 1 MAP",
        test="link instructions swapped, MAP of reranking, margin 1",
        questions=require_all(*(swapped_instruction(instruction) for instruction in ("co-view", "co-read", "co-cite"))),
        tables=("A6",),
    ),
    Claim(
        id="S8",
        text="Definitions in addition to label names help",
        figure="R@100 67.8 -> 75.1 (computer science)",
        test="arXiv categories, which are defined",
        questions=(
            *require_all(definition_gain("mha-expert")),
            *show_only(definition_gain("vanilla"), definition_gain("backbone")),
        ),
        tables=("A8",),
    ),
    Claim(
        id="S9",
        text="Ranking labels whose name is in the paper first improves every encoder",
        figure="Vanilla 42.7 -> 60.3",
        test="fine classification with and without the rule",
        questions=require_all(*(label_name_gain(model) for model in ("vanilla", "mha-expert", "backbone"))),
        tables=("3", "A3", "S1"),
    ),
)
