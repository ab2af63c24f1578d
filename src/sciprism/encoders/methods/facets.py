"""`facets`: several CLS tokens, each with its own maps, whose states add up to the vector (Multi2SPE)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from tokenizers import Tokenizer
from torch import Tensor, nn

from sciprism.encoders.layers import PackableModule, PackedBatch, build_embedding, facet_states
from sciprism.encoders.methods.registry import Method, Pool, SettingsTable, cls_embedding, methods
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError


class FacetTokens(nn.Module):
    """The word embeddings of the further CLS tokens, put at the reserved positions after the first."""

    def __init__(self, count: int, hidden: int) -> None:
        super().__init__()
        self.rows = build_embedding(count, hidden)

    def forward(self, words: Tensor, batch: PackedBatch) -> Tensor:
        """Return the word embeddings, (T, hidden), with the CLS tokens at the reserved positions."""
        positions = batch.first_positions(len(self.rows.weight) + 1)[:, 1:]
        rows = self.rows.weight.to(words.dtype).repeat(len(positions), 1)
        return words.index_copy(0, positions.flatten(), rows)


class FacetMaps(PackableModule[Tensor]):
    """One linear map per CLS state, W_k x + b_k; all other states stay.

    reparameterise: use W_k minus the mean of all W, so that the maps cannot all be the same. around: 1.0 adds
    the identity to that. tanh: apply it to the output.
    """

    def __init__(self, count: int, hidden: int, *, reparameterise: bool, around: float, tanh: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(count, hidden, hidden))
        self.bias = nn.Parameter(torch.empty(count, hidden))
        self.reparameterise = reparameterise and count > 1
        self.around = around
        self.tanh = tanh

    def initialize(self, start: Literal["identity", "zero", "random"]) -> FacetMaps:
        """Set the initial maps; "random" is torch's default for linear layers."""
        if self.weight.is_meta:
            return self
        with torch.no_grad():
            self.bias.zero_()
            if start == "random":
                bound = self.weight.shape[-1] ** -0.5
                self.weight.uniform_(-bound, bound)
                self.bias.uniform_(-bound, bound)
            else:
                self.weight.copy_(torch.eye(self.weight.shape[-1]) * (start == "identity"))
        return self

    def pack(self, dtype: torch.dtype, *_: nn.Module) -> Tensor:
        """Return the maps in effect."""
        return self.maps

    @property
    def maps(self) -> Tensor:
        """Return the maps in effect, (K, hidden, hidden)."""
        weight = self.weight - self.weight.mean(dim=0) if self.reparameterise else self.weight
        if not self.around:
            return weight
        return weight + self.around * torch.eye(weight.shape[-1], device=weight.device)

    def forward(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """Map (T, hidden) to (T, hidden)."""
        positions = batch.first_positions(len(self.weight))
        maps = self.maps if (packed := self.packed()) is None else packed
        mapped = torch.einsum("bki,koi->bko", x[positions].float(), maps) + self.bias
        mapped = torch.tanh(mapped) if self.tanh else mapped
        return x.index_copy(0, positions.flatten(), mapped.flatten(0, 1).to(x.dtype))


class StackedMaps(nn.ModuleList):
    """Facet maps applied one after the other."""

    def forward(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """Map (T, hidden) to (T, hidden)."""
        for module in self:
            x = module(x, batch)
        return x


class FacetOptions(SettingsTable):
    """Options of facets.

    facets: K. after: blocks, counted from 1, with maps on their output; by default those at one and two
    thirds of the depth, 4 and 8 of 12. top: maps after the last block too; tanh: on the output of those.
    reparameterise: each map minus the mean of the facets' maps; ignored with one facet, where it would leave
    zero. start: "published" are identities, which the re-parameterisation turns into zero; "kept" starts as
    the pretrained function (except for a tanh), with maps around the identity.
    """

    facets: int = Field(3, ge=1, le=100)
    after: tuple[Annotated[int, Field(ge=1)], ...] | None = None
    top: bool = True
    tanh: bool = True
    reparameterise: bool = True
    start: Literal["published", "kept"] = "published"


@methods.register("facets")
class Facets(Method):
    """[CLS] [CLS 2] ... [CLS K] text: maps after some blocks and at the top; the vector is the sum."""

    settings = FacetOptions
    pooling = "facets"
    own_parameters = (".embeddings.front.", ".facets.")

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.facets, self.reserved_positions = options.facets, options.facets - 1

    def fill(self, model: Transformer) -> None:
        """Give the texts further CLS tokens, and the chosen blocks maps on all CLS tokens."""
        count, hidden, options = len(model.blocks), model.config.hidden, self.options
        after = sorted({max(1, count // 3), max(1, 2 * count // 3)}) if options.after is None else options.after
        if after and max(after) > count:
            raise InputError(f"maps after block {max(after)}: the model has only {count}")
        if self.reserved_positions:
            model.embeddings.front = FacetTokens(self.reserved_positions, hidden)
        keeps_start = options.start == "kept"
        for number in after:
            maps = self._maps(hidden, keeps_start, tanh=False)
            model.blocks[number - 1].facets = maps.initialize("zero" if keeps_start else "identity")
        if options.top:
            maps = self._maps(hidden, keeps_start, tanh=options.tanh).initialize("zero" if keeps_start else "random")
            last = model.blocks[-1]
            inner = last.facets
            last.facets = StackedMaps([inner, maps]) if isinstance(inner, FacetMaps) else maps

    def _maps(self, hidden: int, keeps_start: bool, *, tanh: bool) -> FacetMaps:
        reparameterise = self.options.reparameterise
        return FacetMaps(self.facets, hidden, reparameterise=reparameterise, around=float(keeps_start), tanh=tanh)

    def initialize(self, model: Transformer, tokenizer: Tokenizer) -> None:
        """Set the embeddings of the further CLS tokens: near that of CLS ("kept"), or those of `[unused1]` ...

        A vocabulary without these tokens leaves the rows random (Multi2SPE, Appendix D).
        """
        front = model.embeddings.front
        if not isinstance(front, FacetTokens):
            return
        with torch.no_grad():
            if self.options.start == "kept":
                front.rows.weight.add_(cls_embedding(model, tokenizer))
                return
            for number, row in enumerate(front.rows.weight, 1):
                token = tokenizer.token_to_id(f"[unused{number}]")
                if token is not None:
                    row.copy_(model.embeddings.word.weight[token])

    def facet_vectors(self, model: Transformer, batch: PackedBatch, pool: Pool) -> Tensor:
        """Return the states of the CLS tokens, which the pooling adds up."""
        return facet_states(model(batch), batch, self.reserved_positions)
