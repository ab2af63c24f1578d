"""Multi2SPE's models at the size of a laptop: every run and every table of results/multi2spe, one by one.

One CLS as SPECTER, three facets, and what each choice changes, on citations of computer science. All arms begin
with the untouched backbone, and have one rate and two epochs, as in the paper: after a warm-up on the same triplets
there is nothing left to learn (results/multi2spe/tuning.md). Maps begin as the identity, which was chosen on dev
examples; one arm has the published start. `benchmarks/multi2spe_fields.py` asks about fields.
`benchmarks/multi2spe_data.py DATA OUT` makes the data. Run from the repository root:

    SCIPRISM_DATA=OUT/benchmarks/held-out python benchmarks/multi2spe.py OUT/triplets
"""

from __future__ import annotations

from sciprism.reproduce.papers import reproductions
from study import Arm, Study, main


def files(triplets: str) -> tuple[str, ...]:
    """Return the changes that name a recipe's triplets."""
    return tuple(f"defaults.sources.0.{part}={triplets}/{file}.jsonl" for part, file in PARTS)


def arm(variant: str, triplets: str, key: str, table: str, *more: str) -> Arm:
    """Return a variant trained on some triplets."""
    model = PAPER.models[variant]
    return Arm(key=key, table=table, recipe=model.recipe, changes=(*files(triplets), *model.changes, *more))


def on_citations(variant: str) -> Arm:
    """Return a variant on citations of computer science."""
    return arm(variant, "cs", f"{variant}-cs", TABLES.get(variant, "3"), *SAME)


PAPER = reproductions["multi2spe"]
ABLATED = tuple(row.model.removesuffix("-cs") for row in PAPER.table("3").rows if row.against)
STARTED = "facets-published"
"""Of laptop recipes, whose maps start as the identity; the paper's own recipe is this one."""
PARTS = (("file", "train"), ("dev", "dev"))
PAIR = ("specter", "facets")
TABLES = {**dict.fromkeys(PAIR, "M1"), STARTED: "start"}
SEEDS = (1783, 1918, 1945)
ALL_DEV = "defaults.evaluation.examples=4000"
"""All dev examples: files have fewer. With 300, of 60 queries, no difference between rates is significant."""
RATE = ("defaults.optimizer.lr=5e-5", "defaults.optimizer.max_grad_norm=2.0")
SAME = ("defaults.steps=600", "defaults.evaluation.every=100", ALL_DEV, *RATE)
STUDY = Study(
    paper="multi2spe",
    arms=tuple(map(on_citations, (*PAIR, *ABLATED, STARTED))),
    tables=("M1", "3", "start"),
    data="built",
    seeds=SEEDS,
)

if __name__ == "__main__":
    main(STUDY, __doc__)
