"""SciMult's models at the size of a laptop: every run and every table of results/scimult, one by one.

Budgets are equal: 228 steps of each model, of which those with a warm-up spend the first 114 on it, from the same
Vanilla of 114 steps per seed. Each of the two stages of attention experts is an arm too, with its 114 steps alone,
since the paper compares the second stage with both (Table A5). All are trained with every seed. Run from the
repository root, after `sciprism prepare open -o SOURCES`:

    python benchmarks/scimult.py SOURCES
"""

from __future__ import annotations

from study import Arm, Study, main

WARM_UP = ("stages.vanilla.finished_model={vanilla-warm-up.vanilla}",)
TWICE = ("defaults.epochs=2",)
STUDY = Study(
    paper="scimult",
    arms=(
        Arm(key="vanilla-warm-up", table="S6", recipe="scimult-vanilla"),
        Arm(key="vanilla", table="9", changes=TWICE),
        Arm(key="citation-only", table="S1", changes=TWICE),
        *(Arm(key=key, table="9", changes=WARM_UP) for key in ("mha-expert", "ffn-expert", "instruction", "prefix")),
        Arm(key="vanilla-no-hard-negatives", table="A4", changes=TWICE),
        Arm(key="mha-expert-no-warm-up", table="A5", changes=TWICE),
        Arm(key="mha-expert-one-stage", table="S6", recipe="scimult-mha-expert-no-warm-up"),
        Arm(key="vanilla-paper", table="settings", changes=TWICE),
    ),
    tables=("S1", "S6", "settings", "9", "3", "A3", "4", "5", "7", "8", "A4", "A5", "A6", "A7", "A8", "S4"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
