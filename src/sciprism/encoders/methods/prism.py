"""`prism`: one pass of the text gives the vectors of every format.

Ours; none of the four papers has it. Each format has CLS tokens that attend to the text, while the text does
not attend to them. It joins control codes (a token says what a vector is for), experts (weights per format)
and facets (several tokens for one vector) at the CLS positions alone: all formats share the text's states,
keys and values, which are computed once.

Shapes below: R routes, b texts of a request, K tokens per route.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, Literal

import torch
from pydantic import Field
from tokenizers import Tokenizer
from torch import Tensor, nn

from sciprism.encoders.attention import CrossAttention
from sciprism.encoders.layers import Dropout, Linear, PackedBatch, build_embedding
from sciprism.encoders.methods.adapters import Bottleneck
from sciprism.encoders.methods.registry import FormatOptions, PerFormat, Pool, cls_embedding, methods
from sciprism.encoders.transformer import Attention, Block, Transformer
from sciprism.errors import InputError

FormatRequest = tuple[tuple[str, ...], slice]
"""Routes, and the slice of a batch's texts that get a vector for each of them."""
AttentionFunction = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Maps queries, keys and values of the format tokens to what they attend to: their text and one another."""
Weights = Literal["whole", "bottleneck", "map", "none"]


class FormatModules(nn.Module):
    """The modules of one format in one layer; where one is None, the tokens use the block's.

    whole: query, output and feed-forward maps with their norms, copies of the block's at first. bottleneck:
    an adapter after the feed-forward. map: a linear change of the output, zero at first.
    """

    def __init__(self, block: Block, weights: Weights, reduction: int) -> None:
        super().__init__()
        attention = _attention_of(block)
        hidden = attention.output.out_features
        whole = weights == "whole"
        self.query = deepcopy(attention.query) if whole else None
        self.output = deepcopy(attention.output) if whole else None
        self.attention_norm = deepcopy(block.attention_norm) if whole else None
        self.feed_forward = deepcopy(block.feed_forward) if whole else None
        self.feed_forward_norm = deepcopy(block.feed_forward_norm) if whole else None
        self.bottleneck = Bottleneck(hidden, hidden // reduction) if weights == "bottleneck" else None
        self.map = _zero_linear(hidden) if weights == "map" else None
        self.dropout = Dropout(block.dropout.rate)

    def after_attention(self, x: Tensor, mixed: Tensor, block: Block, batch: PackedBatch) -> Tensor:
        """Map states and the output of their attention, both (n, hidden), to the next layer's states."""
        mixed = (self.output or _attention_of(block).output)(mixed)
        y = block.leave(self.attention_norm or block.attention_norm, x + self.dropout(mixed), batch)
        norm = self.feed_forward_norm or block.feed_forward_norm
        change = self.dropout((self.feed_forward or block.feed_forward)(block.enter(norm, y, batch), batch))
        if self.bottleneck is not None:
            change = change + self.bottleneck(block.leave(norm, y + change, batch))
        out = block.finish(block.leave(norm, y + change, batch), batch)
        return out if self.map is None else out + self.map(out)


class FormatLayer(nn.ModuleDict):
    """The modules of all formats in one layer: route -> `FormatModules`."""

    def forward(
        self, states: Tensor, routes: Sequence[str], block: Block, batch: PackedBatch, attend: AttentionFunction
    ) -> Tensor:
        """Map the tokens' states, (R, b, K, hidden), to the next layer's."""
        modules = [module for module in map(self.__getitem__, routes) if isinstance(module, FormatModules)]
        by_route = states.flatten(1, 2)
        entered = block.enter(block.attention_norm, by_route, batch)
        query, key, value = (t.view_as(states) for t in _attention_of(block).project(entered.flatten(0, 1)))
        queries = [
            module.query(block.enter(module.attention_norm, x, batch))
            for module, x in zip(modules, by_route, strict=True)
            if module.query is not None
        ]
        if queries:
            query = torch.stack(queries).view_as(states)
        mixed = attend(query, key, value).flatten(1, 2)
        outputs = [
            module.after_attention(x, m, block, batch) for module, x, m in zip(modules, by_route, mixed, strict=True)
        ]
        return torch.stack(outputs).view_as(states)


