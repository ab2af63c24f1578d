"""Carry out a plan: its stages one after the other, each from where the one before ended."""

from __future__ import annotations

import math
import shutil
import warnings
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.settings import describe_slowness, describe_unpaid
from sciprism.errors import ShownWarning
from sciprism.files import lock_folder, open_draft, replace_folder, write_atomically, write_checksums
from sciprism.training.learners.learner import LearnerContext
from sciprism.training.loop import Hooks, TrainingLoop
from sciprism.training.plan import Plan, StagePlan
from sciprism.training.recipe import Recipe
from sciprism.training.run_folder import StageFolder
from sciprism.training.stage_models import build_encoder, build_untouched, copy_start_weights, interpolate, whiten


def train(plan: Plan, hooks: Hooks | None = None) -> Path:
    """Train the stages of a plan; return the folder of the last model.

    The same plan made again continues an interrupted run. Warns of stages that did not pay. Raises
    InputError for a folder that another process is writing, RunFailedError for losses that diverge.
    """
    hooks, processes = hooks or Hooks(), plan.processes
    if processes.first:
        plan.folder.create()
        for changed in plan.changed:
            effect = "dropout is another" if changed == "processes" else "results may differ in the last digits"
            hooks.on_message(f"{changed} has changed since the run began: {effect}")
    processes.wait()
    with ExitStack() as stack:
        processes.on_first(lambda: stack.enter_context(lock_folder(plan.folder.path)))
        for stage in plan.stages:
            _train_stage(plan, stage, hooks)
    for message in plan.folder.list_failures() if processes.first else ():
        warnings.warn(ShownWarning(message), stacklevel=2)
    return plan.model


def _train_stage(plan: Plan, stage_plan: StagePlan, hooks: Hooks) -> None:
    stage, folder, processes = stage_plan.stage, stage_plan.folder, plan.processes
    encoder = plan.encoders.pop(stage.name, None)
    if encoder is None:
        encoder = build_encoder(plan.recipe, stage, stage_plan.models, processes)
        for source in stage_plan.sources:
            source.check(encoder)
    if processes.first and (slow := describe_slowness(stage.precision, processes.device)):
        hooks.on_message(f'{stage.name}: {slow}; precision = "float32" is faster')
    start_weights = copy_start_weights(encoder, stage.interpolation)
    context = LearnerContext(encoder=encoder, processes=processes, load_model=stage_plan.load_model)
    loop = TrainingLoop(stage_plan, context, hooks, partial(build_untouched, plan.recipe, processes))
    state = loop.run()
    if processes.first:
        provenance = _write_model(plan.recipe, loop, start_weights)
        plot_curves(folder, {name: learner.metric for learner, name, _ in loop.dev.examples})
        write_checksums(folder.folder)  # of the metrics and their plot, which no longer change
        if loop.step < loop.steps and (reason := state.stop_reason(stage.evaluation)):
            hooks.on_message(f"{stage.name}: stops after step {loop.step:,} of {loop.steps:,}: {reason}")
        line = f"{stage.name}: {loop.step:,} steps, {state.examples:,} examples"
        if folder.best.exists():
            line += _describe_choice(loop, provenance)
        hooks.on_message(line)
    processes.wait()


def _write_model(recipe: Recipe, loop: TrainingLoop, start_weights: Mapping[str, Tensor]) -> Mapping[str, Any]:
    """Write the finished model: the best one by dev examples, if there are any, else the last; return its provenance.

    Where it is interpolated or whitened, its dev score is measured again.
    """
    stage, folder = loop.stage, loop.folder
    with open_draft(folder.model) as draft:
        if loop.state.best > -math.inf or folder.best.exists():
            folder.check_best(loop.state.best_checksum)
            shutil.copytree(folder.best, draft, dirs_exist_ok=True)
        else:
            loop.encoder.prepare()
            loop.save(draft, name=loop.plan.name, stage=stage.name, step=loop.step, seed=recipe.seed)
        if start_weights or stage.whitening:
            encoder = Encoder.load(draft, device=str(loop.encoder.device))
            interpolate(encoder, start_weights, stage.interpolation)
            encoder.prepare()
            whiten(encoder, loop.sources, stage.whitening)
            encoder.prepare()
            if (dev := loop.dev.mean(loop.dev.score_encoder(encoder))) is not None:
                encoder.provenance["dev"] = dev
            encoder.save(draft, **encoder.provenance)
            write_checksums(draft)  # also of what learners keep
        replace_folder(folder.model, draft)
    shutil.rmtree(folder.previous_checkpoint, ignore_errors=True)
    return folder.read_provenance()


