"""A paper's models at the size of a laptop: trained, scored and set in tables, arm by arm.

After an interruption the same command continues; what is trained and scored already is not done again.
Every arm is trained with the first seed, then those that are `seeded` with the others, and each run is scored as
soon as it is trained. The backbone reads as many tokens as the laptop recipes.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measurement import provenance, write_result
from run_summary import summarize_run
from sciprism import Encoder
from sciprism.reproduce.tables.models import model_keys
from sciprism.reproduce.tables.registry import reproductions
from sciprism.reproduce.tables.run import choose_rows

MAX_LENGTH = 128
Run = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One recipe of recipes/laptop, PAPER-KEY if it is not named. table: that scores it, "" for none.

    run: the name of its run folders, KEY if it is not named: studies with the same run share it. seed: of its
    one run, -1 for the study's first; seeded: it is trained with all of them. done: the stage that is copied
    from another run of the same seed, that run, and its stage. start: the arm, of the first seed, whose model is the
    backbone, and its stage. changes: of the recipe. untrained: the arm whose best dev score is that of the
    untouched backbone, where objectives have heads; else it is the one at step 0, of `start` if there is one.
    """

    key: str
    table: str
    recipe: str = ""
    run: str = ""
    seed: int = -1
    seeded: bool = True
    done: tuple[str, str, str] | None = None
    start: tuple[str, str] | None = None
    changes: tuple[str, ...] = ()
    untrained: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A paper's arms and tables.

    ensembles: key -> a name with the keys of its members in braces. data: as `sciprism reproduce` takes it.
    runs: the file that tells what each run came to. scored_with: the paper whose results have the scores of
    shared runs. seeds: of the runs, if the command names none.
    """

    paper: str
    arms: tuple[Arm, ...]
    tables: tuple[str, ...]
    ensembles: dict[str, str] = field(default_factory=dict)
    data: str = "open"
    runs: str = "runs.json"
    scored_with: str = ""
    seeds: tuple[int, ...] = (0, 1, 2)


def run_status(*words: object) -> int:
    """Run one command of the package; return its status."""
    print("+ sciprism", shlex.join(map(str, words)), flush=True)
    return subprocess.run([sys.executable, "-m", "sciprism", *map(str, words)]).returncode


def run_command(*words: object) -> None:
    """Run one command of the package that all else needs."""
    if status := run_status(*words):
        raise SystemExit(f"status {status}; the same command continues from here")


def reproduce_table(paper: str, name: str, models: Sequence[tuple[str, str]], *more: str) -> bool:
    """Make one table of these models, (key, name); say whether it is whole.

    Rows of other models are not made: they would have to be fetched.
    """
    words = ["reproduce", paper, name]
    words += [word for key, model in models for word in ("--models", f"{key}={model}")]
    rows = {row.model for row in reproductions[paper].table(name).rows}
    if "--only" not in more:
        words += [word for key in sorted(rows & {key for key, _ in models}) for word in ("--only", key)]
    return not run_status(*words, *more)


def pack(results: Path) -> None:
    """Pack the results that were scored into files that git keeps; the folders stay, and git ignores them."""
    run_command("results", "pack", str(results), "-o", str(results))


def report_missing(tables: Mapping[str, bool]) -> None:
    """End with the names of the tables that are not whole, if there are such."""
    if lacking := [name for name, whole in tables.items() if not whole]:
        raise SystemExit(f"incomplete tables: {', '.join(lacking)}; see the messages above")


def train_arm(study: Study, arm: Arm, seed: int, args: argparse.Namespace) -> Path:
    """Train one arm with one seed and return its run folder."""
    folder: Path = args.runs / f"{arm.run or arm.key}-{seed}"
    recipe = f"recipes/laptop/{arm.recipe or f'{study.paper}-{arm.key}'}.toml"
    changes = [f"seed={seed}", *arm.changes, *(args.change or [])]
    if arm.done:
        stage, other, at = arm.done
        changes.append(f"stages.{stage}.finished_model={args.runs / f'{other}-{seed}' / at / 'model'}")
    if arm.start:
        other, at = arm.start
        changes.append(f"model.backbone={args.runs / f'{other}-{args.seeds[0]}' / at / 'model'}")
    words = ["train", recipe, "--sources", str(args.sources), "-o", str(folder)]
    run_command(*words, *(word for change in changes for word in ("--set", change)))
    return folder


def summarize_arms(study: Study, folders: Mapping[Run, Path]) -> dict[str, dict[str, Any]]:
    """Return the facts of each run, "KEY, seed N"."""
    arms = {arm.key: arm for arm in study.arms}
    first = {key: folder for (key, _), folder in reversed(folders.items())}

    def summarize(key: str, folder: Path) -> dict[str, Any]:
        start = arms[key].start
        return summarize_run(folder, start=first[start[0]] if start else None, untrained=first.get(arms[key].untrained))

    return {f"{key}, seed {seed}": summarize(key, folder) for (key, seed), folder in folders.items()}


def backbone(runs: Path) -> Path:
    """Return the folder of the untouched backbone, truncated as in the laptop recipes."""
    folder = runs / f"all-MiniLM-L6-v2-{MAX_LENGTH}"
    if not folder.exists():
        Encoder.load("all-MiniLM-L6-v2", max_length=MAX_LENGTH).save(folder)
    return folder


def copy_scores(study: Study, folder: Path, args: argparse.Namespace) -> None:
    """Copy the scores of a run that another study shares, unless they are there."""
    shared = args.output.parent / study.scored_with / folder.name
    if study.scored_with and shared.exists():
        shutil.copytree(shared, args.output / folder.name, dirs_exist_ok=True)


def make_table(study: Study, name: str, folders: dict[Run, Path], args: argparse.Namespace, *more: str) -> bool:
    """Make one table of all models that are there; what has been scored already is not scored again."""
    models = [("backbone", str(backbone(args.runs)))]
    known = reproductions[study.paper].models
    models += [(key, str(folder)) for (key, _), folder in folders.items() if key in known]
    for key, name_of in study.ensembles.items():
        for seed in sorted({seed for _, seed in folders}):
            members = {other: str(folder) for (other, own), folder in folders.items() if own == seed}
            if set(_members(name_of)) <= set(members):
                models.append((key, name_of.format_map(members)))
    where = ("--data", study.data, "--results", str(args.output), "--precision", args.precision)
    return reproduce_table(study.paper, name, models, *where, *more)


def _members(name: str) -> list[str]:
    return [part.partition("}")[0] for part in name.split("{")[1:]]


def base_arms(study: Study, arms: Sequence[Arm]) -> set[str]:
    """Return the arms that the tables of some arms also show."""
    paper = reproductions[study.paper]
    shown = (choose_rows(paper.table(a.table), paper.suites[study.data], [a.key]).rows for a in arms if a.table)
    return {key for rows in shown for key in model_keys(rows)} & {arm.key for arm in study.arms}


def earlier_runs(path: Path, runs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what other commands trained, with their facts, out of the file that is about to be written."""
    if not path.exists():
        return []
    known = json.loads(path.read_text("utf-8"))
    older = [*known.pop("before", []), known]
    left = [each | {"runs": {k: v for k, v in each["runs"].items() if k not in runs}} for each in older]
    return [each for each in left if each["runs"]]


