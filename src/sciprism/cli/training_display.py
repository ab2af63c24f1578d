"""What `sciprism train` shows and scores while it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from sciprism.cli.progress import ProgressDisplay
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.evaluation.results import TaskResult
    from sciprism.evaluation.selection import SelectedTasks
    from sciprism.training.loop import Hooks
    from sciprism.training.recipe import Recipe


def show_training(recipe: Recipe, data: Path | None) -> AbstractContextManager[Hooks]:
    """Return a context with the loop's hooks, which show its progress and score tasks."""
    from rich.console import Console

    from sciprism.training.loop import Hooks, StepReport

    console = Console(stderr=True)
    display = ProgressDisplay("preparing")
    first: dict[str, int] = {}

    def on_step(step: StepReport) -> None:
        if step.stage not in first:  # a resumed stage begins later than at its first step
            first[step.stage] = step.step
            display.begin(step.stage, "steps", step.steps)
        facts = f"loss {step.loss:.4f}, {step.examples_per_second:.1f} examples/s"
        display.update(step.step, rated=step.step - first[step.stage], facts=facts)
        if not console.is_terminal and step.step % max(1, step.steps // 20) == 0:
            on_message(f"{step.stage}: step {step.step:,} of {step.steps:,}, {display.describe_rate()}")

    tasks = {name: _find_task(name) for stage in recipe.stages for name in stage.evaluation.tasks}

    def on_message(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    def evaluate(encoder: Encoder, names: Sequence[str]) -> Mapping[str, float]:
        results = {name: _score(encoder, tasks[name], data) for name in names}
        for name, result in results.items():
            if not result.metrics:
                on_message(f"{name} has no score: {result.reason}")
        return {name: next(iter(r.metrics.values())).value for name, r in results.items() if r.metrics}

    @contextmanager
    def show() -> Iterator[Hooks]:
        with display if os.environ.get("RANK", "0") == "0" else nullcontext():  # once, of several processes
            yield Hooks(evaluate=evaluate, on_step=on_step, on_message=on_message)

    return show()


def _find_task(name: str) -> SelectedTasks:
    """Find a task by `suite/task`."""
    from sciprism.evaluation.selection import select_tasks

    (found,) = select_tasks(name)
    if len(found.tasks) != 1 or found.tasks[0].name != name.partition("/")[2]:
        raise InputError(f"evaluation: no task {name!r}; write SUITE/TASK, as in open/vis-citation")
    return found


def _score(encoder: Encoder, task: SelectedTasks, data: Path | None) -> TaskResult:
    """Score an encoder on a task, without storing vectors."""
    from sciprism.evaluation.run import evaluate

    (result,) = evaluate(encoder, task, data)
    return result
