"""What `sciprism train --plan` prints: each stage's sources, tokens, time and memory."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sciprism.cli.json_documents import print_json
from sciprism.cli.printing import format_duration, print_table

if TYPE_CHECKING:
    from sciprism.training.estimate import StageEstimate
    from sciprism.training.plan import Plan


def print_plan(plan: Plan, as_json: bool) -> None:
    """Print what is left of a run, and what it takes; a few steps of each stage are timed."""
    from sciprism.training.estimate import estimate_stage

    if as_json:
        facts = {"recipe": plan.recipe.name, "seed": plan.recipe.seed, "device": str(plan.processes.device)}
        stages = [asdict(estimate_stage(plan, stage)) for stage in plan.stages]
        print_json("sciprism.plan/1", {**facts, "changed": list(plan.changed), "stages": stages})
        return
    threads = f", {plan.folder.facts['threads']} threads" if plan.processes.device.type == "cpu" else ""
    print(f"recipe {plan.recipe.name}, seed {plan.recipe.seed}, device {plan.processes.device}{threads}")
    for fact in plan.changed:
        print(f"changed since the run began: {fact}")
    if not plan.stages:
        print(f"all stages are finished; the model is {plan.model}")
        return
    total, timed = 0.0, 0
    for stage in plan.stages:
        found = estimate_stage(plan, stage)
        total += found.seconds or 0
        timed += found.seconds is not None
        _print_stage(found, stage.stage.batch_size)
    print(f"timed stages, {timed} of {len(plan.stages)}: {format_duration(total)}, without evaluations and checkpoints")


def _print_stage(stage: StageEstimate, batch_size: int) -> None:
    facts = [f"{stage.steps:,} steps of {batch_size:,} examples"]
    if stage.tokens is not None and stage.seconds is not None:
        speed = stage.tokens / stage.seconds
        facts += [f"{stage.tokens:,.0f} tokens", f"{format_duration(stage.seconds)} at {speed:,.0f} tokens/s"]
    if stage.memory is not None:
        facts.append(f"memory {stage.memory / 2**20:,.0f} MiB")
    if stage.reason:
        facts.append(f"not timed: {stage.reason}")
    print(f"\n{stage.name}: {', '.join(facts)}")
    rows = [
        [
            each.name,
            f"{each.examples:,}",
            f"{each.dropped:,}",
            f"{each.used:,}",
            "" if each.tokens is None else f"{each.tokens:,.0f}",
        ]
        for each in stage.sources
    ]
    print_table(["source"], ["examples", "dropped", "used", "tokens/example"], rows)
