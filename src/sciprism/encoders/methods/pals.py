"""`pals`: per format, a small attention parallel to each layer (SciRepEval, section 4; Stickland 2019)."""

from __future__ import annotations

from pydantic import Field, model_validator
from torch import Tensor, nn

from sciprism.encoders.layers import Linear, PackedBatch, initialize_weights
from sciprism.encoders.methods.registry import FormatOptions, PerFormat, methods
from sciprism.encoders.transformer import Routed, SelfAttention, Transformer
from sciprism.errors import InputError


class Projections(nn.Module):
    """The maps into the small attention and back, shared by all layers of a format."""

    def __init__(self, hidden: int, size: int) -> None:
        super().__init__()
        self.down = initialize_weights(Linear(hidden, size))
        self.up = initialize_weights(Linear(size, hidden, "gelu"))


class ProjectedAttention(nn.Module):
    """Down, attention without an output map, up, GELU: (T, hidden) -> (T, hidden).

    projections: owned by another module; neither saved nor trained as a part of this one.
    """

    def __init__(self, projections: Projections, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = SelfAttention(size, heads, dropout)
        for linear in (self.attention.query, self.attention.key, self.attention.value):
            initialize_weights(linear)
        self._projections = (projections,)  # a tuple hides it from torch

    def forward(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """Attend inside each text, at the small width."""
        (maps,) = self._projections
        return maps.up(self.attention(maps.down(x), batch))  # type: ignore[no-any-return]


class PalOptions(FormatOptions):
    """Options. size: the width of the small attention. heads: its number of heads."""

    size: int = Field(204, ge=1)
    heads: int = Field(6, ge=1)

    @model_validator(mode="after")
    def _check(self) -> PalOptions:
        if self.size % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a size of {self.size}")
        return self


@methods.register("pals")
class Pals(PerFormat):
    """Each format adds a projected attention layer to every layer; the whole network is trained."""

    settings = PalOptions
    own_parameters = (".side.", ".shared.")

    def fill(self, model: Transformer) -> None:
        """Put one attention per format into each side slot; the layers share the projections."""
        config, options = model.config, self.options
        if config.style.pre_norm:
            raise InputError(
                "PALs are added before a block's last norm; this backbone has its norms before each sub-layer"
            )
        shared: dict[str, Projections] = {route: Projections(config.hidden, options.size) for route in self.routes}
        model.shared = nn.ModuleDict(shared)
        for block in model.blocks:
            block.side = Routed(
                {
                    route: ProjectedAttention(maps, options.size, options.heads, config.attention_dropout)
                    for route, maps in shared.items()
                }
            )
