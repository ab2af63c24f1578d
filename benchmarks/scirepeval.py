"""SciRepEval's methods at the size of a laptop: every run and every table of results/scirepeval, one by one.

One vector, codes and adapters are trained with every seed, the others and the ablation with the first; the
fusion from the adapters of its seed. Codes for a random partition of the sources of papers are trained once
for each of five partitions. Run from the repository root, after `sciprism prepare open -o SOURCES`:

    python benchmarks/scirepeval.py SOURCES --full
"""

from __future__ import annotations

from study import Arm, Study, main

PAPERS = ("arxiv-classes", "mesh-classes", "citation-count-numbers", "conference-year-numbers")
LINKS = ("same-author", "vis-citations")
FORMATS = ("classification", "classification", "regression", "regression", "proximity", "proximity")
PARTITIONS = (
    (2, 4, 0, 5, 1, 3),
    (4, 0, 5, 2, 3, 1),
    (1, 5, 4, 0, 2, 3),
    (5, 3, 1, 4, 0, 2),
    (3, 1, 5, 4, 2, 0),
)
"""For each partition: which of the formats each source gets, classes and numbers first, links last."""


def partition(number: int) -> tuple[str, ...]:
    """Return the changes that give the sources of papers the formats of a random partition."""
    named = zip((*PAPERS, *LINKS), PARTITIONS[number], strict=True)
    return tuple(f"stages.formats.sources.{name}.format={FORMATS[place]}" for name, place in named)


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
                changes=partition(number),
            )
            for number in range(len(PARTITIONS))
        ),
    ),
    ensembles={"ensemble": "mean:{adapters}+{ctrl}", "ensemble-concat": "concat:{adapters}+{ctrl}"},
    tables=("R1", "4", "E", "partition", "ensemble", "correlations"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
