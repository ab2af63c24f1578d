"""Every study of results/studies/plan.md, one after the other, in the order of its plan.

What is on file in results/ is skipped and what was interrupted continues, so the same command runs what is missing.
All arms have their first seed before any has its second. A day or two on two cores, at the lowest priority. Run from
the repository root, with SCIPRISM_DATA:

    python benchmarks/studies.py -o out/studies --general TEXTS

--general is a folder of plain texts of general English (.txt), for INDUS's studies, which are left out without it.
On a GPU, add `--here defaults.chunk_tokens=32768`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from indus_data import LENGTH, WORDS, name_texts
from measurement import build_parser
from study import RETRIEVER

BENCHMARKS = Path("benchmarks")


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the plan. script: in benchmarks/; sources, runs: folders in the output folder.

    seeds: of each round. data: folder in the output folder in place of SCIPRISM_DATA. results: the folder of results.
    changes: of every recipe. backbone: in the output folder, what every recipe starts from, ""
    for the recipes' own. only: keys of its arms, all if none.
    """

    script: str
    sources: str
    runs: str
    results: str
    seeds: tuple[tuple[int, ...], ...] = ((0,), (0, 1, 2))
    data: str = ""
    changes: tuple[str, ...] = ()
    backbone: str = ""
    only: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name in messages."""
        return " ".join(filter(None, (self.script, self.backbone.partition("/")[0], *self.only)))


MULTI2SPE_SEEDS = ((1783,), (1783, 1918, 1945))
MASKED_LM = "masked-lm/masked-lm/model"
"""Of a run of recipes/laptop/masked-lm.toml: a backbone that is not a retriever (results/studies/plan.md)."""
LONGER_DEV = ("defaults.evaluation.every=200", "defaults.optimizer.lr=2e-4")
"""Whole dev texts cost four times what truncated ones do: they are scored half as often."""
PLAN = (
    Step("scirepeval", "open-8000", "formats", "scirepeval"),
    Step("scimult", "open", "scimult", "scimult"),
    Step("multi2spe", "multi2spe/triplets", "multi2spe", "multi2spe", MULTI2SPE_SEEDS, "multi2spe/benchmarks/held-out"),
    Step("prism", "open-8000", "formats", "prism"),
    Step(
        "multi2spe_fields",
        "multi2spe/triplets",
        "multi2spe",
        "multi2spe",
        MULTI2SPE_SEEDS,
        "multi2spe/benchmarks/fields",
    ),
    Step("indus", "indus", "indus", "indus"),
    Step(
        "multi2spe",
        "multi2spe/triplets",
        "multi2spe-masked-lm",
        "studies/multi2spe-masked-lm",
        MULTI2SPE_SEEDS,
        "multi2spe/benchmarks/held-out",
        changes=LONGER_DEV,
        backbone=MASKED_LM,
        only=("specter-cs", "facets-cs", "facets-lambda-1-cs", "facets-no-maps-cs", "facets-no-reparameterisation-cs"),
    ),
    Step(
        "scirepeval",
        "open-8000",
        "formats-masked-lm",
        "studies/scirepeval-masked-lm",
        changes=LONGER_DEV[:1],
        backbone=MASKED_LM,
        only=("heads", "mtl-cls", "ctrl", "adapters", "pals", "adapter-fusion", "ctrl-random"),
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


def prepare_sources(folder: Path, general: Path | None) -> None:
    """Make what the studies train on, unless it is there."""
    data = os.environ.get("SCIPRISM_DATA", "")
    sciprism, text = (sys.executable, "-m", "sciprism"), str(folder / "masked-lm-text")
    prepare = (*sciprism, "prepare", "open", "-o")
    words = ("--vocab-size", str(WORDS), "--length", str(LENGTH), "--data", data)
    masked_lm = ("recipes/laptop/masked-lm.toml", "--sources", text, "-o", str(folder / "masked-lm"))
    commands: Mapping[str, Sequence[str]] = {
        "open-8000": (*prepare, str(folder / "open-8000"), "--max-queries", "8000"),
        "open": (*prepare, str(folder / "open")),
        "multi2spe": (sys.executable, str(BENCHMARKS / "multi2spe_data.py"), data, str(folder / "multi2spe")),
        "masked-lm-text": (*sciprism, "prepare", "text", *name_texts(Path(data), Path())["domain"], "-o", text, *words),
        "masked-lm": (*sciprism, "train", *masked_lm, "--set", "defaults.precision=bfloat16"),
    }
    if general:
        indus = (sys.executable, str(BENCHMARKS / "indus_data.py"), data, str(general), str(folder / "indus"))
        commands = {**commands, "indus": indus}
    for name, command in commands.items():
        done = folder / f"{name}.done"
        if not done.exists():
            subprocess.run(command, check=True)
            done.touch()


def run_step(step: Step, seeds: Sequence[int], args: argparse.Namespace) -> int:
    """Run one command of the plan with some seeds; return its status."""
    words = [sys.executable, str(BENCHMARKS / f"{step.script}.py"), str(args.output / step.sources)]
    words += ["--only", *step.only, "--tables"] if step.only else []
    words += ["--runs", str(args.output / step.runs), "-o", str(args.results / step.results)]
    words += ["--backbone", find_backbone(step, args), "--seeds", *map(str, seeds), "--precision", args.precision]
    words += [word for change in list_step_changes(step, args) for word in ("--set", change)]
    words += [word for change in args.here for word in ("--here", change)]
    return subprocess.run(words, env=os.environ | {"SCIPRISM_DATA": str(find_data(step, args))}).returncode


def main() -> None:
    parser = build_parser(__doc__, output=Path("out/studies"))
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--general", type=Path, help="plain texts of general English")
    parser.add_argument("--precision", default="bfloat16", help="of training and of scored vectors")
    parser.add_argument("--here", action="append", default=[], help="as each study takes it")
    parser.add_argument("--only", nargs="+", default=[step.script for step in PLAN], help="scripts of the plan")
    args = parser.parse_args()
    if not os.environ.get("SCIPRISM_DATA"):
        parser.error("set SCIPRISM_DATA to the folder of the data sets")
    prepare_sources(args.output, args.general)
    plan = [step for step in PLAN if step.script in args.only and (args.general or step.sources != "indus")]
    failed = [] if args.general else ["indus (no --general)"]
    failed += [step.name for step, seeds in list_rounds(plan) if run_step(step, seeds, args)]
    if failed:
        raise SystemExit(f"incomplete: {', '.join(dict.fromkeys(failed))}; the same command continues")


if __name__ == "__main__":
    main()
