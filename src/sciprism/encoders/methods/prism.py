"""`prism`: every format in one pass, by tokens of its own that read the text and that the text does not see.

Ours; none of the four papers has it. It joins control codes (a token says what a vector is for), experts
(weights of a format's own) and facets (several tokens for one vector), at the CLS positions alone: the text's
states serve all formats, and its keys and values are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import groupby
from typing import Literal

import torch
from torch import Tensor, nn

from sciprism.encoders.dropout import Dropout
from sciprism.encoders.linear import Linear
from sciprism.encoders.methods import FORMATS, Format, methods
from sciprism.encoders.methods.adapters import Bottleneck
from sciprism.encoders.methods.per_format import PerFormat
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.starts import started
from sciprism.encoders.transformer import Attention, Block, Transformer
from sciprism.errors import InputError

Asked = tuple[str, slice]
"""A way, and the texts of a batch that are asked for it."""
Weights = Literal["whole", "bottleneck", "map", "none"]
WEIGHTS: tuple[Weights, ...] = ("whole", "bottleneck", "map", "none")
Text = Literal["frozen", "trained"]
TEXT: tuple[Text, ...] = ("frozen", "trained")


class OwnLayer(nn.Module):
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
        self.map = Linear(hidden, hidden) if weights == "map" else None
        if self.map is not None:
            nn.init.zeros_(self.map.weight)
            nn.init.zeros_(self.map.bias)

    def forward(self, c: Tensor, block: Block, batch: PackedBatch, read: Reading) -> Tensor:
        """Map the tokens' states, (b, K, hidden), to the next layer's."""
        attention = _plain(block)
        states = c.flatten(0, 1)
        query = (self.query or attention.query)(states)
        mixed = read(query.view_as(c), attention.key(states).view_as(c), attention.value(states).view_as(c))
        mixed = (self.output or attention.output)(mixed.flatten(0, 1))
        y = (self.attention_norm or block.attention_norm)(states + block.dropout(mixed))
        change = block.dropout((self.feed_forward or block.feed_forward)(y, batch))
        norm = self.feed_forward_norm or block.feed_forward_norm
        if self.bottleneck is not None:
            change = change + self.bottleneck(norm(y + change))
        out = norm(y + change)
        if self.map is not None:
            out = out + self.map(out)
        return out.view_as(c)  # type: ignore[no-any-return]


class Reading:
    """Attention of some texts' own tokens to their text and to one another, in one layer.

    key, value: of the batch's text, (T, heads, width). texts: which of the batch. drop: of the weights.
    """

    def __init__(self, key: Tensor, value: Tensor, batch: PackedBatch, texts: slice, drop: nn.Module) -> None:
        self._key, self._value, self._batch, self._texts, self._drop = key, value, batch, texts, drop

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Map queries (b, K, hidden), with keys and values of the tokens themselves, to (b, K, hidden)."""
        heads, width = self._key.shape[1:]
        query, key, value = (t.view(*t.shape[:2], heads, width).transpose(1, 2) for t in (query, key, value))
        parts = []
        for rows, tokens, length in self._runs():
            text_key, text_value = (
                t[tokens].to(query.dtype).view(-1, length, heads, width).transpose(1, 2)
                for t in (self._key, self._value)
            )
            parts.append(self._attended(query[rows], (text_key, key[rows]), (text_value, value[rows])))
        return torch.cat(parts).transpose(1, 2).flatten(2)

    def _attended(self, query: Tensor, keys: tuple[Tensor, Tensor], values: tuple[Tensor, Tensor]) -> Tensor:
        """Attend over text and own tokens, (b, H, K, D), without joining the two."""
        scores = torch.cat([query @ key.transpose(-1, -2) for key in keys], dim=-1)
        weights = self._drop(torch.softmax(scores / math.sqrt(query.shape[-1]), dim=-1))
        length = keys[0].shape[2]
        mixed: Tensor = weights[..., :length] @ values[0] + weights[..., length:] @ values[1]
        return mixed

    def _runs(self) -> Iterator[tuple[slice, slice, int]]:
        """Yield neighbouring texts of one length: their rows, their tokens in the batch, the length."""
        row, bounds = 0, self._batch.bounds
        for length, group in groupby(self._batch.lengths[self._texts]):
            count = len(list(group))
            start = bounds[self._texts.start + row]
            yield slice(row, row + count), slice(start, start + count * length), length
            row += count


class Rays:
    """The states of formats' own tokens on their way through the layers, each asked way (b, K, hidden)."""

    def __init__(self, prism: Prism, model: Transformer, batch: PackedBatch, asked: Sequence[Asked]) -> None:
        self._prism, self._model, self._batch, self._asked = prism, model, batch, asked
        self._states = [prism.first(model, way, texts.stop - texts.start) for way, texts in asked]
        self._layer = 0

    def see(self, key: Tensor, value: Tensor) -> None:
        """Take one layer, by the text's keys and values there, each (T, heads, width)."""
        block, layer = self._model.blocks[self._layer], self._prism.layers[self._layer]
        assert isinstance(layer, nn.ModuleDict)
        self._states = [
            layer[way](states, block, self._batch, Reading(key, value, self._batch, texts, self._prism.drop))
            for states, (way, texts) in zip(self._states, self._asked, strict=True)
        ]
        self._layer += 1

    def vectors(self) -> list[Tensor]:
        """Return the sum over the tokens of each asked way, (b, hidden)."""
        return [states.sum(dim=1) for states in self._states]


