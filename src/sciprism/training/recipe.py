"""A recipe: what makes a model, as tables that check themselves when they are built."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from sciprism.encoders.methods.registry import build_method
from sciprism.encoders.pooling import poolings
from sciprism.formats import Format, Role
from sciprism.training.batch_plan import OneSourcePlan, mixings
from sciprism.training.learners.registry import check_objective, learners
from sciprism.training.recipe_tables import Precision, RecipeTable, renamed
from sciprism.training.weighting import check_weighting, weightings

Fraction = Annotated[float, Field(ge=0, le=1)]


def _check_pooling(value: str) -> str:
    poolings[value]
    return value


PoolingName = Annotated[str, AfterValidator(_check_pooling)]


class ModelSettings(RecipeTable):
    """The model that is trained; keys that are None keep what the backbone's folder says.

    backbone: optional where the first stage has an architecture. tokenizer: of new models, a path relative to
    the sources; default: the backbone's. max_length: tokens per text that the model reads; training_length:
    the same during training, default: max_length. separator, lowercase: of the text template. dropout: of
    hidden states and attention.
    """

    backbone: str = ""
    tokenizer: Path | None = None
    pooling: PoolingName | None = None
    max_length: int | None = Field(None, ge=3)
    training_length: int | None = Field(None, ge=3)
    separator: str | None = None
    lowercase: bool | None = None
    normalize: bool | None = None
    distance: Literal["cosine", "dot", "euclidean"] | None = None
    dropout: float | None = Field(None, ge=0, lt=1)


class Architecture(RecipeTable):
    """The size of a new model, with random weights or weights copied from another one.

    copy_from: the model or earlier stage whose embeddings and layers are copied. copied_layers: their
    numbers, from 1; a smaller `intermediate` keeps the units with the largest weights. lexical: dimensions of
    a vector for lexical features, copied too.
    """

    former_keys = renamed(positions="max_positions", types="token_types", copies="copy_from", copied="copied_layers")
    layers: int = Field(ge=1)
    hidden: int = Field(ge=1)
    heads: int = Field(ge=1)
    intermediate: int = Field(ge=1)
    max_positions: int = Field(514, ge=8)
    token_types: int = Field(1, ge=1)
    norm_eps: float = Field(1e-5, gt=0)
    activation: str = "gelu"
    lexical: int = Field(0, ge=0)
    copy_from: str | None = None
    copied_layers: tuple[int, ...] = ()

    @property
    def config(self) -> dict[str, Any]:
        """Return the fields of the transformer's config."""
        renamed = {"positions": self.max_positions, "types": self.token_types}
        others = {"copy_from", "copied_layers", "max_positions", "token_types"}
        return self.model_dump(exclude=others) | renamed

    def can_be_copied_to(self, other: Architecture) -> bool:
        """Say whether another architecture can be built from this one's layers."""
        same_width = (self.hidden, self.heads) == (other.hidden, other.heads)
        layers = len(other.copied_layers) == other.layers and all(1 <= n <= self.layers for n in other.copied_layers)
        lexical = other.lexical in (0, self.lexical)
        return same_width and layers and lexical and other.intermediate <= self.intermediate


class SourceSpec(RecipeTable):
    """Training examples of one task: a DPR-style file and the roles of its texts; or a folder of tokens.

    name: default: the file's name without suffix; a file may be several sources under different names.
    dev: examples of the same kind that select the best checkpoint. repeat: passes over the file in an epoch.
    positives: whether one of several positives and negatives is sampled in each epoch, or the first is used
    (the published default). objective: of this source, in place of the stage's.
    """

    former_keys = renamed(rate="repeat")
    file: Path
    name: str = Field(default_factory=lambda given: given["file"].stem, min_length=1)
    format: Format | None = None
    query: Role = "paper"
    candidate: Role = "paper"
    dev: Path | None = None
    repeat: float = Field(1.0, gt=0)
    positives: Literal["random", "first"] = "random"
    objective: Mapping[str, Any] | None = None

    def resolve_paths(self, folder: Path) -> SourceSpec:
        """Return the source with its paths below a folder."""
        dev = None if self.dev is None else folder / self.dev
        objective = None if self.objective is None else _resolve_teacher(self.objective, folder)
        return self.model_copy(update={"file": folder / self.file, "dev": dev, "objective": objective})


