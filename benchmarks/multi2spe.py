"""Multi2SPE's models at the size of a laptop: every run and every table of results/multi2spe, one by one.

One CLS as SPECTER, three facets, and what each choice changes, on citations of computer science, four seeds
each; `benchmarks/multi2spe_fields.py` asks about fields. `benchmarks/multi2spe_data.py DATA OUT` makes the
data. Run from the repository root, the second time on the latest years, into another folder of results:

    SCIPRISM_DATA=OUT/benchmarks/held-out python benchmarks/multi2spe.py OUT/triplets
    SCIPRISM_DATA=OUT/benchmarks/later python benchmarks/multi2spe.py OUT/triplets -o results/multi2spe-later
"""

from __future__ import annotations

from sciprism.reproduce.tables.multi2spe import ABLATED, VARIANTS
from study import Arm, Study, main


def arm(variant: str, triplets: str, key: str, table: str) -> Arm:
    """Return a variant trained on some triplets."""
    _, recipe, change = VARIANTS[variant]
    files = (f"defaults.sources.0.{part}={triplets}/{file}.jsonl" for part, file in PARTS)
    changes = (*files, *((change,) if change else ()))
    return Arm(key=key, table=table, recipe=recipe, seeded=True, changes=changes)


PARTS = (("file", "train"), ("dev", "dev"))
PAIR = ("specter", "facets")
SEEDS = (1783, 1918, 1945, 1991)
STUDY = Study(
    paper="multi2spe",
    arms=(
        *(arm(variant, "cs", f"{variant}-cs", "M1") for variant in PAIR),
        *(arm(variant, "cs", f"{variant}-cs", "3") for variant in ABLATED),
    ),
    tables=("M1", "3"),
    data="built",
    seeds=SEEDS,
)

if __name__ == "__main__":
    main(STUDY, __doc__)
