"""What a run's own files say of it: the steps of each stage, and whether its training is a test of anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sciprism import Encoder


def summarize_run(
    folder: Path, stage: str = "", *, start: Path | None = None, untrained: Path | None = None
) -> dict[str, Any]:
    """Return the facts of a run up to a stage (default: the last). start: the run whose model is its backbone.

    dev_of_backbone: the dev score of the untouched backbone on the same sources, which is the best one of the run
    `untrained` over these if there is one, else that at step 0 of the first stage that scored them.
    """
    read = [*(_read_stages(start) if start else ()), *_read_stages(folder)]
    names = [name for name, *_ in read]
    read = read[: names.index(stage) + 1] if stage else read
    name, path, rows = read[-1]
    known = _find_best(_read_stages(untrained)[-1][2], rows) if untrained else _find_start(read)
    return {
        "stage": name,
        "stages": [_summarize_stage(*each) for each in read],
        "steps": max(row["step"] for row in rows),
        "seconds": round(sum(row.get("seconds", 0) for row in rows)),
        "parameters": Encoder.load(path / "model", device="cpu").describe()["parameters"],
        **_summarize_dev(rows),
        "dev_of_backbone": known,
    }


def _read_stages(folder: Path) -> list[tuple[str, Path, list[dict[str, Any]]]]:
    """Return name, folder and metrics of each stage, of another run where the recipe takes its finished model."""
    recipe = json.loads((folder / "recipe.json").read_text("utf-8"))
    found = []
    for stage in recipe["stages"]:
        finished = stage.get("finished_model")
        found.append((stage["name"], Path(finished).parent if finished else folder / stage["name"]))
    return [(name, path, _read_rows(path)) for name, path in found if (path / "metrics.jsonl").exists()]


def _read_rows(stage: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (stage / "metrics.jsonl").read_text("utf-8").splitlines()]


def _summarize_stage(name: str, path: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a stage's steps and examples, and the step whose model it kept."""
    kept = json.loads((path / "model" / "sciprism.json").read_text("utf-8")).get("provenance", {}).get("step")
    examples = sum(row.get("examples", 0) for row in rows)
    return {"name": name, "steps": max(row["step"] for row in rows), "examples": examples, "step": kept}


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
    return round(max(sum(scores) / len(scores) for scores in found), 4)


def _find_start(read: list[tuple[str, Path, list[dict[str, Any]]]]) -> float | None:
    """Return the dev score at step 0 of the first stage that scored the sources of the last; None if none did."""
    scored = [[row for row in rows if "dev" in row] for *_, rows in read]
    if not scored[-1]:
        return None
    wanted = scored[-1][0]["dev_scores"].keys()
    starts = (rows[0] for rows in scored if rows and rows[0]["dev_scores"].keys() == wanted)
    first = next(starts)
    return round(first["dev"], 4) if first["step"] == 0 else None
