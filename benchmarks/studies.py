"""Every study of docs/studies.md, one after the other, in the order of its plan.

What is on file in results/studies is skipped and what was interrupted continues, so the same command runs what is
missing. A study that is complete for its first seed moves to results/, where the evidence page reads it.
All arms have their first seed before any has its second. A day or two on two cores, at the lowest priority. Run from
the repository root, with SCIPRISM_DATA:

    python benchmarks/studies.py -o out/studies --general TEXTS

--general is a folder of plain texts of general English (.txt), for INDUS's studies, which are left out without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from measurement import build_parser

BENCHMARKS = Path("benchmarks")


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the plan. script: in benchmarks/; sources, runs: folders in the output folder.

    seeds: of each round. data: folder in the output folder in place of SCIPRISM_DATA. results: the folder of results.
    """

    script: str
    sources: str
    runs: str
    results: str
    seeds: tuple[tuple[int, ...], ...] = ((0,), (0, 1, 2))
    data: str = ""
    more: tuple[str, ...] = ()


MULTI2SPE_SEEDS = ((1783,), (1783, 1918, 1945))
TEACHERS = tuple(
    word for stage in ("distil", "polish") for word in ("--set", f"stages.{stage}.objective.teacher_precision=bfloat16")
)
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
    Step("indus_domain", "indus", "indus", "indus"),
    Step("indus", "indus", "indus", "indus", more=TEACHERS),
    Step("prism", "open-8000", "formats", "prism", more=("--growth",)),
)


def prepare_sources(folder: Path, general: Path | None) -> None:
    """Make what the studies train on, unless it is there."""
    data = os.environ.get("SCIPRISM_DATA", "")
    prepare = (sys.executable, "-m", "sciprism", "prepare", "open", "-o")
    commands: Mapping[str, Sequence[str]] = {
        "open-8000": (*prepare, str(folder / "open-8000"), "--max-queries", "8000"),
        "open": (*prepare, str(folder / "open")),
        "multi2spe": (sys.executable, str(BENCHMARKS / "multi2spe_data.py"), data, str(folder / "multi2spe")),
    }
    if general:
        indus = (sys.executable, str(BENCHMARKS / "indus_data.py"), data, str(general), str(folder / "indus"))
        commands = {**commands, "indus": indus}
    for name, command in commands.items():
        done = folder / f"{name}.done"
        if not done.exists():
            subprocess.run(command, check=True)
            done.touch()


def run_step(step: Step, seeds: Sequence[int], folder: Path, results: Path, precision: str) -> int:
    """Run one command of the plan with some seeds; return its status."""
    words = [sys.executable, str(BENCHMARKS / f"{step.script}.py"), str(folder / step.sources), *step.more]
    words += ["--runs", str(folder / step.runs), "-o", str(results / step.results)]
    words += ["--seeds", *map(str, seeds), "--precision", precision, "--set", f"defaults.precision={precision}"]
    data = {"SCIPRISM_DATA": str((folder / step.data).resolve())} if step.data else {}
    return subprocess.run(words, env=os.environ | data).returncode


def main() -> None:
    parser = build_parser(__doc__, output=Path("out/studies"))
    parser.add_argument("--results", type=Path, default=Path("results/studies"))
    parser.add_argument("--general", type=Path, help="plain texts of general English")
    parser.add_argument("--precision", default="bfloat16", help="of training and of scored vectors")
    args = parser.parse_args()
    prepare_sources(args.output, args.general)
    plan = [step for step in PLAN if args.general or step.sources != "indus"]
    failed = [] if args.general else ["indus (no --general)"]
    for number in range(max(len(step.seeds) for step in plan)):
        for step in plan:
            seeds = step.seeds[min(number, len(step.seeds) - 1)]
            if run_step(step, seeds, args.output, args.results, args.precision):
                failed.append(" ".join((step.script, *step.more)))
    if failed:
        raise SystemExit(f"incomplete: {', '.join(dict.fromkeys(failed))}; the same command continues")


if __name__ == "__main__":
    main()