class OptimizerSettings(RecipeTable):
    """AdamW; or "muon": the matrices of blocks by Muon (Jordan 2024), updates scaled to AdamW's length.

    betas, eps: of AdamW. max_grad_norm: longer gradients are clipped to it; 0: no clipping. layer_decay:
    factor of the learning rate from a layer to the one below.
    """

    former_keys = renamed(clip="max_grad_norm")
    name: Literal["adamw", "muon"] = "adamw"
    lr: float = Field(gt=0)
    weight_decay: float = Field(0.01, ge=0)
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] = (0.9, 0.999)
    eps: float = Field(1e-8, gt=0)
    max_grad_norm: float = Field(1.0, ge=0)
    layer_decay: float = Field(1.0, gt=0, le=1)


class Schedule(RecipeTable):
    """The learning rate over the steps.

    warmup: steps, or below 1 a fraction of them. start_lr: at the first step. min_lr: the lowest after the
    warm-up. end_step: where a linear rate reaches 0; 0: at the stage's last step.
    """

    former_keys = renamed(start="start_lr", floor="min_lr", end="end_step")
    name: Literal["linear", "inverse-square-root", "constant"] = "linear"
    warmup: float = Field(0.05, ge=0)
    start_lr: float = Field(0.0, ge=0)
    min_lr: float = Field(0.0, ge=0)
    end_step: int = Field(0, ge=0)


class Evaluation(RecipeTable):
    """What is measured every so many steps of a stage.

    examples: of each dev file. tasks: names of benchmark tasks, recorded only: they score test papers and
    select nothing. patience: evaluations without a better dev score that end the stage; 0: never.
    """

    every: int = Field(0, ge=0)
    examples: int = Field(500, ge=2)
    tasks: tuple[str, ...] = ()
    patience: int = Field(0, ge=0)


