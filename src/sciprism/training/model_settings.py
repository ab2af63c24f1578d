"""The tables of a recipe that state a model: the one that is trained, and the size of a new one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from sciprism.encoders.pooling import poolings
from sciprism.training.recipe_tables import RecipeTable


def _check_pooling(value: str) -> str:
    poolings[value]
    return value


PoolingName = Annotated[str, AfterValidator(_check_pooling)]


class ModelSettings(RecipeTable):
    """The model that is trained. Keys without a value keep what the backbone's folder states."""

    backbone: str = Field("", description="A folder, a packaged model or a hub id. Optional with an `architecture`.")
    tokenizer: Path | None = Field(
        None, description="Vocabulary of new models, relative to the sources. Default: the backbone's."
    )
    pooling: PoolingName | None = Field(
        None, description="How states of tokens become a vector: `mean`, `cls`, `last`, `code` or `facets`."
    )
    max_length: int | None = Field(None, ge=3, description="Tokens of a text that the model reads.")
    training_length: int | None = Field(
        None, ge=3, description="Tokens of a text in training. Default: the model's `max_length`."
    )
    separator: str | None = Field(None, description="Text between title and abstract.")
    lowercase: bool | None = Field(None, description="Whether texts are lowercased before tokenization.")
    normalize: bool | None = Field(None, description="Whether vectors are scaled to length 1.")
    distance: Literal["cosine", "dot", "euclidean"] | None = Field(
        None, description="How vectors of the model are compared."
    )
    dropout: float | None = Field(
        None, ge=0, lt=1, description="Of hidden states and attention. Default: the backbone's."
    )

    def resolve_paths(self, folder: Path) -> ModelSettings:
        """Return the settings with the paths of tokenizer and backbone, if it is there, below a folder."""
        tokenizer = self.tokenizer and folder / self.tokenizer
        return self.model_copy(update={"backbone": resolve_model(self.backbone, folder), "tokenizer": tokenizer})


class Architecture(RecipeTable):
    """The size of a new model, with random weights or weights copied from another one."""

    layers: int = Field(ge=1, description="Number of transformer blocks.")
    hidden: int = Field(ge=1, description="Width of token states.")
    heads: int = Field(ge=1, description="Attention heads of a layer.")
    intermediate: int = Field(
        ge=1, description="Width inside feed-forwards. Copies of wider ones retain the units with the largest weights."
    )
    max_positions: int = Field(
        514, ge=8, description="Rows of the position table: RoBERTa's layout reserves two, so 514 read 512 tokens."
    )
    token_types: int = Field(1, ge=1, description="Segment embeddings.")
    norm_eps: float = Field(1e-5, gt=0, description="Epsilon of layer norms.")
    activation: str = Field("gelu", description="Activation of feed-forwards: `gelu`, `gelu_tanh` or `relu`.")
    lexical: int = Field(
        0, ge=0, description="Dimensions of a vector for lexical features, from `sciprism prepare lexical`."
    )
    copy_from: str | None = Field(
        None, description="Model or earlier stage whose embeddings and layers are copied. Default: random weights."
    )
    copied_layers: tuple[int, ...] = Field((), description="Numbers of the copied layers, from 1.")

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


def resolve_model(name: str | None, folder: Path) -> str | None:
    """Return the path of a model in the folder, or else the name as it is."""
    return str(folder / name) if name and (folder / name / "config.json").is_file() else name
