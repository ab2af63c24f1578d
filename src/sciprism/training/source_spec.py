"""The table of a recipe that states a source: training examples of one task, or blocks of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from sciprism.formats import Format, Role
from sciprism.training.model_settings import resolve_model
from sciprism.training.recipe_tables import RecipeTable


class SourceSpec(RecipeTable):
    """Training examples of one task: a DPR-style file and the roles of its texts; or a folder of tokens."""

    file: Path = Field(description="The examples, relative to the sources; of token objectives a folder.")
    name: str = Field(
        default_factory=lambda given: given["file"].stem,
        min_length=1,
        description="Unique in the stage. Default: the file's name without suffix.",
    )
    format: Format | None = Field(
        None, description="What the vectors of the examples are for. Required, except for tokens."
    )
    query: Role = Field("paper", description="What the queries are.")
    candidate: Role = Field("paper", description="What positives and negatives are.")
    dev: Path | None = Field(None, description="Held-out examples of the same kind, which select the best checkpoint.")
    repeat: float = Field(1.0, gt=0, description="Passes over the file in an epoch.")
    positives: Literal["random", "first"] = Field(
        "random",
        description="Which positive and negative are used: `random` ones each time, or the `first`, as published.",
    )
    objective: Mapping[str, Any] | None = Field(
        None, description="Of this source, an objective below. Default: the stage's."
    )
    hard_negatives: int | None = Field(
        None, ge=0, description="Of each example, at most, for this source. Default: the objective's."
    )

    def resolve_paths(self, folder: Path) -> SourceSpec:
        """Return the source with its paths below a folder."""
        dev = None if self.dev is None else folder / self.dev
        objective = None if self.objective is None else resolve_teacher(self.objective, folder)
        return self.model_copy(update={"file": folder / self.file, "dev": dev, "objective": objective})


def resolve_teacher(objective: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return an objective with the path of its teacher, if that is in the folder."""
    return {key: resolve_model(value, folder) if key == "teacher" else value for key, value in objective.items()}
