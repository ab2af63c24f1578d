"""Arms: what was trained for each model of a claim, and whether that training is a test of anything.

A training is a test only if its best score on whole dev texts is above that of the untouched backbone, and on no type
of task that it trains on are its tests below the backbone's (`records.ContrastEvaluator`). RESULTS/<paper>/runs.json
says what each run came to, "KEY, seed N" (`benchmarks/study.py` writes it). Where dev texts were cut as in training,
the tests decide, and the dev score only where there are none of the backbone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sciprism.reproduce.estimates import read_records
from sciprism.reproduce.papers import GroupedSuite, TableModel

RUNS = "runs.json"
TOO_SHORT = "training too short"
BACKBONE = "backbone"
"""Key of the untouched backbone, in the papers whose results have its tests."""
CITATIONS = ("vis-citation", "vis-citation-retrieval", "multi-cite")


def list_in_train(paper: str, suite: GroupedSuite, model: str) -> tuple[str, ...]:
    """Return the tests of a suite that are of the kinds that a model trains on, of other papers."""
    names = dict.fromkeys(name for group in suite.groups.values() for name in group)
    if paper == "multi2spe" or model == "citation-only":
        return tuple(name for name in CITATIONS if name in names)
    tasks = suite.tasks_by_name()
    trained = (name for name in names if tasks[name].in_train and not name.endswith("-pearson"))
    return tuple(name for name in trained if not (model.endswith("no-citations") and name in CITATIONS))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedStage:
    """One stage of a training, with warm-ups that were copied from other runs."""

    name: str
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """The training of one model.

    stages: of its first run. kept: per run, the step of the last stage that was kept, the one with the best dev
    score. dev: per run, the score of the untouched backbone (None if unknown) and its own.
    parameters: of the encoder. cut: whether dev texts were cut as in training. in_train: type of task -> its tests of
    the kinds that it trains on minus the backbone's, with the interval; empty where the backbone has none. untested:
    why no verdict can rest on it, "" if one can.
    """

    model: str
    stages: tuple[TrainedStage, ...] = ()
    kept: tuple[int, ...] = ()
    dev: tuple[tuple[float | None, float], ...] = ()
    parameters: int = 0
    cut: bool = False
    in_train: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    untested: str = ""

    def judge(self, in_train: Mapping[str, tuple[float, float, float]]) -> Arm:
        """Return the arm judged by its tests: of each type, value and limits of the difference to the backbone."""
        untested, lost = self.untested, [name for name, (_, _, high) in in_train.items() if high < 0]
        if lost:
            value, low, high = (f"{100 * number:+.1f}" for number in in_train[lost[0]])
            untested = untested or (
                f"its tests of {lost[0]} of the kinds that it trains on fall below the untouched backbone's, "
                f"{value} [{low}, {high}]"
            )
        elif in_train and self.cut and untested.startswith(TOO_SHORT):
            untested = ""
        return replace(self, in_train=in_train, untested=untested)


@dataclass(slots=True)
class Arms:
    """The arms of a paper's results; each is read once."""

    folder: Path
    models: Mapping[str, TableModel]
    _runs: Mapping[str, list[dict[str, Any]]] = field(init=False)

    def __post_init__(self) -> None:
        self._runs = _read_runs(self.folder)

    def find(self, key: str) -> Iterator[Arm]:
        """Yield the arm of a model, or those of its members; nothing for a model that others trained."""
        model = self.models[key]
        if model.members:
            for member in model.members:
                yield from self.find(member)
        elif not model.fixed:
            yield self._read(key)

    def _read(self, key: str) -> Arm:
        runs = self._runs.get(key, [])
        if not runs:
            return Arm(model=key, untested="no record of its training")
        stages = tuple(TrainedStage(name=each["name"], steps=each["steps"]) for each in runs[0].get("stages", ()))
        last = (run["stages"][-1].get("step") for run in runs if run.get("stages"))
        kept = tuple(step for step in last if step is not None)
        dev = tuple((run.get("dev_of_backbone"), run["dev_best"]) for run in runs if "dev_best" in run)
        reasons = (_find_reason(run) for run in runs)
        untested = next(filter(None, reasons), "")
        size = runs[0].get("parameters", 0)
        cut = not all(run.get("dev_whole") for run in runs)
        return Arm(model=key, stages=stages, kept=kept, dev=dev, parameters=size, cut=cut, untested=untested)


def _find_reason(run: Mapping[str, Any]) -> str:
    """Return why a run is no test of its method, "" if it is one."""
    unchanged = [stage["name"] for stage in run.get("stages", ()) if stage.get("step") == 0]
    if unchanged:
        return f"training kept step 0 of stage {', '.join(unchanged)}"
    backbone, best = run.get("dev_of_backbone"), run.get("dev_best")
    if best is None:
        return "its training has no dev score"
    if backbone is None:
        return f"{TOO_SHORT} to tell: the untouched backbone's dev score is not on file"
    if best <= backbone:
        return f"{TOO_SHORT}: its best dev score, {best:.3f}, is not above the untouched backbone's, {backbone:.3f}"
    return ""


def read_runs(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and facts of each training run of a study, those of earlier commands too."""
    for each in read_commands(folder / RUNS):
        yield from each["runs"].items()


def read_commands(path: Path) -> list[dict[str, Any]]:
    """Return what each command trained and where, the latest first, out of a file of runs."""
    latest = read_records(path, "runs", "values")
    return [latest, *latest.pop("before", ())] if latest else []


def _read_runs(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return key of a model -> what the run of each seed came to, in the order of seeds."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, run in sorted(read_runs(folder), key=lambda named: (len(named[0]), named[0])):  # seed 2 before seed 10
        found.setdefault(name.rpartition(", seed ")[0], []).append(run)
    return found
