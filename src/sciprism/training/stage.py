"""The table of a recipe that states a stage: one optimisation run, and what is measured in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from sciprism.encoders.methods.registry import build_method
from sciprism.formats import Format
from sciprism.training.batch_plan import OneSourcePlan, mixings
from sciprism.training.learners.registry import check_objective, learners
from sciprism.training.model_settings import Architecture, PoolingName, resolve_model
from sciprism.training.optimization_settings import OptimizerSettings, Schedule
from sciprism.training.recipe_tables import NamedTable, Precision, RecipeTable
from sciprism.training.source_spec import SourceSpec, resolve_teacher
from sciprism.training.weighting import check_weighting, weightings

Fraction = Annotated[float, Field(ge=0, le=1)]


class Evaluation(RecipeTable):
    """What is measured every so many steps of a stage."""

    every: int = Field(0, ge=0, description="Steps from one evaluation to the next. 0: only after the last step.")
    examples: int = Field(500, ge=2, description="Examples of each dev file, sampled by hash.")
    tasks: tuple[str, ...] = Field(
        (), description="Benchmark tasks, `open/vis-citation`; recorded only: test papers select nothing."
    )
    patience: int = Field(0, ge=0, description="Evaluations without a better dev score that end the stage. 0: never.")


class Stage(RecipeTable):
    """One optimisation run."""

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9-]*$", description="Lowercase letters, digits, hyphens; also the folder's name."
    )
    method: str = Field("single", description="How the encoder serves several formats: `prism`, `adapters` ...")
    options: Mapping[str, Any] = Field(
        {}, description="Of the method: `{ every = 2 }` for experts, `{ reduction = 16 }` for adapters."
    )
    pooling: PoolingName | None = Field(None, description="In place of the model's, for this stage.")
    dropout: float | None = Field(None, ge=0, lt=1, description="In place of the model's, for this stage.")
    training_length: int | None = Field(None, ge=3, description="In place of the model's, for this stage.")
    initialize_from: str = Field(
        "previous",
        description="`previous` (stage, or else the backbone), `backbone`, an earlier stage, or a model folder.",
    )
    architecture: Architecture | None = Field(None, description="Of a new model, in place of `initialize_from`.")
    finished_model: Path | None = Field(
        None, description="Folder of a model that replaces this stage, which is then not run."
    )
    train: Literal["all", "method", "heads"] = Field(
        "all",
        description="All parameters; only those that the method adds, and the heads of objectives; or the heads alone, "
        "which tells what dev scores the encoder has untouched.",
    )
    objective: Mapping[str, Any] = Field({"name": "contrast"}, description="The loss, one of the objectives below.")
    sources: tuple[SourceSpec, ...] = Field(min_length=1, description="The training data, one or more.")
    mixing: str = Field(
        "one-source",
        description="Sources of a batch: `one-source`, `equal` shares, `proportional` to size, or `sequential`.",
    )
    sampling_exponent: float = Field(
        1.0, ge=0, le=1, description="A source's weight is its size to this power. 0.5: as GTE; 0: equal."
    )
    weighting: Mapping[str, Any] = Field(
        {"name": "none"}, description="Of the sources' losses: `none`, `loss-balanced` or `grad-norm`."
    )
    batch_size: int = Field(ge=2, description="Examples of a batch, over all processes.")
    gradient_accumulation: int = Field(
        1, ge=1, description="Batches of a step; each has its own negatives, their gradients are added."
    )
    chunk_tokens: int = Field(2048, ge=16, description="Tokens that a CPU core, or the GPU, encodes at once.")
    gradient_caching: bool = Field(False, description="Encode chunks twice, to hold the graph of only one in memory.")
    epochs: float | None = Field(None, gt=0, description="Passes over the sources. Either this or `steps`.")
    steps: int | None = Field(None, ge=1, description="Steps of the optimizer. Either this or `epochs`.")
    optimizer: OptimizerSettings = Field(description="The table `optimizer` below.")
    schedule: Schedule = Field(Schedule(), description="The table `schedule` below.")
    gradient_reduction: Literal["sum", "mean"] = Field(
        "sum", description="Over processes: the whole batch's gradient, or the mean (as published)."
    )
    precision: Precision = Field("float32", description="Of matrix products.")
    gradient_checkpointing: bool = Field(False, description="Compute activations twice, to save memory inside a chunk.")
    checkpoint_every: int = Field(500, ge=1, description="Steps from one checkpoint to the next.")
    evaluation: Evaluation = Field(Evaluation(), description="The table `evaluation` below.")
    interpolation: Fraction | Mapping[str, Fraction] = Field(
        1.0, description="WiSE-FT: final weights between the stage's start (0) and end (1); or per format."
    )
    whitening: Mapping[Format, Fraction] = Field(
        {}, description="Partial whitening of a format's vectors, from 0 (none) to 1 (equal variance)."
    )

    @model_validator(mode="after")
    def _check(self) -> Stage:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("state either epochs or steps")
        if self.architecture is not None and self.initialize_from != "previous":
            raise ValueError("architecture and initialize_from are both given; remove one")
        build_method(self.method, self.options)
        check_unique("sources", [source.name for source in self.sources])
        weighting = weightings[check_weighting(self.weighting).name]
        if weighting.by_gradients and issubclass(mixings[self.mixing], OneSourcePlan):
            raise ValueError(f"{self.weighting['name']} needs batches of several sources; mixing is {self.mixing}")
        kinds = {learners[self._check_objective(source).name].reads for source in self.sources}
        if len(kinds) > 1:
            raise ValueError("objectives of tokens and of examples need separate stages")
        if kinds == {"blocks"} and self.weighting["name"] != "none":
            raise ValueError("losses of token blocks cannot be weighted")
        lacking = [source.name for source in self.sources if source.format is None]
        if kinds == {"examples"} and lacking:
            raise ValueError(f"source {lacking[0]}: its format is missing")
        return self

    def _check_objective(self, source: SourceSpec) -> NamedTable:
        """Return the settings of a source's objective; InputError names a source with an objective of its own."""
        objective = self.objective_of(source)
        owner = "" if objective is self.objective else f"source {source.name}, "
        return check_objective(objective, f"{owner}objective")

    def objective_of(self, source: SourceSpec) -> Mapping[str, Any]:
        """Return the objective of a source: its own or the stage's, with the source's number of hard negatives."""
        objective = self.objective if source.objective is None else source.objective
        if source.hard_negatives is None:
            return objective
        return {**objective, "hard_negatives": source.hard_negatives}

    def named_models(self) -> Iterator[str]:
        """Yield the models that objectives name: teachers, and those whose masked-LM head is the initial one."""
        for source in self.sources:
            for key in ("teacher", "head_from"):
                name = self.objective_of(source).get(key)
                if isinstance(name, str) and name:
                    yield name

    def resolve_paths(self, folder: Path) -> Stage:
        """Return the stage with the paths of its sources, and of models among them, below a folder."""
        new = self.architecture
        copied = new and new.model_copy(update={"copy_from": resolve_model(new.copy_from, folder)})
        sources = tuple(source.resolve_paths(folder) for source in self.sources)
        objective = resolve_teacher(self.objective, folder)
        return self.model_copy(update={"architecture": copied, "sources": sources, "objective": objective})


def check_unique(what: str, names: Sequence[str]) -> None:
    """Raise ValueError for two stages or sources of one name."""
    if len(set(names)) < len(names):
        raise ValueError(f"two {what} of one name among {', '.join(names)}; rename one")
