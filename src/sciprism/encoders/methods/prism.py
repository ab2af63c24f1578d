"""`prism`: every format in one pass, by tokens of its own that read the text and that the text does not see.

Ours; none of the four papers has it. It joins control codes (a token says what a vector is for), experts
(weights of a format's own) and facets (several tokens for one vector), at the CLS positions alone: the text's
states serve all formats, and its keys and values are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.encoders.dropout import Dropout
from sciprism.encoders.linear import Linear
from sciprism.encoders.methods.adapters import Bottleneck
from sciprism.encoders.methods.per_format import PerFormat
from sciprism.encoders.methods.registry import check_switches, methods
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.reading import Reading
from sciprism.encoders.starts import table
from sciprism.encoders.transformer import Attention, Beside, Block, Transformer
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format

Asked = tuple[tuple[str, ...], slice]
"""Ways, and the texts of a batch that are asked for each of them."""
Read = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Maps queries, keys and values of the tokens to what they read of their text and of one another."""
Weights = Literal["whole", "bottleneck", "map", "none"]
WEIGHTS: tuple[Weights, ...] = ("whole", "bottleneck", "map", "none")
Text = Literal["frozen", "trained"]
TEXT: tuple[Text, ...] = ("frozen", "trained")


class Own(nn.Module):
    """What the tokens of a format have for themselves in one layer; what is None they take from the block.

    whole: query, output and feed-forward maps with their norms, begun as copies of the block's. bottleneck:
    an adapter behind the feed-forward. map: a linear change of the output, begun as none.
    """

    def __init__(self, block: Block, weights: Weights, reduction: int) -> None:
        super().__init__()
        hidden = block.attention_norm.normalized_shape[0]
        attention = _plain(block)
        whole = weights == "whole"
        self.query = deepcopy(attention.query) if whole else None
        self.output = deepcopy(attention.output) if whole else None
        self.attention_norm = deepcopy(block.attention_norm) if whole else None
        self.feed_forward = deepcopy(block.feed_forward) if whole else None
        self.feed_forward_norm = deepcopy(block.feed_forward_norm) if whole else None
        self.bottleneck = Bottleneck(hidden, hidden // reduction) if weights == "bottleneck" else None
        self.map = _none(hidden) if weights == "map" else None
        self.dropout = Dropout(block.dropout.rate)

    def prepare(self, dtype: torch.dtype) -> None:
        """Pack for inference what nothing else packs."""
        for own in (self.query, self.output, self.map):
            if own is not None:
                own.pack(dtype)

    def after(self, x: Tensor, mixed: Tensor, block: Block, batch: PackedBatch) -> Tensor:
        """Map states and what their attention found, both (n, hidden), to the next layer's states."""
        mixed = (self.output or _plain(block).output)(mixed)
        y = (self.attention_norm or block.attention_norm)(x + self.dropout(mixed))
        change = self.dropout((self.feed_forward or block.feed_forward)(y, batch))
        norm = self.feed_forward_norm or block.feed_forward_norm
        if self.bottleneck is not None:
            change = change + self.bottleneck(norm(y + change))
        out: Tensor = norm(y + change)
        return out if self.map is None else out + self.map(out)


class OwnLayer(nn.ModuleDict):
    """What each way has for itself in one layer: way -> `Own`."""

    def forward(
        self, states: Tensor, ways: Sequence[str], block: Block, batch: PackedBatch, read: Read
    ) -> Tensor:
        """Map the tokens' states, (W, b, K, hidden), to the next layer's."""
        owns = [own for own in map(self.__getitem__, ways) if isinstance(own, Own)]
        each = states.flatten(1, 2)
        query, key, value = (t.view_as(states) for t in _plain(block).project(each.flatten(0, 1)))
        queries = [own.query(x) for own, x in zip(owns, each, strict=True) if own.query is not None]
        if queries:
            query = torch.stack(queries).view_as(states)
        mixed = read(query, key, value).flatten(1, 2)
        after = [own.after(x, m, block, batch) for own, x, m in zip(owns, each, mixed, strict=True)]
        return torch.stack(after).view_as(states)


class Rays:
    """The states of formats' own tokens on their way through the layers, (W, b, K, hidden) for each asked."""

    def __init__(self, prism: Prism, model: Transformer, batch: PackedBatch, asked: Sequence[Asked]) -> None:
        self._prism, self._model, self._batch, self._asked = prism, model, batch, asked
        self._readings = [Reading(batch, texts, prism.drop) for _, texts in asked]
        self._states: list[Tensor] = []
        if not prism.split:
            self._states = [prism.first(model, ways, texts.stop - texts.start) for ways, texts in asked]
        self._trains = torch.is_grad_enabled()
        self._layer = 0

    def see(self, states: Tensor, key: Tensor, value: Tensor) -> None:
        """Take one layer, by the text's states there, (T, hidden), and keys and values, (T, heads, width)."""
        number, prism = self._layer, self._prism
        self._layer += 1
        if prism.split and number < prism.shared:
            return
        block, layer = self._model.blocks[number], prism.layers[number]
        with torch.set_grad_enabled(self._trains):  # the text itself may go without
            if prism.split and number == prism.shared:
                starts = states[self._batch.starts]
                self._states = [prism.parted(starts[texts], ways) for ways, texts in self._asked]
            self._states = [
                layer(tokens, ways, block, self._batch, partial(reading, (key, value)))
                for tokens, (ways, _), reading in zip(self._states, self._asked, self._readings, strict=True)
            ]

    def tokens(self, pooled: Tensor | None) -> list[Tensor]:
        """Return each token's vector, (W, b, K, hidden) for each asked; a text's vector is their mean.

        pooled: the batch's texts, (B, hidden), that the tokens change; None where they stand for themselves.
        """
        if pooled is None:
            return self._states
        maps = self._prism.maps
        return [
            pooled[texts, None] + torch.stack([maps[w](x) for w, x in zip(ways, states, strict=True)])
            for states, (ways, texts) in zip(self._states, self._asked, strict=True)
        ]


class Prism(Beside):
    """The tokens of every way and what they have for themselves in each layer.

    maps: with `plus`, what a token's last state changes in the pooled text's vector; nothing at first.
    scales: with `scaled`, what directions of a way's vectors are multiplied by, (hidden,) each; measured,
    never trained.
    """

    def __init__(self, model: Transformer, ways: Sequence[str], method: PrismMethod) -> None:
        super().__init__()
        hidden = model.config.hidden
        self.ways = {way: number for number, way in enumerate(ways)}
        self.facets, self.plus, self.frozen = method.facets, method.plus, method.text == "frozen"
        self.rows = table(len(ways) * method.facets, hidden)
        self.dropout, self.drop = Dropout(model.config.dropout), Dropout(model.config.attention_dropout)
        self.split = method.split
        self.shared = len(model.blocks) - (method.depth or len(model.blocks))
        self.layers = nn.ModuleList()
        for number, block in enumerate(model.blocks):
            assert isinstance(block, Block)
            weights = method.weights if number >= self.shared else "none"
            self.layers.append(OwnLayer({way: Own(block, weights, method.reduction) for way in ways}))
        self.maps = nn.ModuleDict({way: _none(hidden) for way in ways} if self.plus else {})
        scales = {way: nn.Parameter(torch.ones(hidden), requires_grad=False) for way in ways}
        self.scales = nn.ParameterDict(scales if method.scaled else {})

    def prepare(self, dtype: torch.dtype) -> None:
        """Pack the last maps for inference."""
        for each in self.maps.values():
            assert isinstance(each, Linear)
            each.pack(dtype)

    def scale(self, ways: Sequence[str], *, text: bool = False) -> Tensor | None:
        """Return what vectors of ways are multiplied by, (W, hidden); text: a row of ones behind them."""
        if not self.scales:
            return None
        return F.pad(torch.stack([self.scales[way] for way in ways]), (0, 0, 0, int(text)), value=1.0)

    def scale_of(self, batch: PackedBatch) -> Tensor | None:
        """Return what the vector of each text's own way is multiplied by, (B, hidden)."""
        if not self.scales:
            return None
        return torch.cat(
            [self.scales[ways[0]].expand(texts.stop - texts.start, -1) for ways, texts in self.parts(batch)]
        )

    def parts(self, batch: PackedBatch) -> list[Asked]:
        """Return the way that each text of a batch states, texts of one way together."""
        found: list[Asked] = []
        start = 0
        for way, _, part in batch.parts:
            end = start + len(part.lengths)
            found.append(((way,), slice(start, end)))
            start = end
        return found

    def rays(self, model: Transformer, batch: PackedBatch, asked: Sequence[Asked]) -> Rays:
        """Return what watches a pass of the batch through the model."""
        return Rays(self, model, batch, asked)

    def first(self, model: Transformer, ways: Sequence[str], count: int) -> Tensor:
        """Return what the tokens of ways are in front of the first layer, (W, count, K, hidden)."""
        table = model.embeddings
        rows = self._own_rows(ways) + table.position.weight[table.first_position] + table.segment.weight[0]
        return self.dropout(table.norm(rows).expand(-1, count, -1, -1))  # type: ignore[no-any-return]

    def parted(self, starts: Tensor, ways: Sequence[str]) -> Tensor:
        """Return what the tokens of ways are where they part from texts' first tokens, (W, b, K, hidden)."""
        return self.dropout(starts[None, :, None] + self._own_rows(ways))  # type: ignore[no-any-return]

    def _own_rows(self, ways: Sequence[str]) -> Tensor:
        rows = self.rows.weight.view(len(self.ways), 1, self.facets, -1)
        return rows[[self.ways[way] for way in ways]]


@methods.register("prism")
class PrismMethod(PerFormat):
    """Each format has CLS tokens of its own that read the text; one pass of the text gives all formats.

    facets: tokens of a format, whose mean is the vector. weights: what a format has for itself at its tokens:
    "whole" query, output and feed-forward maps, a "bottleneck" behind the feed-forward, a "map" of the
    output, or "none", its tokens alone. depth: in how many of the last layers, 0 for all. split: the tokens
    part from the text's first one where these layers begin, and cost nothing below; else they are there
    from the start. reduction: how much narrower than the model a bottleneck is. plus: the vector is the
    pooled text and a linear map of the token's state, a map that is zero at first: training begins at the
    backbone's vectors; without, it is the state alone. scaled: directions of a format's vectors are
    multiplied by numbers of its own, which a stage's `whitening` measures; lengths stay. text: "frozen"
    keeps the backbone and its vectors as they are and takes no gradient through the text.
    """

    apart = True

    def __init__(
        self,
        *,
        facets: int = 1,
        weights: Weights = "whole",
        depth: int = 0,
        reduction: int = 16,
        split: bool = False,
        plus: bool = True,
        scaled: bool = False,
        text: Text = "frozen",
        formats: Sequence[Format] = FORMATS,
    ) -> None:
        super().__init__(formats=formats)
        for name, value, least in (("facets", facets, 1), ("depth", depth, 0), ("reduction", reduction, 1)):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise InputError(f"{name} is {value!r}, not a whole number from {least} on")
        check_switches(split=split, plus=plus, scaled=scaled)
        if weights not in WEIGHTS:
            raise InputError(f"weights is {weights!r}; known: {', '.join(WEIGHTS)}")
        if text not in TEXT:
            raise InputError(f"text is {text!r}; known: {', '.join(TEXT)}")
        self.facets, self.weights, self.depth, self.reduction = facets, weights, depth, reduction
        self.split, self.plus, self.scaled, self.text = split, plus, scaled, text

    def fill(self, model: Transformer) -> None:
        """Put the tokens of every way, and what is their own, beside the text."""
        if self.depth > len(model.blocks):
            raise InputError(f"depth is {self.depth}; the model has {len(model.blocks)} layers")
        if self.weights == "bottleneck" and self.reduction > model.config.hidden:
            raise InputError(f"a reduction of {self.reduction}: the model is only {model.config.hidden} wide")
        model.beside = Prism(model, self.ways, self)

    def begin(self, model: Transformer, first: int) -> None:
        """Start the tokens near the first one of the texts."""
        if isinstance(model.beside, Prism) and not self.split:
            with torch.no_grad():
                model.beside.rows.weight.add_(model.embeddings.word.weight[first])

    def own(self, name: str) -> bool:
        """Return whether the parameter is a format's."""
        return name.startswith("beside.")

    def trainable(self, name: str) -> bool:
        """Return whether the parameter is a format's that training finds, or the text may be trained."""
        return not name.startswith("beside.scales.") and (self.own(name) or self.text == "trained")


def _none(hidden: int) -> Linear:
    """Return a map whose output is zero at first."""
    made = Linear(hidden, hidden)
    nn.init.zeros_(made.weight)
    nn.init.zeros_(made.bias)
    return made


def _plain(block: nn.Module) -> Attention:
    if not isinstance(block, Block) or not isinstance(block.attention, Attention):
        raise InputError("prism reads the text's keys and values; this model has several attentions")
    return block.attention
