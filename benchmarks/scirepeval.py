"""SciRepEval's methods at the size of a laptop: every run and every table of results/scirepeval, one by one.

One vector, codes and adapters are trained with every seed, the others and the ablation with the first; the
fusion from the adapters of its seed. Codes for a random partition of the sources are trained once for each of
five partitions. The quick view has no task of search in train and none of regression out of train: what needs
these (R4, R5) is decided by the whole suite, --full. Run from the repository root, after `sciprism prepare open
-o SOURCES`:

    python benchmarks/scirepeval.py SOURCES --full
"""

from __future__ import annotations

from random import Random

from study import Arm, Study, main

FORMATS = {
    "arxiv-classes": "classification",
    "mesh-classes": "classification",
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


STUDY = Study(
    paper="scirepeval",
    arms=(
        Arm(key="mtl-cls", table="R1", method=True, seeded=True),
        Arm(key="ctrl", table="R1", method=True, seeded=True),
        Arm(key="adapters", table="R1", method=True, seeded=True),
        Arm(key="adapter-fusion", table="R1", method=True, done=("formats", "adapters", "formats")),
        Arm(key="pals", table="R1", method=True),
        Arm(key="ctrl-no-citations", table="E"),
        *(
            Arm(
                key="ctrl-random",
                table="partition",
                recipe="scirepeval-ctrl",
                seed=number,
                every_run=True,
                changes=partition(number),
            )
            for number in range(PARTITIONS)
        ),
    ),
    ensembles={"ensemble": "mean:{adapters}+{ctrl}", "ensemble-concat": "concat:{adapters}+{ctrl}"},
    tables=("R1", "4", "E", "partition", "ensemble", "correlations"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
