"""The runs of the plan of studies as jobs side by side, and their results put together.

A run's scores are in a folder apart, OUTPUT/side-by-side/RESULTS/RUN, until all are done or the time is over. Then what
is scored is put into the results; where these are on another machine:

    python benchmarks/study_jobs.py OUTPUT/side-by-side results
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path

from sciprism.evaluation.results import PACK_SUFFIX, read_pack
from sciprism.reproduce.estimates import read_models, write_models
from side_by_side import Job, Scheduler, SharedTasks
from study import (
    Arm,
    Study,
    add_to_pack,
    backbone,
    describe_command,
    find_named,
    find_needed,
    list_missing,
    list_tasks,
    list_untrained,
    model_folder,
    name_members,
    order_runs,
    pack,
    record_runs,
    run_name,
    score,
    score_ensembles,
    summarize_arm,
    train_run,
)
from study_plan import Step, find_backbone, find_data, list_step_changes

DATA = "data"
"""What scoring needs: all tasks' data."""


def run_side_by_side(rounds: Iterable[tuple[Step, tuple[int, ...]]], args: argparse.Namespace) -> list[str]:
    """Train and score the runs of the plan that are not on file, and put them on file; return what is left."""
    jobs, shared = dict[str, Job](), SharedTasks()
    for step, seeds in rounds:
        study, before = find_study(step), len(jobs)
        StepJobs(step, study, args, seeds, jobs, shared).add()
        if len(jobs) > before:
            shared.add(list_tasks(study), find_data(step, args))
    scheduler = Scheduler(args.processes, time.time() + 60 * args.minutes)

    def read_tasks() -> bool:
        more = shared.read_next()
        if not more:
            scheduler.done.add(DATA)
        return more

    left = scheduler.run(jobs.values(), read_tasks)
    collect_runs(args.output / "side-by-side", args.results)
    return left


def find_study(step: Step) -> Study:
    """Return the study of a step."""
    found: Study = getattr(import_module(step.script), step.study)
    return found


