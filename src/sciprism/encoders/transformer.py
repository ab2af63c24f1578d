"""The transformer under every method: packed, routed, with a slot for each published change to BERT.

A block is BERT's (attention, feed-forward, each with a residual and a LayerNorm after it). Its slots:

    attention     shared, or one per route            SciMult attention experts
    feed_forward  shared, or one per route            SciMult feed-forward experts
    adapter       after the feed-forward              SciRepEval adapters and fusion
    side          parallel to the block               SciRepEval PALs
    facets        on the block's output               Multi2SPE maps at CLS positions
    context       further keys and values per layer   SciMult prefix and instruction
    front         on the word embeddings              SciRepEval control codes, Multi2SPE CLS tokens
    beside        tokens that attend to the text      prism
    lexical       features of a text's words          ours
    relative      bias of scores by distance          MPNet

Slots hold modules called as `module(x, batch)` that return the shape of x; empty slots are None. The slots
`context`, `beside`, `lexical` and `relative` belong to the transformer, `front` to the embeddings. `context` serves all
layers: `module(model, batch)` returns one `Context` per layer. `beside` holds tokens that the text does not
attend to; their method passes each layer's keys and values to them, through a `LayerHook`. `lexical` changes
pooled vectors; it is part of the architecture, since any method may have it. So is `relative`, which all layers
share: it applies to pairs of a text's tokens, in the blocks' own attention. `shared` holds modules that
several layers use. A block's last norm belongs to its feed-forward and may be routed with it. Saved weights
are named after the slots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.encoders.attention import RELATIVE_BUCKETS, RelativePositions, attend_packed, gather_rows
from sciprism.encoders.layers import (
    Dropout,
    Linear,
    PackableModule,
    PackedLinear,
    build_embedding,
    prepare_modules,
    replay_dropout,
)
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.pooling import LexicalFeatures
from sciprism.errors import InputError
from sciprism.limits import describe_excess, limit


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig:
    """The architecture of a backbone, as its `config.json` states it.

    first_position: the index of a text's first token in the position table (0 for BERT; 2 for RoBERTa, which
    leaves the rows up to its padding id unused). types: segment embeddings, 0 for none. lexical: number of
    directions with lexical features. relative_buckets: number of distances with a bias of their own, 0 for none.
    """

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int
    types: int = 2
    norm_eps: float = 1e-12
    activation: str = "gelu"
    dropout: float = 0.1
    attention_dropout: float = 0.1
    padding_id: int = 0
    first_position: int = 0
    lexical: int = 0
    relative_buckets: int = 0

    def __post_init__(self) -> None:
        for name in ("vocabulary", "hidden", "layers", "heads", "intermediate", "positions", "types"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < (name != "types"):
                raise InputError(f"{name} is {value!r}, not a whole number above 0")
        for name, most in {"layers": "layers", "vocabulary": "tokens"}.items():
            if getattr(self, name) > limit(most):
                raise InputError(f"{name} is {getattr(self, name)}, {describe_excess(most)}")
        if max(self.hidden, self.intermediate, self.positions, self.types) > limit("width"):
            raise InputError(f"a matrix of the model has {describe_excess('width')}")
        if self.hidden % self.heads:
            raise InputError(f"{self.heads} heads do not divide a width of {self.hidden}")
        if not isinstance(self.lexical, int) or not 0 <= self.lexical < self.hidden:
            raise InputError(f"lexical is {self.lexical!r}, not a number of directions below {self.hidden}")
        if self.relative_buckets not in (0, RELATIVE_BUCKETS):
            raise InputError(f"relative_buckets is {self.relative_buckets!r}; known: 0 and {RELATIVE_BUCKETS}")
        if not 0 <= self.padding_id < self.vocabulary or not 0 <= self.first_position < self.positions:
            raise InputError(f"padding id {self.padding_id} is outside the embedding tables")
        if not 0 < self.norm_eps < 1 or not 0 <= self.dropout < 1 or not 0 <= self.attention_dropout < 1:
            raise InputError("the norms' epsilon and the dropout rates are fractions")

    @property
    def max_length(self) -> int:
        """Return the maximum length of a text in tokens, special ones included."""
        return self.positions - self.first_position


@dataclass(frozen=True)
class Context:
    """The further tokens that each text attends to in one layer.

    states: (C, hidden), context tokens as this layer's input; texts may share rows. index: for each text in
    turn, which of the C + T rows of [states; x] are its keys and values. lengths: their number per text.
    """

    states: Tensor
    index: Tensor
    lengths: tuple[int, ...]


LayerHook = Callable[[Tensor, Tensor, Tensor], None]
"""Receives each layer's input, (T, hidden), and its keys and values, (T, heads, width), in a pass of the text."""


