"""A paper's models at the size of a laptop: trained, scored and set in tables, arm by arm.

After an interruption the same command continues. A run is on file once it is scored: its facts are in the file of
runs, its scores in the packs beside it. Then it is not trained again, nor on another machine, unless a later arm
begins with it. Every arm is trained with the first seed, then those that are `seeded` with the others. The backbone
reads as many tokens as the laptop recipes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evidence.arms import RUNS, read_commands, read_runs
from measurement import provenance, write_result
from run_summary import summarize_run
from sciprism import Encoder
from sciprism.evaluation.results import PACK_SUFFIX, ResultKey, ScoredResult, folder_name, read_pack, write_pack
from sciprism.formats import FORMATS
from sciprism.reproduce.estimates import read_models, write_models
from sciprism.reproduce.papers import ModelRow, reproductions
from sciprism.reproduce.run import plan_table, score_table
from sciprism.training.recipe_file import apply_changes, read_tables

MAX_LENGTH = 128
RETRIEVER = "all-MiniLM-L6-v2"
"""The backbone of the laptop recipes."""
MODEL = re.compile(r"\{(?:backbone|([\w-]+)\.([\w-]+))\}")
"""A model that a change refers to: {backbone}, or {ARM.STAGE}."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One recipe of recipes/laptop, PAPER-KEY if it is not named. table: that scores it, "" for none.

    run: the name of its run folders, KEY if it is not named: studies with the same run share it. seed: of its
    one run, -1 for the study's first; seeded: it is trained with all of them. changes: of the recipe;
    `{ARM.STAGE}` in one is the model of another arm's stage, of the same seed or of its only one, and
    `{backbone}` the untouched backbone. stage: whose model is the arm's, the last one if it is not named.
    untrained: the arm whose best dev score is that of the untouched backbone, where objectives have heads; else
    it is the one at step 0, of the arm that is `model.backbone` if there is one.
    """

    key: str
    table: str
    recipe: str = ""
    run: str = ""
    seed: int = -1
    seeded: bool = True
    changes: tuple[str, ...] = ()
    stage: str = ""
    untrained: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A paper's arms and tables.

    ensembles: key -> a name with the keys of its members in braces. fixed: key -> model, of what is there
    without training, besides the backbone. data: as `sciprism reproduce` takes it. scored_with: the paper whose
    results have the scores of shared runs. seeds: of the runs, if the command names none.
    """

    paper: str
    arms: tuple[Arm, ...]
    tables: tuple[str, ...]
    ensembles: dict[str, str] = field(default_factory=dict)
    fixed: dict[str, str] = field(default_factory=dict)
    data: str = "open"
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


def write_table(study: Study, name: str, results: Path) -> bool:
    """Write one table of what is on file; say whether any of it is."""
    words = ("reproduce", study.paper, name, "--data", study.data, "--from-results", "--results", str(results))
    return not run_status(*words, "-o", str(results / f"table-{name}.md"))


def pack(results: Path) -> None:
    """Pack the results that were scored into files that git keeps; the folders stay, and git ignores them."""
    run_command("results", "pack", str(results), "-o", str(results))


def report_missing(tables: Mapping[str, bool]) -> None:
    """End with the names of the tables that are not whole, if there are such."""
    if lacking := [name for name, whole in tables.items() if not whole]:
        raise SystemExit(f"incomplete tables: {', '.join(lacking)}; see the messages above")


def run_name(arm: Arm, seed: int) -> str:
    """Return the name of a run's folder, which its scores have too."""
    return f"{arm.run or arm.key}-{seed}"


def list_changes(study: Study, arm: Arm, seed: int, args: argparse.Namespace) -> list[str]:
    """Return the changes of an arm's recipe; models are named as the study names them."""
    start = [] if args.backbone == RETRIEVER else ["model.backbone={backbone}"]
    return [f"seed={seed}", *start, *arm.changes, *(args.change or [])]


def recipe_path(study: Study, arm: Arm) -> Path:
    return Path(f"recipes/laptop/{arm.recipe or f'{study.paper}-{arm.key}'}.toml")


def find_named(study: Study, arm: Arm, seed: int, args: argparse.Namespace) -> dict[str, tuple[Arm, int]]:
    """Return the arms, with their seeds, whose models an arm's changes name, by the name that these have."""
    named = {match[1] for change in arm.changes for match in MODEL.finditer(change)}
    return {
        each.run or each.key: (each, seed if each.seeded else args.seeds[0])
        for each in reversed(study.arms)  # the first of those that share a run
        if (each.run or each.key) in named
    }


def find_needed(study: Study, arm: Arm, seed: int, args: argparse.Namespace) -> list[tuple[Arm, int]]:
    """Return the arms, with their seeds, whose run folders an arm needs: those it names, and its heads."""
    heads = [(each, args.seeds[0]) for each in study.arms if each.key == arm.untrained]
    return [*heads, *find_named(study, arm, seed, args).values()]


