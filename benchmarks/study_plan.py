"""The plan of docs/studies.md: which command trains and scores which study, in which order."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from study import RETRIEVER


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the plan. script: in benchmarks/; sources, runs: folders in the output folder.

    seeds: of each round. data: folder in the output folder in place of SCIPRISM_DATA. results: the folder of results.
    study: its name in the script. option: of the command that chooses it. changes: of every recipe. backbone: in the
    output folder, what every recipe starts from, "" for the recipes' own. only: keys of its arms, all if none.
    """

    script: str
    sources: str
    runs: str
    results: str
    seeds: tuple[tuple[int, ...], ...] = ((0,), (0, 1, 2))
    data: str = ""
    study: str = "STUDY"
    option: str = ""
    changes: tuple[str, ...] = ()
    backbone: str = ""
    only: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name in messages."""
        return " ".join(filter(None, (self.script, self.option, self.backbone.partition("/")[0], *self.only)))


MULTI2SPE_SEEDS = ((1783,), (1783, 1918, 1945))
MASKED_LM = "masked-lm/masked-lm/model"
"""Of a run of recipes/laptop/masked-lm.toml: a backbone that is no retriever (docs/studies.md)."""
MASKED_LM_RATE = "2e-4"
LONGER_DEV = ("defaults.evaluation.every=200", f"defaults.optimizer.lr={MASKED_LM_RATE}")
"""Whole dev texts cost four times what truncated ones do: they are scored half as often."""
TEACHERS = tuple(f"stages.{stage}.objective.teacher_precision=bfloat16" for stage in ("distil", "polish"))
PLAN = (
    Step("scirepeval", "open-8000", "formats", "scirepeval"),
    Step("scimult", "open", "scimult", "scimult"),
    Step("multi2spe", "multi2spe/triplets", "multi2spe", "multi2spe", MULTI2SPE_SEEDS, "multi2spe/benchmarks/held-out"),
    Step("prism", "open-8000", "formats", "prism", study="METHODS"),
    Step(
        "multi2spe_fields",
        "multi2spe/triplets",
        "multi2spe",
        "multi2spe",
        MULTI2SPE_SEEDS,
        "multi2spe/benchmarks/fields",
    ),
    Step("indus_domain", "indus", "indus", "indus"),
    Step("indus", "indus", "indus", "indus", changes=TEACHERS),
    Step("prism", "open-8000", "formats", "prism", study="GROWTH", option="--growth"),
    *(
        Step(
            "multi2spe",
            "multi2spe/triplets",
            "multi2spe-masked-lm",
            "studies/multi2spe-masked-lm",
            MULTI2SPE_SEEDS,
            "multi2spe/benchmarks/held-out",
            changes=LONGER_DEV,
            backbone=MASKED_LM,
            only=only,
        )
        for only in (
            ("specter-cs", "facets-cs"),
            ("facets-lambda-1-cs", "facets-no-maps-cs", "facets-no-reparameterisation-cs"),
        )
    ),
    Step(
        "scirepeval",
        "open-8000",
        "formats-masked-lm",
        "studies/scirepeval-masked-lm",
        changes=LONGER_DEV[:1],
        backbone=MASKED_LM,
        only=("heads", "mtl-cls", "ctrl", "adapters"),
    ),
    Step(
        "scirepeval",
        "open-8000",
        "formats-masked-lm",
        "studies/scirepeval-masked-lm",
        changes=LONGER_DEV[:1],
        backbone=MASKED_LM,
        only=("pals", "adapter-fusion", "ctrl-random"),
    ),
)


def list_step_changes(step: Step, args: argparse.Namespace) -> list[str]:
    """Return the changes of every recipe of a step."""
    return [f"defaults.precision={args.precision}", *step.changes]


def find_backbone(step: Step, args: argparse.Namespace) -> str:
    """Return the model that every recipe of a step starts from."""
    return str(args.output / step.backbone) if step.backbone else RETRIEVER


def find_data(step: Step, args: argparse.Namespace) -> Path:
    """Return the folder of a step's benchmarks."""
    return (args.output / step.data).resolve() if step.data else Path(os.environ["SCIPRISM_DATA"])


def list_rounds(plan: Sequence[Step]) -> Iterator[tuple[Step, tuple[int, ...]]]:
    """Yield the steps with their seeds, in the order of the plan: all have their first seed before any has others."""
    for number in range(max(len(step.seeds) for step in plan)):
        for step in plan:
            yield step, step.seeds[min(number, len(step.seeds) - 1)]