def _describe_choice(loop: TrainingLoop, provenance: Mapping[str, Any]) -> str:
    """Return the model's step, how it was chosen, its dev scores by source or domain, and whether training paid."""
    best, rows = loop.state.best_step, [row for row in loop.folder.rows() if "dev" in row]
    scores: dict[str, float] = next((row["dev_scores"] for row in reversed(rows) if row["step"] == best), {})
    dev = ", ".join(
        f"{name} {learner.format_score(scores[name])}" for learner, name, _ in loop.dev.examples if name in scores
    )
    choice = "the best by dev examples" if len(rows) > 1 else "the last one"
    line = f"; the model is that of step {best:,}, {choice}{': no step improved it' * (best == 0)} (dev: {dev}"
    if provenance.get("dev") not in (None, loop.state.best):
        line += f"; after interpolation or whitening {provenance['dev']:.4f}"
    if unpaid := describe_unpaid(provenance):
        return f"{line}); {unpaid}"
    untouched = provenance.get("untouched")
    return line + (")" if untouched is None else f"; untouched model {untouched:.4f})")


WINDOW = 20  # losses of a source in the running mean


def plot_curves(folder: StageFolder, metrics: Mapping[str, str]) -> None:
    """Plot the losses and the dev scores of each source of a stage to `curve.png`, with those of the untouched model.

    metrics: the name of each source's metric on dev examples.
    """
    from matplotlib.figure import Figure

    losses: dict[str, list[tuple[int, float]]] = defaultdict(list)
    dev: dict[str, list[tuple[int, float]]] = defaultdict(list)
    untouched: dict[str, float] = {}
    for row in folder.rows():
        untouched = row.get("untouched_scores") or untouched
        for name, loss in row.get("losses", {}).items():
            losses[name].append((row["step"], loss))
        for name, score in row.get("dev_scores", {}).items():
            dev[name].append((row["step"], score))
    colours = {name: f"C{n}" for n, name in enumerate(sorted(losses.keys() | dev.keys()))}
    figure = Figure(figsize=(11 if dev else 6, 4))
    axes = figure.subplots(1, 2 if dev else 1, squeeze=False)[0]
    panels = zip(axes, (losses, dev), ("loss (running mean)", "dev examples"), strict=False)
    for axis, lines, title in panels:
        for name, points in sorted(lines.items()):
            steps, values = zip(*points, strict=True)
            windows = [values[max(0, end - WINDOW) : end] for end in range(1, len(values) + 1)]
            shown = [sum(window) / len(window) for window in windows] if lines is losses else values
            mark = "." if lines is dev or len(steps) < WINDOW else ""
            label = f"{name}, {metrics[name]}" if lines is dev and name in metrics else name
            axis.plot(steps, shown, label=label, color=colours[name], marker=mark, linewidth=1)
            if lines is dev and name in untouched:
                label = f"{name}, untouched model"
                axis.axhline(untouched[name], label=label, color=colours[name], linestyle="--", linewidth=1)
        axis.set_title(title)
        axis.set_xlabel("step")
        axis.legend(fontsize=7)
    figure.tight_layout()
    write_atomically(folder.folder / "curve.png", lambda file: figure.savefig(file, format="png", dpi=120))
