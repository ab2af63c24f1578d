"""A recipe: the tables that state a model, its stages and their sources; they check themselves when they are built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from sciprism.encoders.layers import poolings
from sciprism.encoders.methods.registry import Precision, SettingsTable, build_method
from sciprism.formats import Format, Role
from sciprism.training.batches import mixings
from sciprism.training.learners.learner import check_objective, learners
from sciprism.training.optimizers import OptimizerSettings, Schedule

PoolingName = Annotated[str, AfterValidator(lambda name: (poolings[name], name)[1])]


class ModelSettings(SettingsTable):
    """The model that is trained. Keys without a value keep what the backbone's folder states."""

    backbone: str = Field("", description="A folder, a packaged model or a hub id. Optional with an `architecture`.")
    tokenizer: Path | None = Field(None, description="For a new model. Default: the backbone's.")
    pooling: PoolingName | None = Field(None, description="`mean`, `cls`, `last`, `code` or `facets` of token states.")
    max_length: int | None = Field(None, ge=3, description="Tokens of a text that the model reads.")
    training_length: int | None = Field(None, ge=3, description="Tokens of a text in training. Default: `max_length`.")
    separator: str | None = Field(None, description="Text between title and abstract.")
    lowercase: bool | None = Field(None, description="Whether texts are lowercased before tokenization.")
    normalize: bool | None = Field(None, description="Whether vectors are scaled to length 1.")
    distance: Literal["cosine", "dot", "euclidean"] | None = Field(None, description="How its vectors are compared.")
    dropout: float | None = Field(
        None, ge=0, lt=1, description="Of hidden states and attention. Default: the backbone's."
    )


class Architecture(SettingsTable):
    """The size of a new model, with random weights or weights copied from another one."""

    layers: int = Field(ge=1, description="Number of transformer blocks.")
    hidden: int = Field(ge=1, description="Width of token states.")
    heads: int = Field(ge=1, description="Attention heads of a layer.")
    intermediate: int = Field(
        ge=1, description="Width inside feed-forwards. Copies retain the units with the largest weights."
    )
    max_positions: int = Field(514, ge=8, description="Rows of the position table; two are reserved.")
    token_types: int = Field(1, ge=1, description="Segment embeddings.")
    norm_eps: float = Field(1e-5, gt=0, description="Epsilon of layer norms.")
    activation: str = Field("gelu", description="Activation of feed-forwards: `gelu`, `gelu_tanh` or `relu`.")
    lexical: int = Field(0, ge=0, description="Dimensions for lexical features, from `sciprism prepare lexical`.")
    copy_from: str | None = Field(
        None, description="Model or earlier stage whose layers are copied. Default: random weights."
    )
    copied_layers: tuple[int, ...] = Field((), description="Numbers of the copied layers, from 1.")

    @property
    def config(self) -> dict[str, Any]:
        """Return the fields of the transformer's config."""
        renamed = {"positions": self.max_positions, "types": self.token_types}
        others = {"copy_from", "copied_layers", "max_positions", "token_types"}
        return self.model_dump(exclude=others) | renamed


class SourceSpec(SettingsTable):
    """Training examples of one task: a DPR-style file and the roles of its texts; or a folder of tokens."""

    file: Path = Field(description="The examples, relative to the sources; of token objectives a folder.")
    name: str = Field(
        default_factory=lambda given: given["file"].stem,
        min_length=1,
        description="Unique in the stage. Default: the file's name without suffix.",
    )
    format: Format | None = Field(None, description="What the vectors are for. Required, except for tokens.")
    query: Role = Field("paper", description="What the queries are.")
    candidate: Role = Field("paper", description="What positives and negatives are.")
    dev: Path | None = Field(None, description="Held-out examples that select the best checkpoint.")
    repeat: float = Field(1.0, gt=0, description="Passes over the file in an epoch.")
    positives: Literal["random", "first", "all"] = Field(
        "random", description="Which positives of a record are used. With `all`, each is an example."
    )
    objective: Mapping[str, Any] | None = Field(None, description="The loss of this source. Default: the stage's.")
    hard_negatives: int | None = Field(
        None, ge=0, description="Hard negatives of an example, at most. Default: the objective's."
    )


Fraction = Annotated[float, Field(ge=0, le=1)]


class Evaluation(SettingsTable):
    """What is measured every so many steps of a stage."""

    every: int = Field(0, ge=0, description="Steps between evaluations. 0: only after the last step.")
    examples: int = Field(500, ge=2, description="Examples of each dev file, sampled by hash.")
    dev_length: int | None = Field(None, ge=3, description="Tokens of a dev text. Default: `max_length`.")
    tasks: tuple[str, ...] = Field((), description="Benchmark tasks, such as `open/vis-citation`; they select nothing.")
    patience: int = Field(0, ge=0, description="Evaluations without a better dev score that end the stage; 0: none.")
    untouched_patience: int = Field(
        0, ge=0, description="Evaluations in a row below the untouched model that end it; 0: none."
    )


