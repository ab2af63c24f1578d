"""SciRepEval's methods at the size of a laptop: every run and every table of results/scirepeval, one by one.

Every method is trained with every seed, the fusion from the adapters of its seed. Codes for a random partition
of the sources are trained once for each of five partitions. Heads alone, over the untouched backbone, say what dev
score a method has to beat. Run from the repository root, after `sciprism prepare open -o SOURCES --max-queries 8000`:

    python benchmarks/scirepeval.py SOURCES
"""

from __future__ import annotations

from random import Random

from study import Arm, Study, main

FORMATS = {
    "arxiv-fields": "classification",
    "mesh-headings": "classification",
    "mag-classes": "classification",
    "citation-count-numbers": "regression",
    "conference-year-numbers": "regression",
    "same-author": "proximity",
    "vis-citations": "proximity",
    "specter-triplets": "proximity",
    "arxiv-titles": "search",
}
"""Source of the recipe -> its format."""
PARTITIONS = 5


def partition(number: int) -> tuple[str, ...]:
    """Return the changes that deal the formats out to all sources at random, each as often as in the recipe.

    The code of search is that of its queries, so the texts of a source of search are queries.
    """
    dealt = Random(number).sample([*FORMATS.values()], len(FORMATS))
    keys = ({"format": format, "query": "query" if format == "search" else "paper"} for format in dealt)
    named = zip(FORMATS, keys, strict=True)
    return tuple(f"stages.formats.sources.{name}.{key}={value}" for name, each in named for key, value in each.items())


METHODS = ("mtl-cls", "ctrl", "adapters", "pals")
HEADS = Arm(
    key="heads",
    table="",
    recipe="scirepeval-mtl-cls",
    seeded=False,
    changes=("stages.formats.train=heads", "defaults.optimizer.lr=1e-3"),
)
FUSION = Arm(
    key="adapter-fusion",
    table="R1",
    changes=("stages.formats.finished_model={adapters.formats}",),
    untrained="heads",
)
STUDY = Study(
    paper="scirepeval",
    arms=(
        HEADS,
        *(Arm(key=key, table="R1", untrained="heads") for key in METHODS),
        FUSION,
        Arm(key="ctrl-no-citations", table="E", untrained="heads"),
        *(
            Arm(
                key="ctrl-random",
                table="partition",
                recipe="scirepeval-ctrl",
                seed=number,
                changes=partition(number),
                untrained="heads",
            )
            for number in range(PARTITIONS)
        ),
    ),
    ensembles={"ensemble": "mean:{adapters}+{ctrl}", "ensemble-concat": "concat:{adapters}+{ctrl}"},
    tables=("R1", "4", "E", "partition", "ensemble", "correlations"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
