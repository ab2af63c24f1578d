"""SciRepEval's claims (R1 to R7): several vectors for one paper, by codes and by adapters."""

from __future__ import annotations

from sciprism.formats import FORMATS, Format
from sciprism.reproduce.claims.declared import Claim, Contrast, Side, against, all_of, any_of, beside
from sciprism.reproduce.claims.registry import claims

RIVALS = ("mtl-cls", "ctrl", "pals", "adapter-fusion")


def own_code(format: Format, other: Format, part: str) -> Contrast:
    """Return what a format's own code gives over another's, on the tasks of the format."""
    group = f"{part} {format}"
    return Contrast(
        name=f"code {format} above code {other}, {group}",
        ours=Side(model=f"ctrl@{format}", group=group),
        other=Side(model=f"ctrl@{other}", group=group),
    )


OTHER_CODES = [(format, other) for format in FORMATS for other in FORMATS if other != format]
DECLARED = (
    Claim(
        id="R1",
        paper="scirepeval",
        text="Several vectors of a paper beat one, by codes or adapters",
        figure="70.2 and 70.7 against 69.2 (average)",
        test="the open suite, tasks like the training and others",
        questions=(
            *any_of(*(against(model, "mtl-cls", "Average") for model in ("ctrl", "adapters"))),
            *beside(*(against(model, "backbone", "Average") for model in ("mtl-cls", "ctrl", "adapters"))),
        ),
        tables=("2", "R1"),
    ),
    Claim(
        id="R2",
        paper="scirepeval",
        text="Out of train, adapters lead",
        figure="58.8 against 57.7 (codes) and 56.7 (one CLS)",
        test="out-of-train tasks of the open suite",
        questions=(
            *all_of(*(against("adapters", rival, "Out-of-Train") for rival in RIVALS)),
            *beside(against("adapters", "backbone", "Out-of-Train")),
        ),
        tables=("2", "R1"),
    ),
    Claim(
        id="R3",
        paper="scirepeval",
        text="An ensemble of adapters and codes is best",
        figure="71.0",
        test="the open suite",
        questions=all_of(*(against("ensemble", rival, "Average") for rival in ("adapters", *RIVALS))),
        tables=("2",),
    ),
    Claim(
        id="R4",
        paper="scirepeval",
        text="Each code is best on its own format",
        figure="the diagonal of Table 4",
        test="every format scored with every code (--as-format)",
        questions=(
            *all_of(*(own_code(format, other, "in-train") for format, other in OTHER_CODES)),
            *beside(*(own_code(format, other, "out-of-train") for format, other in OTHER_CODES)),
        ),
        tables=("4",),
    ),
    Claim(
        id="R5",
        paper="scirepeval",
        text="Parting tasks by format beats parting them at random",
        figure="out of train +0.2, +3.9, +4.5, +2.2",
        test="five random partitions",
        questions=all_of(*(against("ctrl", "ctrl-random", f"out-of-train {format}") for format in FORMATS)),
        tables=("partition",),
    ),
    Claim(
        id="R6",
        paper="scirepeval",
        text="Codes cost nothing, adapters little, PALs and fusion much",
        figure="inference 1x, 1.05x, 1.29x, 1.69x",
        test="time of each method",
        command="python benchmarks/formats.py --shape bert-base",
    ),
    Claim(
        id="R7",
        paper="scirepeval",
        text="Citation triplets help tasks that are no citations",
        figure="out of train 57.5 -> 57.9",
        test="training without that objective",
        questions=all_of(against("ctrl", "ctrl-no-citations", "no citations")),
        tables=("E",),
    ),
)
for claim in DECLARED:
    claims.register(claim.id)(claim)