class StepJobs:
    """The jobs of one step with some seeds.

    jobs: those of all steps by name, to which these are added. shared: the data that the scoring ones find.
    """

    def __init__(
        self,
        step: Step,
        study: Study,
        args: argparse.Namespace,
        seeds: tuple[int, ...],
        jobs: dict[str, Job],
        shared: SharedTasks,
    ) -> None:
        self.step, self.study, self.all, self.jobs, self.shared = step, study, args, jobs, shared
        self.arms = [arm for arm in study.arms if not step.only or arm.key in step.only]
        self.args = argparse.Namespace(
            sources=args.output / step.sources,
            runs=args.output / step.runs,
            backbone=find_backbone(step, args),
            output=args.results / step.results,
            seeds=seeds,
            precision=args.precision,
            change=list_step_changes(step, args),
            here=args.here,
        )

    def add(self) -> None:
        """Add what is not on file, first what others begin with; runs of other studies are copied from there."""
        backbone(self.args)
        missing = list_missing(self.study, order_runs(self.arms, self.args.seeds), self.args)
        for arm, seed in missing:
            if not (self.study.scored_with and arm.run):
                needed = find_needed(self.study, arm, seed, self.args)
                needs = [self._train(*each) for each in ((arm, seed), *needed)]
                self._add(f"score {self.step.name} {run_name(arm, seed)}", partial(self._score, arm, seed), needs)
        for key, model in list_untrained(self.study).items():
            if not read_models(self.args.output).get(key):
                self._add(f"score {self.step.results} {key}", partial(self._score_untrained, key, model), [])
        for seed in self.args.seeds:
            self._add_ensembles(seed)

    def _has_ensemble(self, key: str, name: str, seed: int) -> bool:
        """Return whether the results have a seed's ensemble of a key; name: as the study has it."""
        members = "+".join(f"{member}-{seed}" for member in name_members(name))
        return any(each.endswith(f"-{members}") for each in read_models(self.args.output).get(key, ()))

    def _add_ensembles(self, seed: int) -> None:
        """Add a seed's ensembles, after their members, whose vectors are known if they are scored too."""
        keys = {arm.key for arm in self.arms}
        ensembles = [(key, name) for key, name in self.study.ensembles.items() if keys.issuperset(name_members(name))]
        lacking = [name for key, name in ensembles if not self._has_ensemble(key, name, seed)]
        members = {key for name in lacking for key in name_members(name)}
        if not members:
            return
        runs = [(arm, seed) for arm in self.study.arms if arm.key in members]
        scored = [name for each in runs if (name := f"score {self.step.name} {run_name(*each)}") in self.jobs]
        needs = [*(self._train(*each) for each in runs), *scored]
        self._add(f"score {self.step.name} ensembles-{seed}", partial(self._score_ensembles, seed), needs)

    def _train(self, arm: Arm, seed: int) -> str:
        """Add the training of a run, after that of what it begins with; return its name."""
        needs = [self._train(*each) for each in find_named(self.study, arm, seed, self.args).values()]
        name = f"train {self.step.runs} {run_name(arm, seed)}"
        if name not in self.jobs:
            self.jobs[name] = Job(name, partial(self._train_run, arm, seed), self._log(name), tuple(needs))
        return name

    def _add(self, name: str, do: Callable[[], None], needs: list[str]) -> None:
        self.jobs.setdefault(name, Job(name, do, self._log(name), (*needs, DATA)))

    def _log(self, name: str) -> Path:
        path: Path = self.all.output / "logs" / f"{name.replace(' ', '-')}.txt"
        return path

    def _place(self, name: str) -> argparse.Namespace:
        """Return the settings with a folder of results for one job, in the process that does it."""
        self._use_data()
        output = self.all.output / "side-by-side" / self.step.results / f"{self.step.study.lower()}-{name}"
        return argparse.Namespace(**vars(self.args) | {"output": output})

    def _use_data(self) -> None:
        os.environ["SCIPRISM_DATA"] = str(find_data(self.step, self.all))

    def _train_run(self, arm: Arm, seed: int) -> None:
        self._use_data()
        train_run(self.study, arm, seed, self.args)

    def _score(self, arm: Arm, seed: int) -> None:
        args = self._place(run_name(arm, seed))
        score(self.study, arm.key, str(model_folder(arm, seed, args)), args, self.shared.find)
        pack(args.output)
        facts = {f"{arm.key}, seed {seed}": summarize_arm(self.study, arm, seed, args)}
        record_runs(args.output / self.study.runs, describe_command(args) | {"runs": facts})

    def _score_untrained(self, key: str, model: str) -> None:
        args = self._place(key)
        score(self.study, key, model or str(backbone(args)), args, self.shared.find)
        pack(args.output)

    def _score_ensembles(self, seed: int) -> None:
        args = self._place(f"ensembles-{seed}")
        score_ensembles(self.study, seed, args, self.shared.find)
        pack(args.output)


def collect_runs(folder: Path, results: Path) -> None:
    """Put the scores and facts of runs, RESULTS/RUN in a folder, into the results of their studies.

    Seeds are paired in the order of their names, whichever was scored first.
    """
    for study in sorted({path.parents[1] for path in folder.rglob("models.json")}):
        target = results / study.relative_to(folder)
        for run in sorted(study.iterdir()):
            for path in sorted(run.glob(f"*{PACK_SUFFIX}")):
                add_to_pack(target / path.name, read_pack(path).entries())
                write_models(target, read_models(run))
            for path in sorted(run.glob("runs*.json")):
                record_runs(target / path.name, json.loads(path.read_text("utf-8")))
        write_models(target, {key: sorted(names) for key, names in read_models(target).items()})  # pairs of seeds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    named = parser.parse_args()
    collect_runs(named.folder, named.results)
