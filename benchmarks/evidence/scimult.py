"""SciMult's claims (S1 to S9): multi-task training, experts, warm-up, hard negatives, labels."""

from __future__ import annotations

from evidence.claim import Claim, ContrastSide, ScoreContrast, printed, require_all, require_mixed, show_only, versus
from evidence.verdict import Direction

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


def label_name_gain(model: str, figure: float | None = None) -> ScoreContrast:
    """Return the effect of the label-name rule on a model."""
    name = f"{model}, names first above vectors alone"
    sides = ContrastSide(model, "fine"), ContrastSide(model, "fine without names")
    return ScoreContrast(name, *sides, figure=figure)


def definition_gain(model: str, figure: float | None = None) -> ScoreContrast:
    """Return the effect of label definitions, in addition to names, on a model."""
    group = "fine with definitions"
    name = f"{model}, names and definitions above names"
    return ScoreContrast(name, ContrastSide(model, group), ContrastSide(model, group, "names-only"), figure=figure)


RELATIVE = {
    "mha-expert": (3.15, 1.02, 4.06, 0.07, 0.86),
    "ffn-expert": (-0.95, 0.33, 4.91, -0.37, -9.28),
    "prefix": (-0.51, 1.50, 3.46, -0.08, -1.25),
    "instruction": (0.68, 0.93, 0.95, -0.95, -3.32),
}
"""Table 9: changes relative to Vanilla in the five groups, per cent."""


def relative_to_vanilla(model: str) -> tuple[ScoreContrast, ...]:
    """Return a variant's differences from Vanilla, each in the direction that the paper found."""
    contrasts = []
    for group, change in zip(FIVE, RELATIVE[model], strict=True):
        direction: Direction = "above" if change > 0 else "below"
        contrasts.append(versus(model, "vanilla", group, direction=direction, relative=True, figure=printed(change)))
    return tuple(contrasts)


RIVALS = {"vanilla": 63.45, "ffn-expert": 63.79, "prefix": 64.35, "instruction": 65.05}
"""Table 3: means over Geography and Psychology, where attention experts have 67.01."""

SETTING = (
    "The encoder is all-MiniLM-L6-v2 (6 layers of 384, 23 million parameters) in place of PubMedBERT (12 of 768, 110 "
    "million), on texts of 96 tokens in place of 512; batches hold 32 examples in place of 1,536, over one epoch of a "
    "sample in place of 20."
)
CLAIMS = (
    Claim(
        id="S1",
        text="Contrastive training on several kinds of tasks beats the untouched backbone and training on "
        "citations alone",
        figure="fine 60.3 against 43.7 and 52.2, search 66.5 against 25.0 and 47.1 (Vanilla, PubMedBERT, SPECTER)",
        test="Vanilla against the untouched MiniLM and against a citation-only run",
        questions=(
            *require_all(
                versus("vanilla", "backbone", "fine", figure=printed(60.31, 43.74)),
                versus("vanilla", "backbone", "retrieval"),
                versus("vanilla", "backbone", "reranking"),
                versus("vanilla", "backbone", "search", figure=printed(66.48, 25.00)),
                versus("vanilla", "citation-only", "fine", figure=printed(60.31, 52.15)),
                versus("vanilla", "citation-only", "search", figure=printed(66.48, 47.07)),
            ),
            *show_only(versus("vanilla", "backbone", "fine without names"), versus("vanilla", "backbone", "coarse")),
        ),
        tables=("S1",),
    ),
    Claim(
        id="S2",
        text="Attention experts are above Vanilla in every group of tasks",
        figure="+3.2, +1.0, +4.1, +0.1, +0.9 % (fine, coarse, retrieval, reranking, search)",
        test="attention experts after a warm-up as Vanilla, against Vanilla: the same sources, as many steps in all",
        questions=require_all(*relative_to_vanilla("mha-expert")),
        tables=("9",),
    ),
    Claim(
        id="S3",
        text="Feed-forward experts, prefixes and instructions help some groups and hurt others",
        figure="search -9.3, -1.3, -3.3 %",
        test="each after a warm-up as Vanilla, against Vanilla of equally many steps: some group above, and some below",
        questions=tuple(
            question
            for model in ("ffn-expert", "prefix", "instruction")
            for question in require_mixed(f"{model}: some groups above, some below", *relative_to_vanilla(model))
        ),
        tables=("9",),
    ),
    Claim(
        id="S4",
        text="Attention experts are the best variant on domains without training papers",
        figure="Geography and Psychology: best of all, 67.0 on average against 63.5 to 65.0",
        test="tasks of SciMult's groups without similar training data",
        questions=require_all(
            *(
                versus("mha-expert", rival, "out of train", figure=printed(67.01, mean))
                for rival, mean in RIVALS.items()
            )
        ),
        tables=("S4",),
    ),
    Claim(
        id="S5",
        text="Hard negatives help",
        figure="fine +0.4, retrieval +2.6, search +0.6; coarse 77.4 -> 75.5",
        test="Vanilla with and without the hard negatives of the classification sources (Appendix E.1)",
        questions=(
            *require_all(
                versus("vanilla", "vanilla-no-hard-negatives", "fine", figure=printed(60.31, 59.89)),
                versus("vanilla", "vanilla-no-hard-negatives", "retrieval", figure=printed(48.49, 45.90)),
                versus("vanilla", "vanilla-no-hard-negatives", "search", figure=printed(66.48, 65.87)),
            ),
            *show_only(
                versus(
                    "vanilla", "vanilla-no-hard-negatives", "coarse", direction="below", figure=printed(75.51, 77.44)
                ),
                versus("vanilla", "vanilla-no-hard-negatives", "reranking", figure=printed(91.19, 90.88)),
            ),
        ),
        tables=("A4",),
    ),
    Claim(
        id="S6",
        text="Initializing the experts from a trained Vanilla helps",
        figure="fine +2.2, retrieval +2.9, search +4.7",
        test="MHAExpert with and without the warm-up, equally many steps in all",
        questions=(
            *require_all(
                versus("mha-expert", "mha-expert-no-warm-up", "fine", figure=printed(62.21, 59.98)),
                versus("mha-expert", "mha-expert-no-warm-up", "retrieval", figure=printed(50.46, 47.59)),
                versus("mha-expert", "mha-expert-no-warm-up", "search", figure=printed(67.05, 62.34)),
            ),
            *show_only(
                versus("mha-expert", "mha-expert-no-warm-up", "coarse", figure=printed(76.28, 76.08)),
                versus("mha-expert", "mha-expert-no-warm-up", "reranking", figure=printed(91.25, 90.89)),
            ),
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
        figure="R@20, 50 and 100 of 60.6 -> 64.9 on average (computer science)",
        test="arXiv categories, which are defined",
        questions=require_all(definition_gain("mha-expert", printed(64.86, 60.56))),
        tables=("A8",),
    ),
    Claim(
        id="S9",
        text="Ranking labels whose name is in the paper first improves every encoder",
        figure="Vanilla 42.7 -> 60.3",
        test="fine classification with and without the rule",
        questions=require_all(
            label_name_gain("vanilla", printed(60.31, 42.69)),
            label_name_gain("mha-expert", printed(62.21, 46.12)),
            label_name_gain("backbone"),
        ),
        tables=("3", "A3", "S1"),
    ),
)