def main(study: Study, about: str | None) -> None:
    """Read the command line and run a study."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path, help="what `sciprism prepare open` wrote")
    parser.add_argument("--runs", type=Path, default=Path("out") / study.paper)
    parser.add_argument("-o", "--output", type=Path, default=Path("results") / study.paper)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(study.seeds))
    parser.add_argument("--only", nargs="+", default=[arm.key for arm in study.arms])
    parser.add_argument("--tables", nargs="*", default=list(study.tables))
    parser.add_argument("--set", dest="change", action="append", help="for every recipe")
    parser.add_argument("--precision", default="float32", help="that models are scored in")
    args = parser.parse_args()
    first, *others = args.seeds
    arms = [arm for arm in study.arms if arm.key in args.only]
    if lacking := base_arms(study, arms) - {arm.key for arm in arms}:
        parser.error(f"--only: what was named is held against {', '.join(sorted(lacking))}; name it too")
    order = [(arm, first if arm.seed < 0 else arm.seed) for arm in arms]
    order += [(arm, seed) for seed in others for arm in arms if arm.seeded and arm.seed < 0]
    folders: dict[Run, Path] = {}
    copy_scores(study, backbone(args.runs), args)
    for arm, seed in order:
        folders[arm.key, seed] = folder = train_arm(study, arm, seed, args)
        copy_scores(study, folder, args)
        if arm.table and not make_table(study, arm.table, folders, args, "--only", arm.key):
            raise SystemExit(f"{arm.key}, seed {seed}: not scored (see above); the same command continues")
    facts = provenance(["torch", "sciprism"], changes=args.change or [])
    runs = summarize_arms(study, folders)
    write_result(
        args.output / study.runs,
        facts | {"runs": runs, "before": earlier_runs(args.output / study.runs, runs)},
    )
    made = {
        name: make_table(study, name, folders, args, "-o", str(args.output / f"table-{name}.md"))
        for name in args.tables
    }
    pack(args.output)
    report_missing(made)
