"""Do more fields help, at the size of a laptop: one CLS and three on as many queries of 1, 4 and 17 fields.

They are trained and tested on arXiv papers that have a category or an author in common, which stand in for
citations and are none. `benchmarks/multi2spe_data.py DATA OUT` makes the data. Run from the
repository root:

    SCIPRISM_DATA=OUT/benchmarks/fields python benchmarks/multi2spe_fields.py OUT/triplets
"""

from __future__ import annotations

from multi2spe import ALL_DEV, PAIR, SEEDS, arm
from study import Study, main

TRIPLETS = {"one": "one-field", "few": "few-fields", "all": "all-fields"}
FACETS = tuple(f"defaults.optimizer.{rate}" for rate in ("lr=1e-5", "method_lr=1e-4", "max_grad_norm=0.0"))
LONGER = ("defaults.steps=300", "defaults.evaluation.every=100", ALL_DEV)
STUDY = Study(
    paper="multi2spe",
    arms=tuple(
        arm(variant, folder, f"{variant}-{size}", "domains", *LONGER, *(FACETS if variant == "facets" else ()))
        for variant in PAIR
        for folder, size in TRIPLETS.items()
    ),
    tables=("domains",),
    data="fields",
    seeds=SEEDS,
)

if __name__ == "__main__":
    main(STUDY, __doc__)
