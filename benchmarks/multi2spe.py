"""Multi2SPE's models at the size of a laptop: every run and every table of results/multi2spe, one by one.

One CLS as SPECTER, three facets, and what each choice changes, on citations of computer science; then one CLS
and three on as many queries of 1, 4 and 17 fields. Four seeds each. `benchmarks/multi2spe_data.py DATA OUT`
makes the data. Run from the repository root with SCIPRISM_DATA=OUT/benchmarks/held-out, then again with
OUT/benchmarks/later and another folder of results:

    python benchmarks/multi2spe.py OUT/triplets
"""

from __future__ import annotations

from sciprism.tasks.reproduce.multi2spe import ABLATED, VARIANTS
from study import Arm, Study, main


def arm(variant: str, triplets: str, key: str, table: str) -> Arm:
    """Return a variant trained on some triplets."""
    _, recipe, change = VARIANTS[variant]
    files = (f"defaults.sources.0.{part}={triplets}/{file}.jsonl" for part, file in PARTS)
    changes = (*files, *((change,) if change else ()))
    return Arm(key=key, table=table, recipe=recipe, seeded=True, changes=changes)


PARTS = (("file", "train"), ("dev", "dev"))
PAIR = ("specter", "facets")
SIZES = {"one": "-one-field", "few": "-few-fields", "all": "-all-fields"}
STUDY = Study(
    paper="multi2spe",
    arms=(
        *(arm(variant, "cs", f"{variant}-cs", "M1") for variant in PAIR),
        *(arm(variant, "cs", f"{variant}-cs", "3-cs") for variant in ABLATED),
        *(arm(v, size, f"{v}{ending}", "domains") for v in PAIR for size, ending in SIZES.items()),
    ),
    tables=("M1", "3-cs", "domains"),
    data="built",
    seeds=(1783, 1918, 1945, 1991),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
