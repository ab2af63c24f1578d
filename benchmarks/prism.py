"""The prism study at the size of a laptop: every run and every table of results/prism, one by one.

Prism's variants and the methods of the papers, from one backbone, on the same data, by the same steps. What a
pass costs is measured by benchmarks/formats.py. Run from the repository root, after `sciprism prepare open -o
SOURCES`:

    python benchmarks/prism.py SOURCES --full
"""

from __future__ import annotations

from sciprism.tasks.reproduce.prism import RIVALS, VARIANTS
from study import Arm, Study, main

SEEDED = ("adapters", "attention-experts", "prism")

STUDY = Study(
    paper="prism",
    arms=(
        *(
            Arm(key=key, table="P1", recipe=recipe, changes=changes, method=True, seeded=key in SEEDED)
            for key, (_, recipe, changes) in RIVALS.items()
        ),
        *(
            Arm(
                key=key,
                table="variants",
                recipe="prism",
                changes=changes,
                method=key == "prism",
                seeded=key in SEEDED,
            )
            for key, (_, changes) in VARIANTS.items()
        ),
    ),
    tables=("P1", "variants"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