def fill_changes(study: Study, arm: Arm, seed: int, args: argparse.Namespace) -> list[str]:
    """Return the changes of an arm's recipe with the folders of the models that they name."""
    runs = {name: args.runs / run_name(*each) for name, each in find_named(study, arm, seed, args).items()}

    def find_model(match: re.Match[str]) -> str:
        return str(runs[match[1]] / match[2] / "model" if match[1] else backbone(args))

    return [MODEL.sub(find_model, change) for change in list_changes(study, arm, seed, args)]


def train_arm(study: Study, arm: Arm, seed: int, args: argparse.Namespace) -> None:
    """Train one arm with one seed, and first what it needs."""
    for needed in find_needed(study, arm, seed, args):
        train_arm(study, *needed, args)
    train_run(study, arm, seed, args)


def train_run(study: Study, arm: Arm, seed: int, args: argparse.Namespace) -> None:
    """Train one arm with one seed; what it needs is there."""
    words = ["train", recipe_path(study, arm), "--sources", args.sources, "-o", args.runs / run_name(arm, seed)]
    changes = [*fill_changes(study, arm, seed, args), *args.here]
    run_command(*words, *(word for change in changes for word in ("--set", change)))


def model_folder(arm: Arm, seed: int, args: argparse.Namespace) -> Path:
    """Return the folder of a run, or of its stage's model, as `Encoder.load` takes it."""
    folder: Path = args.runs / run_name(arm, seed)
    return folder / arm.stage / "model" if arm.stage else folder


