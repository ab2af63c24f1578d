"""What a model says of its training: its name, and whether a stage kept the model that it began with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

KEPT_START = "kept_start"
"""Key in the provenance of a model that is step 0 of its stage: no step improved the dev score."""
UNNAMED = "unnamed"


def training_facts(stage: str, step: int) -> dict[str, Any]:
    """Return the stage and step of a model, as provenance; of step 0 with a mark."""
    return {"stage": stage, "step": step} | ({} if step else {KEPT_START: True})


def find_title(model: Any) -> str:
    """Return a model's name for tables and cards: that of its recipe, else its folder's without the path, else its own.

    model: an encoder, or any other thing with a name.
    """
    given = getattr(model, "provenance", {}).get("name")
    return str(given or (Path(model.name).name if Path(model.name).is_dir() else model.name))


def untrained_stage(facts: Mapping[str, Any]) -> str:
    """Return the stage of which a model is step 0; "" for one that learned in its last stage or was not trained.

    facts: what `describe()` of an encoder, an ensemble or a system returns. Of an ensemble, "STAGE of MEMBER" for
    each such member.
    """
    provenance = facts.get("provenance") or {}
    if provenance.get("step") == 0:
        return str(provenance.get("stage") or UNNAMED)
    parts = [*facts.get("members", ()), *filter(None, [facts.get("encoder")])]
    stages = ((untrained_stage(part), part.get("name")) for part in parts)
    return ", ".join(f"{stage} of {name}" for stage, name in stages if stage)


def describe_unpaid(provenance: Mapping[str, Any]) -> str:
    """Say in words that a model is no better on dev than the untouched one; "" if it is, or is not compared."""
    dev, untouched = provenance.get("dev"), provenance.get("untouched")
    if dev is None or untouched is None or (dev > untouched and provenance.get("step")):
        return ""
    verdict = "better on dev" if dev < untouched else "as good on dev"
    return f"training did not pay: the untouched model is {verdict} ({untouched:.4f}, this one {dev:.4f})"


def describe_untrained(stage: str) -> str:
    """Say in words that a model is step 0 of a stage."""
    start = f"its training kept step 0 of stage {stage}"
    return f"{start}: no step improved its dev score, so it is that stage's untrained start"
