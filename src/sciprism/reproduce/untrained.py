"""Which stored results are of a model that never learned: its training kept the start, step 0."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sciprism.encoders.provenance import UNNAMED, untrained_stage
from sciprism.evaluation.results import folder_name
from sciprism.evaluation.stored_results import read_system
from sciprism.reproduce.result_folder import read_runs


def find_untrained_stage(folder: Path, system: str) -> str:
    """Return the stage of which a system's model kept step 0, "" if it learned, was not trained, or is not known.

    folder: of results, packed or not. system: by its name or its folder, as in `models.json`. Its stored results
    say it; where they say nothing of training, the summaries of runs in the folder do. Of an ensemble,
    "STAGE of MEMBER". Stages before may have learned.
    """
    name = folder_name(system)
    facts = [result.system for result in read_system(folder / name)]
    if any(each.get("provenance") or each.get("members") for each in facts):
        return next(filter(None, map(untrained_stage, facts)), "")
    run = re.sub(r"--(as|seed)-[a-z0-9]+", "", name)
    return next((stage for names, stage in _untrained_runs(folder) if run in names), "")


def _untrained_runs(folder: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the names that a run's model may have in results, and the stage of which it kept step 0."""
    for key, summary in read_runs(folder):
        if summary.get("dev_best_step") == 0:
            run, stage = folder_name("-".join(key.rsplit(", seed ", 1))), summary.get("stage") or UNNAMED
            yield (run, f"{run}-{stage}"), stage