class FormatTokens:
    """The states of the format tokens during one pass of a batch, (R, b, K, hidden) for each request.

    `on_layer` is the transformer's `LayerHook`: each layer of the text advances the tokens by one layer.
    """

    def __init__(self, prism: Prism, model: Transformer, batch: PackedBatch, requests: Sequence[FormatRequest]) -> None:
        self._prism, self._model, self._batch, self._requests = prism, model, batch, requests
        self._attention = [CrossAttention(batch, texts, prism.attention_dropout) for _, texts in requests]
        self._states: list[Tensor] = []
        if not prism.split:
            self._states = [prism.input_states(model, routes, texts.stop - texts.start) for routes, texts in requests]
        self._trains = torch.is_grad_enabled()
        self._layer = 0

    def on_layer(self, states: Tensor, key: Tensor, value: Tensor) -> None:
        """Advance by one layer: states, (T, hidden), key and value, (T, heads, width), are the text's."""
        number, prism = self._layer, self._prism
        self._layer += 1
        if prism.split and number < prism.first_layer:
            return
        block, layer = self._model.blocks[number], prism.layers[number]
        with torch.set_grad_enabled(self._trains):  # the text's pass may be without gradients
            if prism.split and number == prism.first_layer:
                cls = states[self._batch.starts]
                self._states = [prism.split_states(cls[texts], routes) for routes, texts in self._requests]
            self._states = [
                layer(tokens, routes, block, self._batch, partial(attention, (key, value)))
                for tokens, (routes, _), attention in zip(self._states, self._requests, self._attention, strict=True)
            ]

    def vectors(self, pooled: Tensor | None) -> list[Tensor]:
        """Return each token's vector, (R, b, K, hidden) for each request; a text's vector is their mean.

        pooled: the batch's text vectors, (B, hidden), that the tokens change; None where the states are the
        vectors.
        """
        if pooled is None:
            return self._states
        maps = self._prism.maps
        return [
            pooled[texts, None] + torch.stack([maps[r](x) for r, x in zip(routes, states, strict=True)])
            for states, (routes, texts) in zip(self._states, self._requests, strict=True)
        ]


class Prism(nn.Module):
    """The tokens of every route and their modules in each layer.

    maps: with `plus`, from a token's last state to a change of the pooled text vector; zero at first. scales:
    with `scaled`, the factors of the directions of a route's vectors, (hidden,) each; measured, never
    trained.
    """

    def __init__(self, model: Transformer, routes: Sequence[str], options: PrismOptions) -> None:
        super().__init__()
        hidden = model.config.hidden
        self.routes = {route: number for number, route in enumerate(routes)}
        self.facets = options.facets
        self.rows = build_embedding(len(routes) * options.facets, hidden)
        self.dropout = Dropout(model.config.dropout)
        self.attention_dropout = Dropout(model.config.attention_dropout)
        self.split = options.split
        self.first_layer = len(model.blocks) - (options.depth or len(model.blocks))
        self.layers = nn.ModuleList()
        for number, block in enumerate(model.blocks):
            assert isinstance(block, Block)
            weights = options.weights if number >= self.first_layer else "none"
            self.layers.append(
                FormatLayer({route: FormatModules(block, weights, options.reduction) for route in routes})
            )
        self.maps = nn.ModuleDict({route: _zero_linear(hidden) for route in routes} if options.plus else {})
        scales = {route: nn.Parameter(torch.ones(hidden), requires_grad=False) for route in routes}
        self.scales = nn.ParameterDict(scales if options.scaled else {})

    def input_states(self, model: Transformer, routes: Sequence[str], count: int) -> Tensor:
        """Return the tokens' states before the first layer, for `count` texts, (R, count, K, hidden)."""
        table = model.embeddings
        rows = self._rows_of(routes)
        if table.position is not None:
            rows = rows + table.position.weight[table.first_position]
        rows = table.add_segment(rows)
        rows = rows if table.norm is None else table.norm(rows)
        return self.dropout(rows.expand(-1, count, -1, -1))  # type: ignore[no-any-return]

    def split_states(self, cls: Tensor, routes: Sequence[str]) -> Tensor:
        """Return the tokens' states where they split from the texts' CLS states, (R, b, K, hidden)."""
        return self.dropout(cls[None, :, None] + self._rows_of(routes))  # type: ignore[no-any-return]

    def _rows_of(self, routes: Sequence[str]) -> Tensor:
        rows = self.rows.weight.view(len(self.routes), 1, self.facets, -1)
        return torch.stack([rows[self.routes[route]] for route in routes])


class PrismOptions(FormatOptions):
    """Options of prism.

    facets: tokens of a format; their mean is the vector. weights: what a format has at its tokens: "whole"
    query, output and feed-forward maps, a "bottleneck" after the feed-forward, a "map" of the output, or
    "none", the tokens alone. depth: in how many of the last layers, 0 for all. split: the tokens split from
    the text's CLS state where these layers begin, and cost nothing below; without, they exist from the first
    layer. reduction: model width / bottleneck width. plus: the vector is the pooled text plus a linear map of
    the token's state, zero at first, so training begins at the backbone's vectors; without, it is the state
    alone. scaled: directions of a format's vectors are multiplied by factors that a stage's `whitening`
    measures; lengths stay. text: "frozen" keeps the backbone and its vectors as they are and takes no
    gradient through the text.
    """

    facets: int = Field(1, ge=1)
    weights: Weights = "whole"
    depth: int = Field(0, ge=0)
    reduction: int = Field(16, ge=1)
    split: bool = False
    plus: bool = True
    scaled: bool = False
    text: Literal["frozen", "trained"] = "frozen"


