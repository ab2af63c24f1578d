"""`facets`: several CLS tokens with maps of their own, whose states add up to the vector (Multi2SPE)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

import torch
from torch import Tensor, nn

from sciprism.encoders.methods.registry import Method, check_switches, methods
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.starts import table
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError

Start = Literal["published", "kept"]
STARTS: tuple[Start, ...] = ("published", "kept")


class FacetTokens(nn.Module):
    """The word embeddings of the CLS tokens behind the first, put where the texts keep places for them."""

    def __init__(self, count: int, hidden: int) -> None:
        super().__init__()
        self.rows = table(count, hidden)

    def forward(self, words: Tensor, batch: PackedBatch) -> Tensor:
        """Map word embeddings (T, hidden) to the same with the tokens in their places."""
        count = len(self.rows.weight)
        places = batch.first(count + 1)[:, 1:]
        rows = self.rows.weight.to(words.dtype).repeat(len(places), 1)
        return words.index_copy(0, places.flatten(), rows)


class FacetMaps(nn.Module):
    """A linear map for each CLS state, W_k x + b_k; all other states stay.

    reparameterise: W_k less the mean of all of them, so that the maps cannot all be the same. around: 1.0
    adds the identity to that. tanh: of what comes out.
    """

    def __init__(self, count: int, hidden: int, *, reparameterise: bool, around: float, tanh: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(count, hidden, hidden))
        self.bias = nn.Parameter(torch.empty(count, hidden))
        self.reparameterise = reparameterise and count > 1
        self.around = around
        self.tanh = tanh
        self.packed: Tensor | None = None

    def begin(self, start: Literal["identity", "zero", "random"]) -> FacetMaps:
        """Set what the maps start as; "random" is torch's default of linear layers."""
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

    def prepare(self, dtype: torch.dtype) -> None:
        """Keep the weights in effect for inference; these few states are computed in float32."""
        self.packed = self.maps.detach()

    def train(self, mode: bool = True) -> Self:
        """Drop what was kept where training begins: the weights are about to change."""
        self.packed = None if mode else self.packed
        return super().train(mode)

    @property
    def maps(self) -> Tensor:
        """Return the weights in effect, (K, hidden, hidden)."""
        weight = self.weight - self.weight.mean(dim=0) if self.reparameterise else self.weight
        if not self.around:
            return weight
        return weight + self.around * torch.eye(weight.shape[-1], device=weight.device)

    def forward(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """Map (T, hidden) to (T, hidden)."""
        places = batch.first(len(self.weight))
        states = x[places]
        maps = self.maps if self.packed is None or torch.is_grad_enabled() else self.packed
        mapped = torch.einsum("bki,koi->bko", states.float(), maps) + self.bias
        mapped = torch.tanh(mapped) if self.tanh else mapped
        return x.index_copy(0, places.flatten(), mapped.flatten(0, 1).to(x.dtype))


class InTurn(nn.ModuleList):
    """Maps one after the other."""

    def forward(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """Map (T, hidden) to (T, hidden)."""
        for module in self:
            x = module(x, batch)
        return x


@methods.register("facets")
class Facets(Method):
    """[CLS] [CLS 2] ... [CLS K] text: maps after some blocks and at the top; the vector is the sum.

    facets: K. after: the blocks, counted from 1, with maps on their output; without it those a third and two
    thirds of the way, 4 and 8 of 12. top: whether there are maps behind the last block too; tanh: of those.
    reparameterise: each map less the mean of the facets' maps; of one facet nothing would be left, so there
    it means nothing. start: "published" are identities, of which the re-parameterisation leaves zero; "kept"
    begins as the pretrained function (save for a tanh), with maps around the identity.
    """

    pooling = "facets"

    def __init__(
        self,
        *,
        facets: int = 3,
        after: Sequence[int] | None = None,
        top: bool = True,
        tanh: bool = True,
        reparameterise: bool = True,
        start: Start = "published",
    ) -> None:
        if not isinstance(facets, int) or isinstance(facets, bool) or not 1 <= facets <= 100:
            raise InputError(f"facets is {facets!r}, not a whole number from 1 to 100")
        given = () if after is None else after
        if not isinstance(given, list | tuple) or not all(isinstance(n, int) and n > 0 for n in given):
            raise InputError(f"after is {after!r}, not numbers of blocks, counted from 1")
        check_switches(top=top, tanh=tanh, reparameterise=reparameterise)
        if start not in STARTS:
            raise InputError(f"start is {start!r}; known: {', '.join(STARTS)}")
        self.facets = facets
        self.after = None if after is None else tuple(after)
        self.top = top
        self.tanh = tanh
        self.reparameterise = reparameterise
        self.start = start
        self.places = facets - 1

    def fill(self, model: Transformer) -> None:
        """Give the texts further CLS tokens, and the chosen blocks maps on all of them."""
        count, hidden = len(model.blocks), model.config.hidden
        after = sorted({max(1, count // 3), max(1, 2 * count // 3)}) if self.after is None else self.after
        if after and max(after) > count:
            raise InputError(f"maps after block {max(after)}: the model has only {count}")
        if self.places:
            model.embeddings.front = FacetTokens(self.places, hidden)
        kept = self.start == "kept"
        for number in after:
            maps = self._maps(hidden, kept, tanh=False)
            model.blocks[number - 1].facets = maps.begin("zero" if kept else "identity")
        if self.top:
            maps = self._maps(hidden, kept, tanh=self.tanh).begin("zero" if kept else "random")
            last = model.blocks[-1]
            inner = last.facets
            last.facets = InTurn([inner, maps]) if isinstance(inner, FacetMaps) else maps

    def _maps(self, hidden: int, kept: bool, *, tanh: bool) -> FacetMaps:
        return FacetMaps(
            self.facets, hidden, reparameterise=self.reparameterise, around=float(kept), tanh=tanh
        )

    def begin(self, model: Transformer, first: int) -> None:
        """Start the further tokens near the first one where the pretrained function is to be kept."""
        front = model.embeddings.front
        if self.start == "kept" and isinstance(front, FacetTokens):
            with torch.no_grad():
                front.rows.weight.add_(model.embeddings.word.weight[first])

    def own(self, name: str) -> bool:
        """Return whether the parameter is a facet's token or map."""
        return name.startswith("embeddings.front.") or ".facets." in name
