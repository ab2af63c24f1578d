"""A recipe: what makes a model, as tables that check themselves when they are built."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, model_validator

from sciprism.training.model_settings import ModelSettings
from sciprism.training.recipe_tables import RecipeTable
from sciprism.training.stage import Stage, check_unique


class Recipe(RecipeTable):
    """All that makes a model: `sciprism train RECIPE -o RUN` runs its stages one after the other."""

    name: str = Field(description="Of the recipe.")
    reference: str = Field("", description="Where the settings are from.")
    seed: int = Field(0, description="Of everything random.")
    model: ModelSettings = Field(description="The table `model` below.")
    stages: tuple[Stage, ...] = Field(min_length=1, description="The optimisation runs, in their order.")

    @model_validator(mode="after")
    def _check(self) -> Recipe:
        names = [stage.name for stage in self.stages]
        check_unique("stages", names)
        for position, stage in enumerate(self.stages):
            self._check_copies(stage, names, position)
        first = self.stages[0]
        if not self.model.backbone and first.architecture is None and first.finished_model is None:
            raise ValueError("model.backbone is missing, and the first stage states no architecture")
        if not self.model.backbone and self.model.tokenizer is None:
            raise ValueError("model.tokenizer is missing: a new model needs a vocabulary")
        return self

    def _check_copies(self, stage: Stage, names: Sequence[str], position: int) -> None:
        """Refuse layers copied from a later stage, or layers that the copied stage lacks."""
        wanted = stage.architecture
        if wanted is None or wanted.copy_from not in names:
            return
        if wanted.copy_from not in names[:position]:
            raise ValueError(f"stage {stage.name}: copy_from = {wanted.copy_from} is not an earlier stage")
        copied = self.stages[names.index(wanted.copy_from)].architecture
        if copied is not None and not copied.can_be_copied_to(wanted):
            raise ValueError(f"stage {stage.name}: its architecture cannot be built from layers of {wanted.copy_from}")

    def resolve_paths(self, folder: Path) -> Recipe:
        """Return the recipe with the paths of its sources, and of models among them, below a folder."""
        stages = tuple(stage.resolve_paths(folder) for stage in self.stages)
        return self.model_copy(update={"model": self.model.resolve_paths(folder), "stages": stages})
