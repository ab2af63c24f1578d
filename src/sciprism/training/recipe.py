"""A recipe: backbone, stages, sources and schedule of one model, read from TOML and checked as a whole."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator

from sciprism.encoders.methods.registry import make
from sciprism.encoders.pooling import poolings
from sciprism.errors import InputError
from sciprism.formats import Format, Role
from sciprism.training.batches import OneSource, mixings
from sciprism.training.learners.registry import learners, settings_of
from sciprism.training.tables import Part, Precision
from sciprism.training.weighting import weighting_of, weightings

Share = Annotated[float, Field(ge=0, lt=1)]
Way = Annotated[float, Field(ge=0, le=1)]
OTHER_LENGTH = {"steps": "epochs", "epochs": "steps"}
"""A stage states one of the two; saying one unsays the other of its defaults."""


def _known_pooling(value: str) -> str:
    poolings[value]
    return value


PoolingName = Annotated[str, AfterValidator(_known_pooling)]


class Model(Part):
    """What is trained. What is None stays as the backbone's folder says.

    backbone: not needed where the first stage makes a model. tokenizer: of models that stages make, beside
    the sources; without one it is the backbone's. max_length: tokens per text that the model reads;
    training_length: while it is trained, None for as many. separator, lowercase: of the template. dropout: of
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


class Shape(Part):
    """Of a new model, random or begun from parts of another.

    copies: a model or earlier stage, whose embeddings it takes; copied: which of its layers, counted from 1,
    of which a smaller `intermediate` keeps the strongest units. lexical: directions of a vector that hold a
    text's words, copied too.
    """

    layers: int = Field(ge=1)
    hidden: int = Field(ge=1)
    heads: int = Field(ge=1)
    intermediate: int = Field(ge=1)
    positions: int = Field(514, ge=8)
    types: int = Field(1, ge=1)
    norm_eps: float = Field(1e-5, gt=0)
    activation: str = "gelu"
    lexical: int = Field(0, ge=0)
    copies: str | None = None
    copied: tuple[int, ...] = ()

    @property
    def fields(self) -> dict[str, Any]:
        """Return what a transformer's config wants to know."""
        return self.model_dump(exclude={"copies", "copied"})

    def gives(self, other: Shape) -> bool:
        """Say whether another shape can be made of this one's layers."""
        like = (self.hidden, self.heads) == (other.hidden, other.heads)
        layers = len(other.copied) == other.layers and all(1 <= n <= self.layers for n in other.copied)
        words = other.lexical in (0, self.lexical)
        return like and layers and words and other.intermediate <= self.intermediate


class SourceSpec(Part):
    """Training examples of one task: a DPR-style file and what its texts are; or a folder of tokens.

    name: the file's, without its suffix, if it says nothing; by names of their own a file is several sources.
    dev: examples of the same kind that choose the best checkpoint. rate: how often an epoch goes through the
    file. positives: which of several positives and negatives stand for an example in an epoch; "first" is
    the published default. objective: of this source, where it is not the stage's.
    """

    file: Path
    name: str = Field(default_factory=lambda given: given["file"].stem, min_length=1)
    format: Format | None = None
    query: Role = "paper"
    candidate: Role = "paper"
    dev: Path | None = None
    rate: float = Field(1.0, gt=0)
    positives: Literal["random", "first"] = "random"
    objective: Mapping[str, Any] | None = None


class Optimiser(Part):
    """AdamW, or with "muon" the matrices of blocks by Muon (Jordan 2024), steps as long as AdamW's.

    betas, eps: of AdamW. clip: the longest gradient, 0 for no limit. layer_decay: factor of the rate from a
    layer to the one below.
    """

    name: Literal["adamw", "muon"] = "adamw"
    lr: float = Field(gt=0)
    weight_decay: float = Field(0.01, ge=0)
    betas: tuple[Share, Share] = (0.9, 0.999)
    eps: float = Field(1e-8, gt=0)
    clip: float = Field(1.0, ge=0)
    layer_decay: float = Field(1.0, gt=0, le=1)