def summarize_arm(study: Study, arm: Arm, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """Return the facts of a trained run, with the digest of its recipe and changes."""
    heads = [args.runs / run_name(each, args.seeds[0]) for each in study.arms if each.key == arm.untrained]
    facts = summarize_run(args.runs / run_name(arm, seed), arm.stage, untrained=heads[0] if heads else None)
    return facts | {"recipe": digest(study, arm, seed, args)}


def digest(study: Study, arm: Arm, seed: int, args: argparse.Namespace) -> str:
    """Return a digest of what an arm is trained by: the settings of its recipe, changed as it states."""
    settings = apply_changes(read_tables(recipe_path(study, arm)), list_changes(study, arm, seed, args))
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def backbone_name(args: argparse.Namespace) -> str:
    """Return the name of the backbone, of its run's stage where it is RUN/STAGE/model."""
    return Path(args.backbone.removesuffix("/model")).name


def backbone(args: argparse.Namespace) -> Path:
    """Return the folder of the untouched backbone, truncated as in the laptop recipes."""
    folder: Path = args.runs / f"{backbone_name(args)}-{MAX_LENGTH}"
    if not folder.exists():
        Encoder.load(args.backbone, max_length=MAX_LENGTH, device="cpu").save(folder)
    return folder


def score(study: Study, key: str, model: str, args: argparse.Namespace) -> None:
    """Score one model for all rows of the study's tables that show it; what has been scored is not scored again."""
    paper = reproductions[study.paper]
    suite, data = paper.suites[study.data], Path(os.environ["SCIPRISM_DATA"])
    for name in study.tables:
        table = paper.table(name)
        rows = tuple(replace(row, against="") for row in table.rows if row.model == key)
        if not rows:
            continue
        plan = plan_table(paper, replace(table, rows=rows), suite, {key: (model,)}, data, args.precision)
        if score_table(plan, args.output, f"python benchmarks/{Path(sys.argv[0]).name}").failed:
            raise SystemExit(f"{key}: a task of table {name} failed; the same command continues")


def list_untrained(study: Study) -> dict[str, str]:
    """Return key -> model of what a study's tables show without training; "" for the backbone."""
    shown = {row.model for name in study.tables for row in reproductions[study.paper].table(name).rows}
    return {key: model for key, model in {"backbone": "", **study.fixed}.items() if key in shown}


def score_ensembles(study: Study, seed: int, args: argparse.Namespace) -> None:
    """Score the ensembles of one seed whose members are there."""
    folders = {arm.key: args.runs / run_name(arm, seed) for arm in study.arms}
    for key, name_of in study.ensembles.items():
        if all((folders[member] / "recipe.json").exists() for member in name_members(name_of)):
            score(study, key, name_of.format_map(folders), args)


def name_members(ensemble: str) -> list[str]:
    """Return the keys in the braces of an ensemble's name."""
    return [part.partition("}")[0] for part in ensemble.split("{")[1:]]


def copy_shared(study: Study, arm: Arm, seed: int, args: argparse.Namespace) -> dict[str, Any] | None:
    """Copy the scores of a run that another study has recorded; return how it was made, None if there are none."""
    shared: Path = args.output.parent / study.scored_with
    made = find_run(shared / RUNS, f"{arm.run}, seed {seed}") if study.scored_with and arm.run else None
    if made is None:
        return None
    rows = (ModelRow(arm.key, arm.key, encoded_format=format) for format in ("", *FORMATS))
    models = {folder_name(run_name(arm, seed), row.encoded_format): row.key for row in rows}
    for path in shared.glob(f"*{PACK_SUFFIX}"):
        found = {key: entry for key, entry in read_pack(path).entries().items() if key[0] in models}
        add_to_pack(args.output / path.name, found)
        write_models(args.output, {models[name]: (name,) for name, *_ in found})
    (facts,) = made["runs"].values()
    return made | {"runs": {f"{arm.key}, seed {seed}": facts}}


def add_to_pack(path: Path, entries: Mapping[ResultKey, ScoredResult]) -> None:
    """Add results to a pack, which is made if it is not there."""
    known = read_pack(path).entries() if path.exists() else {}
    write_pack(path, {**known, **entries})


def find_run(path: Path, name: str) -> dict[str, Any] | None:
    """Return a run alone, with the command and the machine that made it, out of a file of runs."""
    found = (each | {"runs": {name: each["runs"][name]}} for each in read_commands(path) if name in each["runs"])
    return next(found, None)


def list_missing(study: Study, order: Sequence[tuple[Arm, int]], args: argparse.Namespace) -> list[tuple[Arm, int]]:
    """Return the runs that are not on file. Ends where one on file was trained by another recipe."""
    known = dict(read_runs(args.output))
    missing = []
    for arm, seed in order:
        facts = known.get(f"{arm.key}, seed {seed}")
        recipe = facts.get("recipe") if facts and not arm.run else None  # the oldest runs have none
        if facts is None and arm.table:
            missing.append((arm, seed))
        elif recipe and recipe != digest(study, arm, seed, args):
            raise SystemExit(f"{arm.key}, seed {seed}: {args.output} has a run of another recipe; remove it there")
    return missing


def run_arms(study: Study, order: Sequence[tuple[Arm, int]], args: argparse.Namespace) -> None:
    """Train and score the runs that are not on file, and put each on file as soon as it is scored."""
    for arm, seed in list_missing(study, order, args):
        made = copy_shared(study, arm, seed, args)
        if made is None:
            train_arm(study, arm, seed, args)
            score(study, arm.key, str(model_folder(arm, seed, args)), args)
            score_ensembles(study, seed, args)
            pack(args.output)
            facts = summarize_arm(study, arm, seed, args)
            made = describe_command(args) | {"runs": {f"{arm.key}, seed {seed}": facts}}
        record_runs(args.output / RUNS, made)


def describe_command(args: argparse.Namespace) -> dict[str, Any]:
    """Return what a reader needs to train and score again what a command does."""
    more = {"here": args.here} if args.here else {}
    more |= {"backbone": backbone_name(args)} if args.backbone != RETRIEVER else {}
    return provenance(["torch", "sciprism"], changes=args.change or [], **more)


def record_runs(path: Path, made: Mapping[str, Any]) -> None:
    """Put runs, with how they were made, into a file: beside those made alike, and before the others."""
    how = {key: value for key, value in made.items() if key not in ("runs", "before")}
    runs, others = dict(made["runs"]), list[dict[str, Any]]()
    for each in read_commands(path):
        left = {name: facts for name, facts in each.pop("runs").items() if name not in made["runs"]}
        if each == how:
            runs = left | runs
        elif left:
            others.append(each | {"runs": left})
    write_result(path, how | {"runs": runs, "before": others})


def order_runs(arms: Sequence[Arm], seeds: Sequence[int]) -> list[tuple[Arm, int]]:
    """Return the runs of some arms: all with the first seed, or the one that an arm names, then the others."""
    first, *others = seeds
    order = [(arm, first if arm.seed < 0 else arm.seed) for arm in arms]
    return order + [(arm, seed) for seed in others for arm in arms if arm.seeded and arm.seed < 0]


def main(study: Study, about: str | None) -> None:
    """Read the command line and run a study."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path, help="what `sciprism prepare open` wrote")
    parser.add_argument("--runs", type=Path, default=Path("out") / study.paper)
    parser.add_argument("-o", "--output", type=Path, default=Path("results") / study.paper)
    parser.add_argument("--backbone", default=RETRIEVER, help="model that every recipe starts from")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(study.seeds))
    parser.add_argument("--only", nargs="+", default=[arm.key for arm in study.arms])
    parser.add_argument("--tables", nargs="*", default=list(study.tables))
    parser.add_argument("--set", dest="change", action="append", help="for every recipe")
    parser.add_argument(
        "--here",
        action="append",
        default=[],
        help="for every recipe, but the run is the same, such as defaults.chunk_tokens=32768 on a GPU",
    )
    parser.add_argument("--precision", default="float32", help="that models are scored in")
    args = parser.parse_args()
    arms = [arm for arm in study.arms if arm.key in args.only]
    for key, model in list_untrained(study).items():
        if not read_models(args.output).get(key):
            score(study, key, model or str(backbone(args)), args)
            pack(args.output)
    run_arms(study, order_runs(arms, args.seeds), args)
    report_missing({name: write_table(study, name, args.output) for name in args.tables})
