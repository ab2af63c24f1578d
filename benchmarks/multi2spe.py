"""Multi2SPE's models at the size of a laptop: every run and every table of results/multi2spe, one by one.

One CLS as SPECTER, three facets, and what each choice changes, on citations of computer science. All arms begin
with one warm-up, which gives the backbone's first token a meaning, have facets of the published start, one rate and
equally many steps. `benchmarks/multi2spe_fields.py` asks about fields. `benchmarks/multi2spe_data.py DATA OUT` makes
the data. Run from the repository root:

    SCIPRISM_DATA=OUT/benchmarks/held-out python benchmarks/multi2spe.py OUT/triplets
"""

from __future__ import annotations

from sciprism.reproduce.tables.multi2spe import ABLATED, VARIANTS
from study import Arm, Study, main


def files(triplets: str) -> tuple[str, ...]:
    """Return the changes that name a recipe's triplets."""
    return tuple(f"defaults.sources.0.{part}={triplets}/{file}.jsonl" for part, file in PARTS)


def arm(variant: str, triplets: str, key: str, table: str, *more: str, start: tuple[str, str] | None = None) -> Arm:
    """Return a variant trained on some triplets."""
    _, recipe, change = VARIANTS[variant]
    changes = (*files(triplets), *((change,) if change else ()), *more)
    return Arm(key=key, table=table, recipe=recipe, changes=changes, start=start)


PARTS = (("file", "train"), ("dev", "dev"))
PAIR = ("specter", "facets")
SEEDS = (1783, 1918, 1945)
ALL_DEV = "defaults.evaluation.examples=4000"
"""All dev examples: files have fewer. With 300, of 60 queries, no difference between rates is significant."""
SAME = ("defaults.steps=1000", "defaults.evaluation.every=200", ALL_DEV, "defaults.optimizer.lr=5e-5")
"""Steps, evaluations and rate of every arm."""
PUBLISHED = ("stages.0.options.start=published",)
WARM_UP = Arm(key="warm-up", table="", recipe="multi2spe-warm-up", seeded=False, changes=(*files("cs"), ALL_DEV))
STUDY = Study(
    paper="multi2spe",
    arms=(
        WARM_UP,
        arm("specter", "cs", "specter-cs", "M1", *SAME, start=("warm-up", "citations")),
        arm("facets", "cs", "facets-cs", "M1", *SAME, *PUBLISHED, start=("warm-up", "citations")),
        *(arm(key, "cs", f"{key}-cs", "3", *SAME, *PUBLISHED, start=("warm-up", "citations")) for key in ABLATED),
    ),
    tables=("M1", "3"),
    data="built",
    seeds=SEEDS,
)

if __name__ == "__main__":
    main(STUDY, __doc__)