class Prism(nn.Module):
    """The tokens of every way and what they have for themselves in each layer.

    plus: whether the pooled text is added to their states.
    """

    def __init__(self, model: Transformer, ways: Sequence[str], method: PrismMethod) -> None:
        super().__init__()
        self.ways = {way: number for number, way in enumerate(ways)}
        self.facets, self.plus = method.facets, method.plus
        self.rows = started(nn.Embedding(len(ways) * method.facets, model.config.hidden))
        self.drop = Dropout(model.config.attention_dropout)
        shared = len(model.blocks) - (method.depth or len(model.blocks))
        self.layers = nn.ModuleList()
        for number, block in enumerate(model.blocks):
            assert isinstance(block, Block)
            weights = method.weights if number >= shared else "none"
            own = {way: OwnLayer(block, weights, method.reduction) for way in ways}
            self.layers.append(nn.ModuleDict(own))

    def parts(self, batch: PackedBatch) -> list[Asked]:
        """Return the way that each text of a batch states, texts of one way together."""
        found, start = [], 0
        for way, _, part in batch.parts:
            end = start + len(part.lengths)
            found.append((way, slice(start, end)))
            start = end
        return found

    def rays(self, model: Transformer, batch: PackedBatch, asked: Sequence[Asked]) -> Rays:
        """Return what watches a pass of the batch through the model."""
        return Rays(self, model, batch, asked)

    def first(self, model: Transformer, way: str, count: int) -> Tensor:
        """Return what the tokens of a way are in front of the first layer, (count, K, hidden)."""
        table = model.embeddings
        start = self.ways[way] * self.facets
        words = self.rows.weight[start : start + self.facets]
        rows = words + table.position.weight[table.first_position] + table.segment.weight[0]
        return table.dropout(table.norm(rows).expand(count, -1, -1))  # type: ignore[no-any-return]


@methods.register("prism")
class PrismMethod(PerFormat):
    """Each format has CLS tokens of its own that read the text; one pass of the text gives all formats.

    facets: tokens of a format, whose states add up. weights: what a format has for itself at its tokens:
    "whole" query, output and feed-forward maps, a "bottleneck" behind the feed-forward, a "map" of the
    output, or "none", its tokens alone. depth: in how many of the last layers, 0 for all. reduction: how much
    narrower than the model a bottleneck is. plus: the vector is the pooled text and the tokens' states, not
    these alone. text: "frozen" keeps the backbone and its vectors as they are and takes no gradient through
    the text.
    """

    def __init__(
        self,
        *,
        facets: int = 1,
        weights: Weights = "whole",
        depth: int = 0,
        reduction: int = 16,
        plus: bool = True,
        text: Text = "frozen",
        formats: Sequence[Format] = FORMATS,
    ) -> None:
        super().__init__(formats=formats)
        for name, value, least in (("facets", facets, 1), ("depth", depth, 0), ("reduction", reduction, 1)):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise InputError(f"{name} is {value!r}, not a whole number from {least} on")
        if weights not in WEIGHTS:
            raise InputError(f"weights is {weights!r}; known: {', '.join(WEIGHTS)}")
        if text not in TEXT:
            raise InputError(f"text is {text!r}; known: {', '.join(TEXT)}")
        self.facets, self.weights, self.depth, self.reduction = facets, weights, depth, reduction
        self.plus, self.text = bool(plus), text

    def fill(self, model: Transformer) -> None:
        """Put the tokens of every way, and what is their own, beside the text."""
        if self.depth > len(model.blocks):
            raise InputError(f"depth is {self.depth}; the model has {len(model.blocks)} layers")
        if self.weights == "bottleneck" and self.reduction > model.config.hidden:
            raise InputError(f"a reduction of {self.reduction}: the model is only {model.config.hidden} wide")
        model.beside = Prism(model, self.ways, self)

    def begin(self, model: Transformer, first: int) -> None:
        """Start the tokens near the first one of the texts."""
        if isinstance(model.beside, Prism):
            with torch.no_grad():
                model.beside.rows.weight.add_(model.embeddings.word.weight[first])

    def own(self, name: str) -> bool:
        """Return whether the parameter is a format's."""
        return name.startswith("beside.")

    def trainable(self, name: str) -> bool:
        """Return whether the parameter is a format's, or the text may be trained."""
        return self.own(name) or self.text == "trained"


def _plain(block: Block) -> Attention:
    if not isinstance(block.attention, Attention):
        raise InputError("prism reads the text's keys and values; this model has several attentions")
    return block.attention