class Schedule(Part):
    """The learning rate over the steps.

    warmup: steps, or below 1 a share of them. start: the rate it begins with. floor: the lowest after it.
    end: the step at which a linear rate is 0, where that is not the stage's last; 0: it is.
    """

    name: Literal["linear", "inverse-square-root", "constant"] = "linear"
    warmup: float = Field(0.05, ge=0)
    start: float = Field(0.0, ge=0)
    floor: float = Field(0.0, ge=0)
    end: int = Field(0, ge=0)


class Evaluation(Part):
    """What is measured while a stage runs, every so many steps.

    examples: of each dev file. tasks: names of benchmark tasks; they are recorded and choose nothing, since
    they score test papers. patience: evaluations without a better dev score until the stage ends; 0: never.
    """

    every: int = Field(0, ge=0)
    examples: int = Field(500, ge=2)
    tasks: tuple[str, ...] = ()
    patience: int = Field(0, ge=0)


class Stage(Part):
    """One optimisation run.

    pooling, dropout, training_length: of this stage, where they are not those of all. start: previous (the
    stage before, or the backbone), backbone, an earlier stage's name, or the folder of a model. shape: of a
    new model, with which the stage starts instead. done: a finished model that stands for this stage, which
    is then not run. train: all, or the parameters that the method adds. mixing: what a batch takes from
    which source. tempering: the power of a source's size by which it counts. weighting: of the sources'
    losses against each other. batch: examples of one step over all processes. accumulate: batches, each
    with its own negatives, whose gradients are added before the optimiser moves. tokens: of one piece of
    a batch, that one core computes at once. caching: compute pieces twice and keep the memory of one
    (gradient caching).
    gradient: over processes the sum, that of the whole batch, or the mean, as published. interpolation: how
    far the model that is kept goes from the stage's start to its end (WiSE-FT), by modules' names if asked.
    whitening: how far directions of formats' vectors are made to vary alike, when all else is done.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    method: str = "single"
    options: Mapping[str, Any] = {}
    pooling: PoolingName | None = None
    dropout: float | None = Field(None, ge=0, lt=1)
    training_length: int | None = Field(None, ge=3)
    start: str = "previous"
    shape: Shape | None = None
    done: Path | None = None
    train: Literal["all", "method"] = "all"
    objective: Mapping[str, Any] = {"name": "contrast"}
    sources: tuple[SourceSpec, ...] = Field(min_length=1)
    mixing: str = "one-source"
    tempering: float = Field(1.0, ge=0, le=1)
    weighting: Mapping[str, Any] = {"name": "none"}
    batch: int = Field(ge=2)
    accumulate: int = Field(1, ge=1)
    tokens: int = Field(2048, ge=16)
    caching: bool = False
    epochs: float | None = Field(None, gt=0)
    steps: int | None = Field(None, ge=1)
    optimiser: Optimiser
    schedule: Schedule = Schedule()
    gradient: Literal["sum", "mean"] = "sum"
    precision: Precision = "float32"
    checkpointing: bool = False
    checkpoint_every: int = Field(500, ge=1)
    evaluation: Evaluation = Evaluation()
    interpolation: Way | Mapping[str, Way] = 1.0
    whitening: Mapping[Format, Way] = {}

    @model_validator(mode="after")
    def _whole(self) -> Stage:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("state either epochs or steps")
        make(self.method, self.options)
        mixing, weighing = mixings[self.mixing], weightings[weighting_of(self.weighting).name]
        if weighing.by_gradients and issubclass(mixing, OneSource):
            raise ValueError(f"{self.weighting['name']} wants batches of several sources, not {self.mixing}")
        self._check_sources()
        names = [source.name for source in self.sources]
        if len(set(names)) < len(names):
            raise ValueError(f"two sources of one name among {', '.join(names)}; give one a name")
        return self

    def _check_sources(self) -> None:
        """Refuse objectives that do not fit each other or their sources."""
        kinds = {learners[settings_of(self.objective_of(source)).name].reads for source in self.sources}
        if len(kinds) > 1:
            raise ValueError("objectives of tokens and of examples want stages of their own")
        if kinds == {"blocks"} and self.weighting["name"] != "none":
            raise ValueError("the losses of blocks of tokens are not weighed against each other")
        if kinds == {"examples"}:
            for source in self.sources:
                if source.format is None:
                    raise ValueError(f"source {source.name}: its format is missing")
        if self.shape is not None and self.start != "previous":
            raise ValueError("a stage starts with a new shape or from a model, not both")

    def objective_of(self, source: SourceSpec) -> Mapping[str, Any]:
        """Return the objective of a source: its own, or the stage's."""
        return self.objective if source.objective is None else source.objective