class Routed(nn.Module):
    """One module per route; each gets the texts of the batch that have its route."""

    def __init__(self, experts: dict[str, nn.Module]) -> None:
        super().__init__()
        self.experts = nn.ModuleDict(experts)

    def forward(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """Map (T, hidden) to (T, hidden); a route without a module is a KeyError."""
        parts = [self.experts[route](x[tokens], part) for route, tokens, part in batch.by_route]
        return parts[0] if len(parts) == 1 else torch.cat(parts)


class SelfAttention(PackableModule[PackedLinear]):
    """Multi-head self-attention inside each text, without an output map, (T, width) -> (T, width).

    biased: whether it has the bias of the batch, which the blocks' attentions share.
    """

    biased = False

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = Linear(width, width)
        self.key = Linear(width, width)
        self.value = Linear(width, width)

    def pack(self, dtype: torch.dtype, *_: nn.Module) -> PackedLinear:
        """Return query, key and value as one product."""
        maps = (self.query, self.key, self.value)
        weight, bias = torch.cat([m.weight for m in maps]), torch.cat([m.bias for m in maps])
        return PackedLinear(weight, bias, "none", dtype)

    def forward(
        self, x: Tensor, batch: PackedBatch, context: Context | None = None, hook: LayerHook | None = None
    ) -> Tensor:
        """Attend; with a context its rows serve as further keys and values of each text."""
        query, key, value = self.project(x)
        keys = batch.lengths
        if context is not None:
            _, more_keys, more_values = self.project(context.states)
            key = gather_rows(torch.cat([more_keys, key]), context.index)
            value = gather_rows(torch.cat([more_values, value]), context.index)
            keys = context.lengths
        query, key, value = (t.view(len(t), self.heads, -1) for t in (query, key, value))
        if hook is not None:
            hook(x, key, value)
        dropout = self.dropout if self.training else 0.0
        bias = batch.bias if self.biased else None
        return attend_packed(query, key, value, queries=batch.lengths, keys=keys, dropout=dropout, bias=bias).flatten(1)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, each of the shape of x."""
        if (packed := self.packed()) is not None:
            query, key, value = packed(x).chunk(3, dim=-1)
            return query, key, value
        return self.query(x), self.key(x), self.value(x)


class Attention(SelfAttention):
    """Self-attention with an output map, (T, hidden) -> (T, hidden)."""

    biased = True

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config.hidden, config.heads, config.attention_dropout)
        self.output = Linear(config.hidden, config.hidden)

    def prepare(self, dtype: torch.dtype) -> None:
        """Use packed weights from now on, of query, key and value as one product, and of the output map."""
        super().prepare(dtype)
        self.output.prepare(dtype)

    def forward(
        self, x: Tensor, batch: PackedBatch, context: Context | None = None, hook: LayerHook | None = None
    ) -> Tensor:
        """Attend; with a context its rows serve as further keys and values of each text."""
        return self.output(super().forward(x, batch, context, hook))  # type: ignore[no-any-return]


class Norm(PackableModule[tuple[Tensor, Tensor]], nn.LayerNorm):
    """A LayerNorm with the signature of a slot.

    Packed for bfloat16 on a GPU, whose memory bounds it, it returns bfloat16 of sums in float32.
    """

    def pack(self, dtype: torch.dtype, *_: nn.Module) -> tuple[Tensor, Tensor]:
        """Return scale and shift."""
        return self.weight.detach().to(dtype), self.bias.detach().to(dtype)

    def forward(self, x: Tensor, batch: PackedBatch | None = None) -> Tensor:  # noqa: ARG002
        """Map (T, hidden) to (T, hidden)."""
        if self.packing is torch.bfloat16 and x.is_cuda and (packed := self.packed()) is not None:
            return F.layer_norm(x.bfloat16(), list(self.normalized_shape), *packed, eps=self.eps)
        return super().forward(x)


class FeedForward(nn.Module):
    """Two linear maps with an activation between them, (T, hidden) -> (T, hidden)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.expand = Linear(config.hidden, config.intermediate, config.activation)
        self.contract = Linear(config.intermediate, config.hidden)

    def forward(self, x: Tensor, batch: PackedBatch) -> Tensor:  # noqa: ARG002 - the slot's signature
        """Map each token independently."""
        return self.contract(self.expand(x))  # type: ignore[no-any-return]


class Block(nn.Module):
    """One layer with its slots, which the module's docstring lists."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention: nn.Module = Attention(config)
        self.attention_norm = Norm(config.hidden, eps=config.norm_eps)
        self.feed_forward: nn.Module = FeedForward(config)
        self.feed_forward_norm: nn.Module = Norm(config.hidden, eps=config.norm_eps)
        self.adapter: nn.Module | None = None
        self.side: nn.Module | None = None
        self.facets: nn.Module | None = None
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Tensor, batch: PackedBatch, context: Context | None = None, hook: LayerHook | None = None
    ) -> Tensor:
        """Map a layer's input to its output, (T, hidden) -> (T, hidden)."""
        more = () if context is None and hook is None else (context, hook)
        y = self.attention_norm(x + self.dropout(self.attention(x, batch, *more)))
        change = self.dropout(self.feed_forward(y, batch))
        if self.adapter is not None:
            change = change + self.adapter(self.feed_forward_norm(y + change, batch), batch)
        if self.side is not None:
            change = change + self.side(x, batch)
        out: Tensor = self.feed_forward_norm(y + change, batch)
        return out if self.facets is None else self.facets(out, batch)


class Embeddings(nn.Module):
    """Word, position and segment embeddings, summed and normalized."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.first_position = config.first_position
        self.word = build_embedding(config.vocabulary, config.hidden)
        self.position = build_embedding(config.positions, config.hidden)
        self.segment = build_embedding(config.types, config.hidden) if config.types else None
        self.front: nn.Module | None = None
        self.norm = nn.LayerNorm(config.hidden, eps=config.norm_eps)
        self.dropout = Dropout(config.dropout)

    def forward(self, batch: PackedBatch) -> Tensor:
        """Return the first layer's input, (T, hidden)."""
        words = self.word(batch.ids)
        if self.front is not None:
            words = self.front(words, batch)
        x = self.add_segment(words + self.position(batch.positions + self.first_position), batch.types)
        return self.dropout(self.norm(x))  # type: ignore[no-any-return]

    def add_segment(self, x: Tensor, types: Tensor | None = None) -> Tensor:
        """Add the segment embeddings, by default of the first segment, to x (..., hidden); a model may have none."""
        if self.segment is None:
            return x
        added: Tensor = self.segment.weight[0] if types is None else self.segment(types)
        return x + added


class Transformer(nn.Module):
    """A BERT encoder over packed batches: token ids in, last hidden states, (T, hidden), out.

    gradient_checkpointing: compute blocks again in the backward pass. frozen_text: the method trains other
    modules alone, so the text has no dropout and its pass no gradient.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.context: nn.Module | None = None
        self.beside: nn.Module | None = None
        self.shared: nn.Module | None = None
        self.lexical: LexicalFeatures | None = None
        if config.lexical:
            self.lexical = LexicalFeatures(config.vocabulary, config.hidden, config.lexical)
        self.relative = RelativePositions(config.heads) if config.relative_buckets else None
        self.gradient_checkpointing = False
        self.frozen_text = False

    def forward(
        self, batch: PackedBatch, contexts: Sequence[Context] | None = None, hook: LayerHook | None = None
    ) -> Tensor:
        """Return the last hidden states, (T, hidden).

        contexts: one per layer, instead of the slot's. hook: receives each layer's keys and values.
        """
        if contexts is None and self.context is not None:
            contexts = self.context(self, batch)
        if contexts is not None and self.relative is not None:
            raise InputError(
                "a backbone with relative positions cannot have prefixes or instructions; use another method"
            )
        x, batch = self._start(batch)
        for number, block in enumerate(self.blocks):
            x = self._run_block(block, x, batch, contexts[number] if contexts else None, hook)
        return x.float()

    def run_hook(self, batch: PackedBatch, hook: LayerHook) -> None:
        """Pass each layer's keys and values to the hook; the last layer computes only its projections."""
        last = self.blocks[-1].attention
        assert isinstance(last, SelfAttention)
        x = self._layer_input(batch, len(self.blocks), hook)
        _, key, value = (t.view(len(t), last.heads, -1) for t in last.project(x))
        hook(x, key, value)

    def projections(self, batch: PackedBatch, layer: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values of a layer, counted from 1, (T, hidden) each; run no later one."""
        attention = self.blocks[layer - 1].attention
        if self.context is not None or not isinstance(attention, SelfAttention):
            raise InputError("this method has no single set of queries, keys and values per layer")
        return attention.project(self._layer_input(batch, layer))

    def _layer_input(self, batch: PackedBatch, layer: int, hook: LayerHook | None = None) -> Tensor:
        """Return the input of a layer, counted from 1, without a context."""
        x, batch = self._start(batch)
        for block in self.blocks[: layer - 1]:
            x = self._run_block(block, x, batch, None, hook)
        return x

    def _start(self, batch: PackedBatch) -> tuple[Tensor, PackedBatch]:
        """Return the first layer's input, and the batch with what all layers share."""
        x = self.embeddings(batch)
        return x, batch if self.relative is None else replace(batch, bias=self.relative(max(batch.lengths)))

    def _run_block(
        self, block: nn.Module, x: Tensor, batch: PackedBatch, context: Context | None, hook: LayerHook | None
    ) -> Any:
        """Return a block's output; with `gradient_checkpointing` its backward pass computes it again.

        Not with a hook, which would run twice.
        """
        if hook is not None or not (self.gradient_checkpointing and self.training and torch.is_grad_enabled()):
            return block(x, batch, context, hook)
        from torch.utils.checkpoint import checkpoint

        return checkpoint(
            block, x, batch, context, use_reentrant=False, preserve_rng_state=False, context_fn=replay_dropout
        )

    def train(self, mode: bool = True) -> Self:
        """Set the training mode; a frozen text stays in evaluation mode, without dropout."""
        super().train(mode)
        if self.frozen_text:
            self.embeddings.eval()
            self.blocks.eval()
        return self

    def set_dropout(self, rate: float) -> None:
        """Set the dropout rate of hidden states and attention weights."""
        for module in self.modules():
            if isinstance(module, Dropout):
                module.rate = rate
            elif isinstance(module, SelfAttention):
                module.dropout = rate

    def prepare(self, dtype: torch.dtype) -> Transformer:
        """Use packed weights for inference in `dtype` from now on; hidden states between layers stay float32.

        On a GPU those in bfloat16 are bfloat16, too.

        `train()` ends that; call this again after training.
        """
        for module in (self.blocks, self.shared, self.beside, self.context, self.lexical):
            if module is not None:
                prepare_modules(module, dtype)
        return self.eval()
