"""The prism study at the size of a laptop: every run and every table of results/prism, one by one.

Prism, with the text frozen and trained, and the methods of the papers, from one backbone, on the same data, by the
same steps. Runs and scores of SciRepEval's methods are those of benchmarks/scirepeval.py, which is run first, with
the same folder of runs; so are the learning curves' runs of 600 steps. Prism's ablations are trained once. What a
pass costs is measured by benchmarks/formats.py. Run from the repository root, after `sciprism prepare open -o
SOURCES --max-queries 8000`:

    python benchmarks/prism.py SOURCES --runs out/scirepeval
"""

from __future__ import annotations

from dataclasses import replace

from sciprism.reproduce.papers import reproductions
from scirepeval import FUSION as FUSION_ARM
from scirepeval import HEADS
from study import Arm, Study, main

PAPER = reproductions["prism"]
RIVALS = ("single", "control-codes", "adapters", "lora", "pals", "prefix", "attention-experts", "facets")
FUSION = "adapter-fusion"
GROWN = ("single", "adapters")
STEPS = (75, 150, 300, 600, 1200)
SHARED = {"single": "mtl-cls", "control-codes": "ctrl", "adapters": "adapters", "pals": "pals"}
"""Method -> the run of benchmarks/scirepeval.py that is the same."""
ABLATIONS = [row.model for row in PAPER.table("variants").rows if row.model not in ("prism", "prism-trained")]


def arm(key: str, table: str, *more: str, run: str = "", seeded: bool = True) -> Arm:
    """Return a method, trained by prism's laptop recipe with its changes, or by SciRepEval's recipe."""
    method = key.rpartition("-")[0] if table == "growth" else key
    shared = SHARED.get(method, "")
    changes = more if shared else (*PAPER.models[method].changes, *more)
    return Arm(
        key=key,
        table=table,
        recipe=f"scirepeval-{shared}" if shared else "prism",
        run=run or ("" if more else shared),
        changes=changes,
        seeded=seeded,
        untrained="heads",
    )


STUDY = Study(
    paper="prism",
    arms=(
        HEADS,
        *(arm(key, "P1") for key in (*RIVALS, "prism", "prism-trained")),
        replace(FUSION_ARM, table="P1", recipe="scirepeval-adapter-fusion", run=FUSION),
        *(arm(key, "variants", seeded=False) for key in ABLATIONS),
        *(
            arm(f"{key}-{steps}", "growth", f"defaults.steps={steps}", run=SHARED[key] if steps == 600 else "")
            for steps in STEPS
            for key in GROWN
        ),
    ),
    tables=("P1", "P1-formats", "P1-one-pass", "variants", "growth"),
    scored_with="scirepeval",
)

if __name__ == "__main__":
    main(STUDY, __doc__)