class Stage(SettingsTable):
    """One optimization run."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", description="Small letters, digits, hyphens; the folder's name.")
    method: str = Field("single", description="How the encoder serves several formats: `prism`, `adapters` ...")
    options: Mapping[str, Any] = Field(
        {}, description="Of the method: `{ every = 2 }` for experts, `{ reduction = 16 }` for adapters."
    )
    pooling: PoolingName | None = Field(None, description="Replaces the model's in this stage.")
    dropout: float | None = Field(None, ge=0, lt=1, description="Replaces the model's in this stage.")
    training_length: int | None = Field(None, ge=3, description="Replaces the model's in this stage.")
    initialize_from: str = Field(
        "previous",
        description="`previous` (stage, or else the backbone), `backbone`, an earlier stage, or a model folder.",
    )
    architecture: Architecture | None = Field(None, description="Size of a new model, in place of `initialize_from`.")
    finished_model: Path | None = Field(None, description="Folder of a model; this stage is not run.")
    train: Literal["all", "method", "heads"] = Field(
        "all", description="Trained parameters: all, those of the method and the heads, or the heads alone."
    )
    objective: Mapping[str, Any] = Field({"name": "contrast"}, description="The loss, one of the objectives below.")
    sources: tuple[SourceSpec, ...] = Field(min_length=1, description="The training data, one or more.")
    mixing: str = Field(
        "one-source",
        description="Sources of a batch: `one-source`, `equal` shares, `mixed` at random, or `sequential`.",
    )
    batch_size: int = Field(ge=2, description="Examples of a batch, over all processes.")
    gradient_accumulation: int = Field(1, ge=1, description="Batches of a step; each has its own negatives.")
    chunk_tokens: int | None = Field(
        None,
        ge=16,
        description="Tokens encoded at once. Default: 2,048 on a CPU core; on a GPU by its memory, up to 32,768.",
    )
    gradient_caching: bool = Field(False, description="Hold the graph of only one chunk in memory.")
    epochs: float | None = Field(None, gt=0, description="Passes over the sources. Either this or `steps`.")
    steps: int | None = Field(None, ge=1, description="Steps of the optimizer. Either this or `epochs`.")
    optimizer: OptimizerSettings = Field(description="The table `optimizer` below.")
    schedule: Schedule = Field(Schedule(), description="The table `schedule` below.")
    gradient_reduction: Literal["sum", "mean"] = Field(
        "sum", description="Over processes: the whole batch's gradient, or the mean."
    )
    precision: Precision = Field("float32", description="Precision of matrix products.")
    gradient_checkpointing: bool = Field(
        False, description="Save memory inside a chunk; activations are computed twice."
    )
    checkpoint_every: int = Field(500, ge=1, description="Steps from one checkpoint to the next.")
    evaluation: Evaluation = Field(Evaluation(), description="The table `evaluation` below.")
    interpolation: Fraction | Mapping[str, Fraction] = Field(
        1.0, description="WiSE-FT: final weights between the stage's start, 0, and end, 1."
    )
    whitening: Mapping[Format, Fraction] = Field(
        {}, description="Whitening of a format's vectors: 0 none, 1 equal variance."
    )

    @model_validator(mode="after")
    def _check(self) -> Stage:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("state either epochs or steps")
        if self.architecture is not None and self.initialize_from != "previous":
            raise ValueError("architecture and initialize_from are both given; remove one")
        build_method(self.method, self.options)
        check_unique("sources", [source.name for source in self.sources])
        mixings[self.mixing]
        kinds = set()
        for source in self.sources:
            owner = "" if source.objective is None and source.hard_negatives is None else f"source {source.name}, "
            kinds.add(learners[check_objective(self.objective_of(source), f"{owner}objective").name].reads)
        if len(kinds) > 1:
            raise ValueError("objectives of tokens and of examples need separate stages")
        lacking = [source.name for source in self.sources if source.format is None]
        if kinds == {"examples"} and lacking:
            raise ValueError(f"source {lacking[0]}: its format is missing")
        return self

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


def check_unique(what: str, names: Sequence[str]) -> None:
    """Raise ValueError for two stages or sources of one name."""
    if len(set(names)) < len(names):
        raise ValueError(f"two {what} of one name among {', '.join(names)}; rename one")


class Recipe(SettingsTable):
    """All that makes a model: `sciprism train RECIPE -o RUN` runs its stages one after the other."""

    name: str = Field(description="Name of the recipe, stored in its models.")
    reference: str = Field("", description="Where the settings are from.")
    seed: int = Field(0, description="Seed of all random choices.")
    model: ModelSettings = Field(description="The table `model` below.")
    stages: tuple[Stage, ...] = Field(min_length=1, description="The optimization runs, in order.")

    @model_validator(mode="after")
    def _check(self) -> Recipe:
        names = [stage.name for stage in self.stages]
        check_unique("stages", names)
        for position, stage in enumerate(self.stages):
            wanted = stage.architecture
            if wanted is None or wanted.copy_from not in names:
                continue
            if wanted.copy_from not in names[:position]:
                raise ValueError(f"stage {stage.name}: copy_from = {wanted.copy_from} is not an earlier stage")
            copied, layers = self.stages[names.index(wanted.copy_from)].architecture, wanted.copied_layers
            if copied is not None and not (
                (copied.hidden, copied.heads) == (wanted.hidden, wanted.heads)
                and len(layers) == wanted.layers
                and all(1 <= number <= copied.layers for number in layers)
                and wanted.lexical in (0, copied.lexical)
                and wanted.intermediate <= copied.intermediate
            ):
                raise ValueError(
                    f"stage {stage.name}: its architecture cannot be built from layers of {wanted.copy_from}"
                )
        first = self.stages[0]
        if not self.model.backbone and first.architecture is None and first.finished_model is None:
            raise ValueError("model.backbone is missing, and the first stage states no architecture")
        if not self.model.backbone and self.model.tokenizer is None:
            raise ValueError("model.tokenizer is missing: a new model needs a vocabulary")
        if not self.has_untouched and any(stage.evaluation.untouched_patience for stage in self.stages):
            raise ValueError("untouched_patience needs a backbone that is trained; an architecture is a new model")
        return self

    @property
    def has_untouched(self) -> bool:
        """Return whether some model would do without the training: the backbone, if it is what is trained."""
        return bool(self.model.backbone) and not any(stage.architecture for stage in self.stages)