class Recipe(Part):
    """All that makes a model: `sciprism train RECIPE -o RUN` runs its stages one after the other."""

    name: str
    reference: str = ""
    seed: int = 0
    model: Model
    stages: tuple[Stage, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names(self) -> Recipe:
        names = [stage.name for stage in self.stages]
        if len(set(names)) < len(names):
            raise ValueError(f"two stages of one name among {', '.join(names)}")
        for place, stage in enumerate(self.stages):
            self._check_copies(stage, names[:place])
        first = self.stages[0]
        if not self.model.backbone and first.shape is None and first.done is None:
            raise ValueError("model.backbone is missing, and the first stage states no shape")
        if not self.model.backbone and self.model.tokenizer is None:
            raise ValueError("model.tokenizer is missing: a new model wants a vocabulary")
        return self

    def _check_copies(self, stage: Stage, before: list[str]) -> None:
        """Refuse copies of a stage that is not in front, or of layers that it has not."""
        shape = stage.shape
        names = [each.name for each in self.stages]
        if shape is None or shape.copies not in names:
            return
        if shape.copies not in before:
            raise ValueError(f"stage {stage.name}: copies = {shape.copies} is no stage in front of it")
        other = self.stages[names.index(shape.copies)].shape
        if other is not None and not other.gives(shape):
            raise ValueError(f"stage {stage.name}: its shape cannot be copies of layers of {shape.copies}")


def read_recipe(path: Path, changes: Sequence[str] = (), *, sources: Path | None = None) -> Recipe:
    """Return the recipe of a TOML file with `key=value` changes.

    sources: the folder of the files that the recipe names, and of models that lie there (backbone, copies,
    teacher); without it they lie beside the recipe. The table `defaults` holds what stages share. A key is a
    path, `seed` or `stages.0.optimiser.lr`; stages and sources may go by their names. A value is TOML, or
    else text. Raises InputError with a line for each thing that is wrong.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    of_all = [change for change in changes if change.startswith("defaults.")]
    for change in of_all:
        _set(raw, change)
    defaults = raw.pop("defaults", {})
    if isinstance(raw.get("stages"), list):
        raw["stages"] = [_merged(defaults, stage) for stage in raw["stages"]]
    for change in changes:
        if change not in of_all:
            _set(raw, change)
    try:
        recipe = Recipe.model_validate(raw)
    except ValidationError as error:
        raise InputError(_lines(path, error)) from error
    return _placed(recipe, path.parent if sources is None else sources)


def filled(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a recipe that a run kept, with the defaults of keys that have come since."""
    try:
        return Recipe.model_validate(raw).model_dump(mode="json")
    except ValidationError:  # of a version that knew other keys
        return raw


def _merged(defaults: Any, stage: Any) -> Any:
    """Return a stage with what it does not say itself taken from the defaults, tables key by key."""
    if not isinstance(defaults, dict) or not isinstance(stage, dict):
        return stage
    if "name" in defaults and stage.get("name", defaults["name"]) != defaults["name"]:
        return stage  # another objective or schedule has settings of its own
    said = {OTHER_LENGTH[key] for key in stage if key in OTHER_LENGTH}
    kept = {key: value for key, value in defaults.items() if key not in said}
    return kept | {key: _merged(kept.get(key), value) for key, value in stage.items()}


def _lines(path: Path, error: ValidationError) -> str:
    """Return one line for each thing that is wrong: where it stands, what it is, what was found."""
    found = []
    inner = [each["loc"] for each in error.errors()]
    for each in error.errors():
        place = each["loc"]
        if any(other[: len(place)] == place and other != place for other in inner):
            continue  # it is wrong because of what is wrong inside
        where = ".".join(map(str, each["loc"])) or "recipe"
        shown = "" if isinstance(each["input"], dict) else f", got {each['input']!r:.60}"
        known = f"; {_known_keys(each['loc'])}" if each["type"] == "extra_forbidden" else ""
        found.append(f"{path}: {where}: {each['msg'].removeprefix('Value error, ')}{shown}{known}")
    return "\n".join(found)


def _known_keys(place: tuple[int | str, ...]) -> str:
    parts: dict[str, type[BaseModel]] = {
        "model": Model,
        "sources": SourceSpec,
        "shape": Shape,
        "optimiser": Optimiser,
        "schedule": Schedule,
        "evaluation": Evaluation,
        "stages": Stage,
    }
    owners: list[type[BaseModel]] = [Recipe, *(parts[str(step)] for step in place[:-1] if step in parts)]
    return f"known: {', '.join(owners[-1].model_fields)}"


def _set(raw: dict[str, Any], change: str) -> None:
    key, mark, text = change.partition("=")
    if not mark:
        raise InputError(f"--set {change!r}: expected key=value")
    try:
        value = tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        value = text
    *path, last = key.split(".")
    place: Any = raw
    for step in path:
        place = _step(place, step, change)
    if not isinstance(place, dict):
        raise InputError(f"--set {change!r}: {'.'.join(path)} holds no keys")
    place.pop(OTHER_LENGTH.get(last), None)
    place[last] = value


def _step(place: Any, step: str, change: str) -> Any:
    if isinstance(place, dict):
        return place.setdefault(step, {})
    if isinstance(place, list):
        for number, item in enumerate(place):
            if not isinstance(item, dict):
                continue
            if step in (str(number), item.get("name") or Path(item.get("file", "")).stem):
                return item
    raise InputError(f"--set {change!r}: the recipe has no {step!r}")


def _placed(recipe: Recipe, home: Path) -> Recipe:
    """Return the recipe with the paths of its sources made whole, and of models that lie among them."""

    def near(name: str | None) -> str | None:
        return str(home / name) if name and (home / name / "config.json").is_file() else name

    def taught(objective: Mapping[str, Any]) -> dict[str, Any]:
        return {key: near(value) if key == "teacher" else value for key, value in objective.items()}

    def place(source: SourceSpec) -> SourceSpec:
        dev = None if source.dev is None else home / source.dev
        own = None if source.objective is None else taught(source.objective)
        return source.model_copy(update={"file": home / source.file, "dev": dev, "objective": own})

    def placed(stage: Stage) -> Stage:
        shape = stage.shape and stage.shape.model_copy(update={"copies": near(stage.shape.copies)})
        sources = tuple(map(place, stage.sources))
        return stage.model_copy(
            update={"shape": shape, "sources": sources, "objective": taught(stage.objective)}
        )

    model = recipe.model.model_copy(update={"backbone": near(recipe.model.backbone)})
    if model.tokenizer is not None:
        model = model.model_copy(update={"tokenizer": home / model.tokenizer})
    return recipe.model_copy(update={"model": model, "stages": tuple(map(placed, recipe.stages))})
