"""SciMult's claims (S1 to S9): what its tables say of several tasks, experts, warm-up, negatives, labels."""

from __future__ import annotations

from sciprism.reproduce.claims.declared import Claim, Contrast, Side, against, all_of, any_of, beside
from sciprism.reproduce.claims.registry import claims

FIVE = ("fine", "coarse", "retrieval", "reranking", "search")
INSTRUCTIONS = ("co-view", "co-read", "co-cite")


def helps_and_hurts(model: str) -> tuple[tuple[Contrast, ...], tuple[Contrast, ...]]:
    """Return a variant against Vanilla in every group, once as a gain and once as a loss."""
    up, down = (
        tuple(against(model, "vanilla", group, direction=way, relative=True) for group in FIVE)
        for way in ("above", "below")  # type: tuple[Direction, Direction]
    )
    return up, down


def swapped(instruction: str) -> Contrast:
    """Return the effect of another link instruction at inference; one point of MAP is the margin."""
    return Contrast(
        name=f"{instruction} instruction within 1 MAP of cite",
        ours=Side(model=f"instruction+{instruction}", group="reranking"),
        other=Side(model="instruction+cite", group="reranking"),
        direction="within",
        margin=0.01,
        metrics=("map",),
    )


def names_first(model: str) -> Contrast:
    """Return what the label-name rule gives to a model."""
    return Contrast(
        name=f"{model}, names first above vectors alone",
        ours=Side(model=model, group="fine"),
        other=Side(model=model, group="fine without names"),
    )


def defined(model: str) -> Contrast:
    """Return what definitions beside the labels' names give to a model."""
    return Contrast(
        name=f"{model}, names and definitions above names",
        ours=Side(model=model, group="fine with definitions"),
        other=Side(model=model, group="fine with definitions", variant="names-only"),
    )


MIXED = [side for model in ("ffn-expert", "prefix", "instruction") for side in helps_and_hurts(model)]
RIVALS = ("vanilla", "ffn-expert", "prefix", "instruction")

DECLARED = (
    Claim(
        id="S1",
        paper="scimult",
        text="Contrastive training on several kinds of tasks beats the untouched backbone and training on "
        "citations alone",
        figure="fine 60.3 against 52.2, search 66.5 against 47.1 (Vanilla, SPECTER)",
        test="Vanilla against the untouched MiniLM and against a citation-only run",
        questions=(
            *all_of(
                *(against("vanilla", "backbone", g) for g in ("fine", "retrieval", "reranking", "search")),
                *(against("vanilla", "citation-only", g) for g in ("fine", "search")),
            ),
            *beside(
                against("vanilla", "backbone", "fine without names"), against("vanilla", "backbone", "coarse")
            ),
        ),
        tables=("S1",),
    ),
    Claim(
        id="S2",
        paper="scimult",
        text="Attention experts are above Vanilla in every group of tasks",
        figure="+3.2, +1.0, +4.1, +0.1, +0.9 % (fine, coarse, retrieval, reranking, search)",
        test="the same sources and steps",
        questions=all_of(*(against("mha-expert", "vanilla", group, relative=True) for group in FIVE)),
        tables=("9",),
    ),
    Claim(
        id="S3",
        paper="scimult",
        text="Feed-forward experts, prefixes and instructions help some groups and hurt others",
        figure="search -9.3, -1.3, -3.3 %",
        test="each against Vanilla: a group above, and a group below",
        questions=tuple(question for some in MIXED for question in any_of(*some)),
        tables=("9",),
    ),
    Claim(
        id="S4",
        paper="scimult",
        text="Of all variants attention experts do best where no training paper comes from",
        figure="Geography and Psychology: best of all",
        test="the tasks of SciMult's groups that training recipes have nothing like",
        questions=all_of(*(against("mha-expert", rival, "out of train") for rival in RIVALS)),
        tables=("S4",),
    ),
    Claim(
        id="S5",
        paper="scimult",
        text="Hard negatives help",
        figure="fine +0.4, retrieval +2.6, search +0.6; coarse 77.4 -> 75.5",
        test="Vanilla with and without them",
        questions=(
            *all_of(
                *(
                    against("vanilla", "vanilla-no-hard-negatives", group)
                    for group in ("fine", "retrieval", "search")
                )
            ),
            *beside(
                against("vanilla", "vanilla-no-hard-negatives", "coarse", direction="below"),
                against("vanilla", "vanilla-no-hard-negatives", "reranking"),
            ),
        ),
        tables=("A4",),
    ),
    Claim(
        id="S6",
        paper="scimult",
        text="Starting the experts from a trained Vanilla helps",
        figure="fine +2.2, retrieval +2.9, search +4.7",
        test="MHAExpert with and without the warm-up",
        questions=(
            *all_of(
                *(
                    against("mha-expert", "mha-expert-no-warm-up", group)
                    for group in ("fine", "retrieval", "search")
                )
            ),
            *beside(
                *(against("mha-expert", "mha-expert-no-warm-up", group) for group in ("coarse", "reranking"))
            ),
        ),
        tables=("A5",),
    ),
    Claim(
        id="S7",
        paper="scimult",
        text="Another instruction at inference changes little",
        figure="within 1 MAP",
        test="link instructions swapped, MAP of reranking, margin 1",
        questions=all_of(*(swapped(instruction) for instruction in INSTRUCTIONS)),
        tables=("A6",),
    ),
    Claim(
        id="S8",
        paper="scimult",
        text="Definitions beside the names of labels help",
        figure="R@100 67.8 -> 75.1 (computer science)",
        test="arXiv categories, which are defined",
        questions=(*all_of(defined("mha-expert")), *beside(defined("vanilla"), defined("backbone"))),
        tables=("A8",),
    ),
    Claim(
        id="S9",
        paper="scimult",
        text="Putting labels whose name stands in the paper first lifts every encoder",
        figure="Vanilla 42.7 -> 60.3",
        test="fine classification with and without the rule",
        questions=all_of(*(names_first(model) for model in ("vanilla", "mha-expert", "backbone"))),
        tables=("3", "A3", "S1"),
    ),
)
for claim in DECLARED:
    claims.register(claim.id)(claim)
