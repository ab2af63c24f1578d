"""What a model says of its training: which stage kept its start, since no step improved the dev score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEPT_START = "kept_start"
"""Key in the provenance of a model that is step 0 of its stage."""
UNNAMED = "unnamed"


def training_facts(stage: str, step: int) -> dict[str, Any]:
    """Return the stage and step of a model, as provenance; of step 0 with a mark."""
    return {"stage": stage, "step": step} | ({} if step else {KEPT_START: True})


def untrained_stage(facts: Mapping[str, Any]) -> str:
    """Return the stage of which a model kept step 0, "" if it learned or was not trained.

    facts: what `describe()` of an encoder, an ensemble or a system returns. Of an ensemble, "STAGE of MEMBER"
    for each member that kept its start. Stages before may have learned. Version 0.1 states the step alone.
    """
    provenance = facts.get("provenance") or {}
    if provenance.get(KEPT_START, provenance.get("step") == 0):
        return str(provenance.get("stage") or UNNAMED)
    inner = [*facts.get("members", ()), *filter(None, [facts.get("encoder")])]
    found = ((untrained_stage(member), member.get("name")) for member in inner)
    return ", ".join(f"{stage} of {name}" for stage, name in found if stage)


def describe_untrained(stage: str) -> str:
    """Say in words that a model kept step 0 of a stage."""
    kept = f"its training kept step 0 of stage {stage}"
    return f"{kept}: no step improved its dev score, so it is that stage's untrained start"