class Stage(RecipeTable):
    """One optimisation run.

    pooling, dropout, training_length: of this stage, in place of the model's. initialize_from: previous (the
    stage before, or the backbone), backbone, an earlier stage's name, or the folder of a model. architecture:
    of a new model, in place of initialize_from. finished_model: the folder of a model that replaces this
    stage, which is then not run. train: all, or the parameters that the method adds. mixing: which sources a
    batch is taken from. sampling_exponent: a source's weight is its size to this power. weighting: of the
    sources' losses. batch_size: examples of one step over all processes. gradient_accumulation: batches, each
    with its own negatives, whose gradients are added before the optimizer's step. chunk_tokens: tokens that
    one core encodes at once. gradient_caching: encode chunks twice, to hold one chunk's graph in memory.
    gradient_reduction: over processes; the sum is the whole batch's gradient, the mean is as published.
    interpolation: weight of the stage's end against its start in the final model (WiSE-FT), of all weights or
    by names of modules. whitening: how far the directions of formats' vectors are scaled to equal variance.
    """

    former_keys = renamed(
        start="initialize_from",
        shape="architecture",
        done="finished_model",
        tempering="sampling_exponent",
        batch="batch_size",
        accumulate="gradient_accumulation",
        tokens="chunk_tokens",
        caching="gradient_caching",
        optimiser="optimizer",
        gradient="gradient_reduction",
        checkpointing="gradient_checkpointing",
    )
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    method: str = "single"
    options: Mapping[str, Any] = {}
    pooling: PoolingName | None = None
    dropout: float | None = Field(None, ge=0, lt=1)
    training_length: int | None = Field(None, ge=3)
    initialize_from: str = "previous"
    architecture: Architecture | None = None
    finished_model: Path | None = None
    train: Literal["all", "method"] = "all"
    objective: Mapping[str, Any] = {"name": "contrast"}
    sources: tuple[SourceSpec, ...] = Field(min_length=1)
    mixing: str = "one-source"
    sampling_exponent: float = Field(1.0, ge=0, le=1)
    weighting: Mapping[str, Any] = {"name": "none"}
    batch_size: int = Field(ge=2)
    gradient_accumulation: int = Field(1, ge=1)
    chunk_tokens: int = Field(2048, ge=16)
    gradient_caching: bool = False
    epochs: float | None = Field(None, gt=0)
    steps: int | None = Field(None, ge=1)
    optimizer: OptimizerSettings
    schedule: Schedule = Schedule()
    gradient_reduction: Literal["sum", "mean"] = "sum"
    precision: Precision = "float32"
    gradient_checkpointing: bool = False
    checkpoint_every: int = Field(500, ge=1)
    evaluation: Evaluation = Evaluation()
    interpolation: Fraction | Mapping[str, Fraction] = 1.0
    whitening: Mapping[Format, Fraction] = {}

    @model_validator(mode="after")
    def _check(self) -> Stage:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("state either epochs or steps")
        if self.architecture is not None and self.initialize_from != "previous":
            raise ValueError("architecture and initialize_from are both given; remove one")
        build_method(self.method, self.options)
        _check_unique("sources", [source.name for source in self.sources])
        weighting = weightings[check_weighting(self.weighting).name]
        if weighting.by_gradients and issubclass(mixings[self.mixing], OneSourcePlan):
            raise ValueError(f"{self.weighting['name']} needs batches of several sources; mixing is {self.mixing}")
        kinds = {learners[check_objective(self.objective_of(source)).name].reads for source in self.sources}
        if len(kinds) > 1:
            raise ValueError("objectives of tokens and of examples need separate stages")
        if kinds == {"blocks"} and self.weighting["name"] != "none":
            raise ValueError("losses of token blocks cannot be weighted")
        lacking = [source.name for source in self.sources if source.format is None]
        if kinds == {"examples"} and lacking:
            raise ValueError(f"source {lacking[0]}: its format is missing")
        return self

    def objective_of(self, source: SourceSpec) -> Mapping[str, Any]:
        """Return the objective of a source: its own, or the stage's."""
        return self.objective if source.objective is None else source.objective

    def resolve_paths(self, folder: Path) -> Stage:
        """Return the stage with the paths of its sources, and of models among them, below a folder."""
        new = self.architecture
        copied = new and new.model_copy(update={"copy_from": _resolve_model(new.copy_from, folder)})
        sources = tuple(source.resolve_paths(folder) for source in self.sources)
        objective = _resolve_teacher(self.objective, folder)
        return self.model_copy(update={"architecture": copied, "sources": sources, "objective": objective})


class Recipe(RecipeTable):
    """All that makes a model: `sciprism train RECIPE -o RUN` runs its stages one after the other."""

    name: str
    reference: str = ""
    seed: int = 0
    model: ModelSettings
    stages: tuple[Stage, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Recipe:
        names = [stage.name for stage in self.stages]
        _check_unique("stages", names)
        for position, stage in enumerate(self.stages):
            self._check_copies(stage, names, position)
        first = self.stages[0]
        if not self.model.backbone and first.architecture is None and first.finished_model is None:
            raise ValueError("model.backbone is missing, and the first stage states no architecture")
        if not self.model.backbone and self.model.tokenizer is None:
            raise ValueError("model.tokenizer is missing: a new model needs a vocabulary")
        return self

    def _check_copies(self, stage: Stage, names: list[str], position: int) -> None:
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
        model = {
            "backbone": _resolve_model(self.model.backbone, folder),
            "tokenizer": self.model.tokenizer and folder / self.model.tokenizer,
        }
        stages = tuple(stage.resolve_paths(folder) for stage in self.stages)
        return self.model_copy(update={"model": self.model.model_copy(update=model), "stages": stages})


def _resolve_model(name: str | None, folder: Path) -> str | None:
    """Return the path of a model in the folder, or else the name as it is."""
    return str(folder / name) if name and (folder / name / "config.json").is_file() else name


def _resolve_teacher(objective: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    return {key: _resolve_model(value, folder) if key == "teacher" else value for key, value in objective.items()}


def _check_unique(what: str, names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise ValueError(f"two {what} of one name among {', '.join(names)}; rename one")
