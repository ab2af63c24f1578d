"""Every study of docs/studies.md, one after the other, in the order of its plan.

What is on file in results/ is skipped and what was interrupted continues, so the same command runs what is missing.
All arms have their first seed before any has its second. A day or two on two cores, at the lowest priority. Run from
the repository root, with SCIPRISM_DATA:

    python benchmarks/studies.py -o out/studies --general TEXTS

--general is a folder of plain texts of general English (.txt), for INDUS's studies, which are left out without it.
On a GPU, first run as many as there are cores side by side (benchmarks/side_by_side.py), then the same without
--processes for what they leave, and for tables:

    python benchmarks/studies.py -o out/studies --general TEXTS --processes 16 --here defaults.chunk_tokens=32768
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from indus_data import LENGTH, WORDS, name_texts
from measurement import build_parser
from study_jobs import run_side_by_side
from study_plan import PLAN, Step, find_backbone, find_data, list_rounds, list_step_changes

BENCHMARKS = Path("benchmarks")


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
    words += [step.option] * bool(step.option)
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
    parser.add_argument("--processes", type=int, default=1, help="of runs side by side; 1: one study after the other")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="when runs side by side are stopped")
    args = parser.parse_args()
    if not os.environ.get("SCIPRISM_DATA"):
        parser.error("set SCIPRISM_DATA to the folder of the data sets")
    prepare_sources(args.output, args.general)
    plan = [step for step in PLAN if step.script in args.only and (args.general or step.sources != "indus")]
    failed = [] if args.general else ["indus (no --general)"]
    if args.processes > 1:
        failed += run_side_by_side(list_rounds(plan), args)
    else:
        failed += [step.name for step, seeds in list_rounds(plan) if run_step(step, seeds, args)]
    if failed:
        raise SystemExit(f"incomplete: {', '.join(dict.fromkeys(failed))}; the same command continues")


if __name__ == "__main__":
    main()
