"""SciRepEval's claims (R1 to R7): several vectors per paper, by control codes and adapters."""

from __future__ import annotations

from dataclasses import replace

from evidence.claim import Claim, ScoreContrast, printed, require_all, require_any, show_only, versus
from sciprism.formats import FORMATS, Format

OUT_OF_TRAIN = {"mtl-cls": 56.7, "ctrl": 57.7, "pals": 58.3, "adapter-fusion": 58.5}
AVERAGE = {"adapters": 70.7, "mtl-cls": 69.2, "ctrl": 70.2, "pals": 70.5, "adapter-fusion": 70.5}
"""Table 2, on SciNCL; adapters have 58.8 out of train, the ensemble an average of 71.0."""
CROSS: dict[str, dict[Format, tuple[float, ...]]] = {
    "in-train": {
        "classification": (38.7, 29.7, 87.1, 73.9),
        "regression": (32.9, 46.8, 82.2, 75.6),
        "proximity": (31.9, 43.7, 89.0, 77.5),
        "search": (31.0, 42.9, 88.3, 78.5),
    },
    "out-of-train": {
        "classification": (66.9, 16.2, 43.8, 86.7),
        "regression": (63.5, 20.4, 43.1, 85.2),
        "proximity": (65.0, 18.1, 44.7, 85.3),
        "search": (64.5, 17.5, 44.7, 90.5),
    },
}
"""Table 4: code -> scores on the tasks of each format, in the order of `FORMATS`."""
PARTITION: dict[Format, float] = {"classification": 0.2, "regression": 3.9, "proximity": 4.5, "search": 2.2}
"""Gains of the partition by format over random ones, out of train."""


def code_gain(format: Format, other: Format, part: str) -> ScoreContrast:
    """Return a contrast of a format's own code with another's, on the tasks of the format."""
    group, column = f"{part} {format}", FORMATS.index(format)
    figure = printed(CROSS[part][format][column], CROSS[part][other][column])
    contrast = versus(f"ctrl@{format}", f"ctrl@{other}", group, figure=figure)
    return replace(contrast, name=f"code {format} above code {other}, {group}")


OTHER_CODES = [(format, other) for format in FORMATS for other in FORMATS if other != format]
SETTING = (
    "The encoder is all-MiniLM-L6-v2 (6 layers of 384, 23 million parameters) in place of SciNCL (12 of 768, 110 "
    "million), on texts of 64 tokens in place of 512; training is on 9 of the open suite's own sources in place of "
    "SciRepEval's 8 training tasks of at most 600,000 examples each."
)
CLAIMS = (
    Claim(
        id="R1",
        text="Several vectors of a paper beat one, by codes or adapters",
        figure="70.2 and 70.7 against 69.2 (average)",
        test="the open suite, tasks like the training and others",
        questions=(
            *require_any(
                "codes or adapters above one vector",
                *(
                    versus(model, "mtl-cls", "Average", figure=printed(AVERAGE[model], AVERAGE["mtl-cls"]))
                    for model in ("ctrl", "adapters")
                ),
            ),
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
            *require_all(
                *(
                    versus("adapters", rival, "Out-of-Train", figure=printed(58.8, score))
                    for rival, score in OUT_OF_TRAIN.items()
                )
            ),
            *show_only(versus("adapters", "backbone", "Out-of-Train")),
        ),
        tables=("2", "R1"),
    ),
    Claim(
        id="R3",
        text="An ensemble of adapters and codes is best",
        figure="71.0",
        test="the open suite",
        questions=require_all(
            *(versus("ensemble", rival, "Average", figure=printed(71.0, score)) for rival, score in AVERAGE.items())
        ),
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
        questions=require_all(
            *(
                versus("ctrl", "ctrl-random", f"out-of-train {format}", figure=printed(PARTITION[format]))
                for format in FORMATS
            )
        ),
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
        questions=require_all(versus("ctrl", "ctrl-no-citations", "no citations", figure=printed(57.9, 57.5))),
        tables=("E",),
    ),
)
