"""What a run's own files say of it: the steps of each stage, and whether its training is a test of anything."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciprism import Encoder


@dataclass(frozen=True, slots=True)
class RunStage:
    """A trained stage: its name, its folder, and its metrics."""

    name: str
    folder: Path
    rows: list[dict[str, Any]]


def summarize_run(folder: Path, stage: str = "", *, untrained: Path | None = None) -> dict[str, Any]:
    """Return the facts of a run's stage, by default its last.

    dev_of_backbone: the dev score of the untouched backbone on the same sources, which is the best one of the run
    `untrained` over these if there is one, else that at step 0 of the first stage that scored them. dev_whole: whether
    dev texts were as long as the model reads; runs before this was so cut them as in training.
    """
    read = trace_stages(folder, stage)
    last = read[-1]
    known = _find_best(trace_stages(untrained)[-1].rows, last.rows) if untrained else _find_start(read)
    return {
        "stage": last.name,
        "stages": [_summarize_stage(each) for each in read],
        "steps": max(row["step"] for row in last.rows),
        "seconds": round(sum(row.get("seconds", 0) for row in last.rows)),
        "parameters": Encoder.load(last.folder / "model", device="cpu").describe()["parameters"],
        **_summarize_dev(last.rows),
        "dev_of_backbone": known,
        "dev_whole": bool(re.search(r'"dev_length":\s*null', (last.folder.parent / "recipe.json").read_text("utf-8"))),
    }


def trace_stages(folder: Path, name: str = "") -> list[RunStage]:
    """Return a run's stage, by default its last trained one, after those that its model began with, of any run."""
    recipe = json.loads((folder / "recipe.json").read_text("utf-8"))
    stages = {each["name"]: each for each in recipe["stages"]}
    names = [*stages]
    name = name or [each for each in names if (folder / each / "metrics.jsonl").exists()][-1]
    if finished := stages[name].get("finished_model"):
        return _trace_model(Path(finished))
    start = (stages[name].get("architecture") or {}).get("copy_from") or stages[name].get("initialize_from", "previous")
    before = [recipe["model"].get("backbone") or "", *names[: names.index(name)]]
    start = {"previous": before[-1], "backbone": before[0]}.get(start, start)
    begun = trace_stages(folder, start) if start in stages else _trace_model(Path(start))
    return [*begun, RunStage(name, folder / name, _read_rows(folder / name))]


def _trace_model(model: Path) -> list[RunStage]:
    """Return the stages behind a model, RUN/STAGE/model; none if it is no run's."""
    stage = model.parent
    return trace_stages(stage.parent, stage.name) if (stage.parent / "recipe.json").exists() else []


def _read_rows(stage: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (stage / "metrics.jsonl").read_text("utf-8").splitlines()]


def _summarize_stage(stage: RunStage) -> dict[str, Any]:
    """Return a stage's steps and examples, and the step whose model it kept."""
    model = json.loads((stage.folder / "model" / "sciprism.json").read_text("utf-8"))
    kept = model.get("provenance", {}).get("step")
    examples = sum(row.get("examples", 0) for row in stage.rows)
    return {"name": stage.name, "steps": max(row["step"] for row in stage.rows), "examples": examples, "step": kept}


def _summarize_dev(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the best dev score of a stage and its curve; step 0: the model is the start, no step improved it."""
    scored = [row for row in rows if "dev" in row]
    if not scored:
        return {}
    best = max(scored, key=lambda row: row["dev"])
    return {
        "dev_best": round(best["dev"], 4),
        "dev_best_step": best["step"],
        "dev_scores": {name: round(score, 4) for name, score in best["dev_scores"].items()},
        "curve": [[row["step"], round(row["dev"], 4)] for row in scored],
    }


def _find_best(untrained: list[dict[str, Any]], rows: list[dict[str, Any]]) -> float:
    """Return the best dev score of a run over the sources that another one scored."""
    wanted = next(row["dev_scores"] for row in rows if "dev" in row)
    found = [[row["dev_scores"][name] for name in wanted] for row in untrained if "dev" in row]
    best: float = max(sum(scores) / len(scores) for scores in found)
    return round(best, 4)


def _find_start(read: list[RunStage]) -> float | None:
    """Return the dev score at step 0 of the first stage that scored the sources of the last; None if none did."""
    scored = [[row for row in stage.rows if "dev" in row] for stage in read]
    if not scored[-1]:
        return None
    wanted = scored[-1][0]["dev_scores"].keys()
    starts = (rows[0] for rows in scored if rows and rows[0]["dev_scores"].keys() == wanted)
    first = next(starts)
    return round(first["dev"], 4) if first["step"] == 0 else None
