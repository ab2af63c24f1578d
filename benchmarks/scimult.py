"""SciMult's models at the size of a laptop: every run and every table of results/scimult, one by one.

Vanilla, by the settings of the laptop and by the paper's, and MHAExpert are trained with every seed, each
MHAExpert from the Vanilla of its seed; the others and the ablations with the first seed. Run from the
repository root, after `sciprism prepare open -o SOURCES`:

    python benchmarks/scimult.py SOURCES --full
"""

from __future__ import annotations

from study import Arm, Study, main

WARM = ("vanilla", "vanilla", "vanilla")
STUDY = Study(
    paper="scimult",
    arms=(
        Arm(key="vanilla", table="9", method=True, seeded=True),
        Arm(key="mha-expert", table="9", method=True, seeded=True, done=WARM),
        Arm(key="vanilla-paper", table="settings", seeded=True),
        Arm(key="ffn-expert", table="9", method=True, done=WARM),
        Arm(key="instruction", table="9", method=True, done=WARM),
        Arm(key="prefix", table="9", method=True, done=WARM),
        Arm(key="vanilla-no-hard-negatives", table="A4"),
        Arm(key="mha-expert-no-warm-up", table="A5"),
        Arm(key="citation-only", table="S1"),
    ),
    tables=("S1", "settings", "9", "3", "A3", "4", "5", "7", "8", "A4", "A5", "A6", "A7", "A8", "S4"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