@methods.register("prism")
class PrismMethod(PerFormat):
    """Each format has CLS tokens that attend to the text; one pass of the text gives all formats."""

    settings = PrismOptions
    one_pass = True
    keeps_text_states = True
    own_parameters = (".beside.",)

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.facets, self.freezes_backbone = options.facets, options.text == "frozen"

    def fill(self, model: Transformer) -> None:
        """Put the tokens and modules of every route into the side slot."""
        options = self.options
        if options.depth > len(model.blocks):
            raise InputError(f"depth is {options.depth}; the model has {len(model.blocks)} layers")
        if options.weights == "bottleneck" and options.reduction > model.config.hidden:
            raise InputError(f"a reduction of {options.reduction}: the model is only {model.config.hidden} wide")
        model.beside = Prism(model, self.routes, options)
        model.frozen_text = self.freezes_backbone

    def initialize(self, model: Transformer, tokenizer: Tokenizer) -> None:
        """Start the tokens near the embedding of CLS."""
        if isinstance(model.beside, Prism) and not self.options.split:
            with torch.no_grad():
                model.beside.rows.weight.add_(cls_embedding(model, tokenizer))

    def vectors(self, model: Transformer, batch: PackedBatch, pool: Pool) -> Tensor:
        """Return the mean of the tokens' vectors on each text's route."""
        return self._own_vectors(model, batch, pool).mean(dim=1)

    def facet_vectors(self, model: Transformer, batch: PackedBatch, pool: Pool) -> Tensor:
        """Return the tokens' vectors on each text's route, divided by their number."""
        return self._own_vectors(model, batch, pool) / self.facets

    def vectors_by_route(self, model: Transformer, batch: PackedBatch, routes: Sequence[str], pool: Pool) -> Tensor:
        """Return the mean of the tokens' vectors on every route."""
        requests = [(tuple(routes), slice(0, len(batch.lengths)))]
        return self._token_vectors(model, batch, requests, pool)[0].mean(dim=2).transpose(0, 1)

    def _own_vectors(self, model: Transformer, batch: PackedBatch, pool: Pool) -> Tensor:
        """Return the vectors of the tokens on the route that the batch states for each text, (B, K, hidden)."""
        bounds = pairwise(accumulate((len(part.lengths) for _, _, part in batch.by_route), initial=0))
        requests = [((route,), slice(*ends)) for (route, _, _), ends in zip(batch.by_route, bounds, strict=True)]
        return torch.cat([vectors[0] for vectors in self._token_vectors(model, batch, requests, pool)])

    def _token_vectors(
        self, model: Transformer, batch: PackedBatch, requests: Sequence[FormatRequest], pool: Pool
    ) -> list[Tensor]:
        """Return the tokens' vectors, (R, b, K, hidden) per request, from one pass of the text.

        Where they do not depend on the text's vector, its last layer computes only what they read.
        """
        prism = model.beside
        assert isinstance(prism, Prism)
        tokens, pooled = FormatTokens(prism, model, batch, requests), None
        with torch.set_grad_enabled(torch.is_grad_enabled() and not model.frozen_text):
            if self.options.plus:
                pooled = pool(model(batch, hook=tokens.on_layer), batch)
            else:
                model.run_hook(batch, tokens.on_layer)
        return tokens.vectors(pooled)

    def scales(self, model: Transformer) -> Mapping[str, nn.Parameter]:
        """Return the scales of every route; none without `scaled`."""
        assert isinstance(model.beside, Prism)
        return dict(model.beside.scales.items())

    def trainable(self, name: str) -> bool:
        """Return whether the parameter may be trained: scales are measured, and the text may be frozen."""
        return not name.startswith("beside.scales.") and super().trainable(name)


def _zero_linear(hidden: int) -> Linear:
    linear = Linear(hidden, hidden)
    nn.init.zeros_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear


def _attention_of(block: nn.Module) -> Attention:
    if not isinstance(block, Block) or not isinstance(block.attention, Attention):
        raise InputError("prism needs one attention per layer; this model has several (attention experts)")
    if block.attention.key_norm is not None or block.attention.key.out_features != block.attention.output.out_features:
        raise InputError("prism needs as many heads of keys as of queries, as wide as the model, without norms")
    return block.attention
