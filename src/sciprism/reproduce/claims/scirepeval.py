"""SciRepEval's claims (R1 to R7): several vectors per paper, by control codes and adapters."""

from __future__ import annotations

from dataclasses import replace

from sciprism.formats import FORMATS, Format
from sciprism.reproduce.claims.claim import Claim, ScoreContrast, require_all, require_any, show_only, versus
from sciprism.reproduce.claims.registry import register_claims

RIVALS = ("mtl-cls", "ctrl", "pals", "adapter-fusion")


def code_gain(format: Format, other: Format, part: str) -> ScoreContrast:
    """Return a contrast of a format's own code with another's, on the tasks of the format."""
    group = f"{part} {format}"
    contrast = versus(f"ctrl@{format}", f"ctrl@{other}", group)
    return replace(contrast, name=f"code {format} above code {other}, {group}")


OTHER_CODES = [(format, other) for format in FORMATS for other in FORMATS if other != format]
register_claims(
    "scirepeval",
    Claim(
        id="R1",
        text="Several vectors of a paper beat one, by codes or adapters",
        figure="70.2 and 70.7 against 69.2 (average)",
        test="the open suite, tasks like the training and others",
        questions=(
            *require_any(*(versus(model, "mtl-cls", "Average") for model in ("ctrl", "adapters"))),
            *show_only(*(versus(model, "backbone", "Average") for model in ("mtl-cls", "ctrl", "adapters"))),
        ),
        tables=("2", "R1"),
    ),
    Claim(
        id="R2",
        text="Out of train, adapters lead",
        figure="58.8 against 57.7 (codes) and 56.7 (one CLS)",
        test="out-of-train tasks of the open suite",
        questions=(
            *require_all(*(versus("adapters", rival, "Out-of-Train") for rival in RIVALS)),
            *show_only(versus("adapters", "backbone", "Out-of-Train")),
        ),
        tables=("2", "R1"),
    ),
    Claim(
        id="R3",
        text="An ensemble of adapters and codes is best",
        figure="71.0",
        test="the open suite",
        questions=require_all(*(versus("ensemble", rival, "Average") for rival in ("adapters", *RIVALS))),
        tables=("2",),
    ),
    Claim(
        id="R4",
        text="Each code is best on its own format",
        figure="the diagonal of Table 4",
        test="every format scored with every code (--format)",
        questions=(
            *require_all(*(code_gain(format, other, "in-train") for format, other in OTHER_CODES)),
            *show_only(*(code_gain(format, other, "out-of-train") for format, other in OTHER_CODES)),
        ),
        tables=("4",),
    ),
    Claim(
        id="R5",
        text="Grouping tasks by format beats grouping them at random",
        figure="out of train +0.2, +3.9, +4.5, +2.2",
        test="five random partitions",
        questions=require_all(*(versus("ctrl", "ctrl-random", f"out-of-train {format}") for format in FORMATS)),
        tables=("partition",),
    ),
    Claim(
        id="R6",
        text="Codes cost nothing, adapters little, PALs and fusion much",
        figure="inference 1x, 1.05x, 1.29x, 1.69x",
        test="time of each method",
        command="python benchmarks/formats.py --shape bert-base",
    ),
    Claim(
        id="R7",
        text="Citation triplets help tasks other than citation prediction",
        figure="out of train 57.5 -> 57.9",
        test="training without that objective",
        questions=require_all(versus("ctrl", "ctrl-no-citations", "no citations")),
        tables=("E",),
    ),
)
