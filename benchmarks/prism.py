"""The prism study at the size of a laptop: every run and every table of results/prism, one by one.

Prism's variants and the methods of the papers, from one backbone, on the same data, by the same steps. What a
pass costs is measured by benchmarks/formats.py. Run from the repository root, after `sciprism prepare open -o
SOURCES --max-queries 8000`:

    python benchmarks/prism.py SOURCES --full
"""

from __future__ import annotations

from sciprism.reproduce.tables.prism import RIVALS, VARIANTS
from study import Arm, Study, main

SEEDED = ("adapters", "attention-experts", "prism")


def arm(key: str, changes: tuple[str, ...], table: str) -> Arm:
    """Return a method, or a variant of prism's, trained by prism's laptop recipe with some changes."""
    method = table == "P1" or key == "prism"
    return Arm(key=key, table=table, recipe="prism", changes=changes, method=method, seeded=key in SEEDED)


STUDY = Study(
    paper="prism",
    arms=(
        *(arm(key, changes, "P1") for key, (_, changes) in RIVALS.items()),
        *(arm(key, changes, "variants") for key, (_, changes) in VARIANTS.items()),
    ),
    tables=("P1", "variants"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
