"""The transformer under every method: packed, routed, with a slot for each published change to BERT.

A block is attention and feed-forward, each with a residual and a norm: BERT's, or another family's, in the style that
the configuration declares. Its slots:

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
    update        on a linear map's product           LoRA

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
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.encoders.attention import RELATIVE_BUCKETS, RelativePositions, attend_packed, gather_rows, rotate
from sciprism.encoders.layers import (
    ACTIVATIONS,
    Dropout,
    LexicalFeatures,
    Linear,
    PackableModule,
    PackedBatch,
    PackedLinear,
    build_embedding,
    prepare_modules,
    replay_dropout,
)
from sciprism.errors import InputError
from sciprism.limits import describe_excess, limit


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStyle:
    """What the blocks of a family have in another way than BERT's, whose style is the default one.

    family: whose names the weights have where they are published. pre_norm: norms stand before attention and
    feed-forward, and one after the last block. rms: norms divide by the root mean square. norm_bias, bias: whether
    norms and linear maps have one. embedding_norm, first_norm: whether the embeddings, and the attention of the first
    block, have a norm. gated: the feed-forward is activation(x A) * (x B). key_heads: of keys and values, which several
    query heads share; 0 for as many as of queries. head_width: 0 for hidden / heads. head_norm: queries and keys of
    each head are normed. causal: a token attends to itself and those before it alone. thetas: base of the rotary
    positions of each layer; none: positions are a table. windows: how many tokens on each side a layer's token attends
    to, 0 for all; none: all.
    """

    family: str = ""
    pre_norm: bool = False
    rms: bool = False
    norm_bias: bool = True
    bias: bool = True
    embedding_norm: bool = True
    first_norm: bool = True
    gated: bool = False
    key_heads: int = 0
    head_width: int = 0
    head_norm: bool = False
    causal: bool = False
    thetas: tuple[float, ...] = ()
    windows: tuple[int, ...] = ()


BERT = BlockStyle()


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
    style: BlockStyle = BERT

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
        style = self.style
        if self.hidden % self.heads and not style.head_width:
            raise InputError(f"{self.heads} heads do not divide a width of {self.hidden}")
        if style.key_heads and self.heads % style.key_heads:
            raise InputError(f"{style.key_heads} heads of keys do not divide {self.heads} heads")
        if any(len(each) not in (0, self.layers) for each in (style.thetas, style.windows)):
            raise InputError(f"rotary positions and windows are not of {self.layers} layers")
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
KeyHook = Callable[[Tensor, Tensor], None]
"""Receives the keys and values of one layer."""


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
    """Multi-head self-attention inside each text, without an output map, (T, width) -> (T, heads x their width).

    biased: whether it has the bias of the batch, which the blocks' attentions share. theta, window: of its layer.
    """

    biased = False

    def __init__(
        self,
        width: int,
        heads: int,
        dropout: float,
        style: BlockStyle = BERT,
        *,
        theta: float = 0.0,
        window: int = 0,
        norm_eps: float = 0.0,
    ) -> None:
        super().__init__()
        self.heads, self.head_width = heads, style.head_width or width // heads
        self.dropout = dropout
        self.causal, self.theta, self.window = style.causal, theta, window
        sizes = (heads * self.head_width, *[(style.key_heads or heads) * self.head_width] * 2)
        self.query, self.key, self.value = (Linear(width, size, bias=style.bias) for size in sizes)
        self.query_norm = RootNorm(self.head_width, norm_eps) if style.head_norm else None
        self.key_norm = RootNorm(self.head_width, norm_eps) if style.head_norm else None

    def prepare(self, dtype: torch.dtype) -> None:
        """Use packed weights from now on, of query, key and value as one product."""
        super().prepare(dtype)
        for child in self.children():
            prepare_modules(child, dtype)

    def pack(self, dtype: torch.dtype, *_: nn.Module) -> PackedLinear:
        """Return query, key and value as one product."""
        maps = (self.query, self.key, self.value)
        bias = torch.cat([m.bias for m in maps]) if self.query.bias is not None else None
        return PackedLinear(torch.cat([m.weight for m in maps]), bias, "none", dtype)

    def forward(
        self, x: Tensor, batch: PackedBatch, context: Context | None = None, hook: KeyHook | None = None
    ) -> Tensor:
        """Attend; with a context its rows serve as further keys and values of each text."""
        query, key, value = self.project_heads(x, batch)
        keys = batch.lengths
        if context is not None:
            _, more_keys, more_values = self.project_heads(context.states)
            key = gather_rows(torch.cat([more_keys, key]), context.index)
            value = gather_rows(torch.cat([more_values, value]), context.index)
            keys = context.lengths
        if hook is not None:
            hook(key, value)
        return attend_packed(
            query,
            key,
            value,
            queries=batch.lengths,
            keys=keys,
            dropout=self.dropout if self.training else 0.0,
            bias=batch.bias if self.biased else None,
            window=self.window,
            causal=self.causal,
        ).flatten(1)

    def project_heads(self, x: Tensor, batch: PackedBatch | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, (T, heads, width) each, rotated by the positions in a batch."""
        query, key, value = (t.view(len(t), -1, self.head_width) for t in self.project(x, batch))
        if self.query_norm is not None and self.key_norm is not None:
            query, key = self.query_norm(query), self.key_norm(key)
        if self.theta and batch is not None:
            angles = batch.angles(self.head_width // 2, self.theta)
            query, key = rotate(query, angles), rotate(key, angles)
        if (sharing := self.heads // key.shape[1]) > 1:
            key, value = (t.repeat_interleave(sharing, dim=1) for t in (key, value))
        return query, key, value

    def project(self, x: Tensor, batch: PackedBatch | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values; in BERT's style each is of the shape of x."""
        if (packed := self.packed()) is None:
            return self.query(x, batch), self.key(x, batch), self.value(x, batch)
        maps = (self.query, self.key, self.value)
        products = torch.split(packed(x), [each.out_features for each in maps], dim=-1)
        query, key, value = (each.add_update(product, x, batch) for each, product in zip(maps, products, strict=True))
        return query, key, value


class Attention(SelfAttention):
    """Self-attention with an output map, (T, hidden) -> (T, hidden)."""

    biased = True

    def __init__(self, config: TransformerConfig, layer: int) -> None:
        style = config.style
        super().__init__(
            config.hidden,
            config.heads,
            config.attention_dropout,
            style,
            theta=style.thetas[layer] if style.thetas else 0.0,
            window=style.windows[layer] if style.windows else 0,
            norm_eps=config.norm_eps,
        )
        self.output = Linear(self.heads * self.head_width, config.hidden, bias=style.bias)

    def forward(
        self, x: Tensor, batch: PackedBatch, context: Context | None = None, hook: KeyHook | None = None
    ) -> Tensor:
        """Attend; with a context its rows serve as further keys and values of each text."""
        return self.output(super().forward(x, batch, context, hook), batch)  # type: ignore[no-any-return]


class Norm(PackableModule["tuple[Tensor, Tensor | None]"], nn.LayerNorm):
    """A LayerNorm with the signature of a slot.

    Packed for bfloat16 on a GPU, whose memory bounds it, it returns bfloat16 of sums in float32.
    """

    def pack(self, dtype: torch.dtype, *_: nn.Module) -> tuple[Tensor, Tensor | None]:
        """Return scale and shift."""
        return self.weight.detach().to(dtype), None if self.bias is None else self.bias.detach().to(dtype)

    def forward(self, x: Tensor, batch: PackedBatch | None = None) -> Tensor:  # noqa: ARG002
        """Map (T, hidden) to (T, hidden)."""
        if self.packing is torch.bfloat16 and x.is_cuda and (packed := self.packed()) is not None:
            return F.layer_norm(x.bfloat16(), list(self.normalized_shape), *packed, eps=self.eps)
        return super().forward(x)


class RootNorm(nn.RMSNorm):
    """A norm by the root mean square, with the signature of a slot."""

    def forward(self, x: Tensor, batch: PackedBatch | None = None) -> Tensor:  # noqa: ARG002
        """Map (..., width) to the same, in float32 inside."""
        return super().forward(x.float()).to(x.dtype)


def build_norm(config: TransformerConfig) -> nn.Module:
    """Return a norm of the model's width, in the style of its family."""
    if config.style.rms:
        return RootNorm(config.hidden, config.norm_eps)
    return Norm(config.hidden, eps=config.norm_eps, bias=config.style.norm_bias)


class FeedForward(nn.Module):
    """Two linear maps with an activation between them, (T, hidden) -> (T, hidden).

    gated: the first map gives two halves, of which the first, activated, is multiplied by the second.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.gated, self.activation, bias = config.style.gated, config.activation, config.style.bias
        inside = "none" if self.gated else config.activation
        self.expand = Linear(config.hidden, config.intermediate * (1 + self.gated), inside, bias=bias)
        self.contract = Linear(config.intermediate, config.hidden, bias=bias)

    def forward(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """Map each token independently."""
        inner = self.expand(x, batch)
        if self.gated:
            first, gate = inner.chunk(2, dim=-1)
            inner = ACTIVATIONS[self.activation](first) * gate
        return self.contract(inner, batch)  # type: ignore[no-any-return]


class Block(nn.Module):
    """One layer with its slots, which the module's docstring lists."""

    def __init__(self, config: TransformerConfig, layer: int) -> None:
        super().__init__()
        style, last = config.style, layer == config.layers - 1
        self.pre_norm = style.pre_norm
        self.attention: nn.Module = Attention(config, layer)
        self.attention_norm: nn.Module | None = build_norm(config) if layer or style.first_norm else None
        self.feed_forward: nn.Module = FeedForward(config)
        self.feed_forward_norm: nn.Module = build_norm(config)
        self.last_norm: nn.Module | None = build_norm(config) if style.pre_norm and last else None
        self.adapter: nn.Module | None = None
        self.side: nn.Module | None = None
        self.facets: nn.Module | None = None
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Tensor, batch: PackedBatch, context: Context | None = None, hook: LayerHook | None = None
    ) -> Tensor:
        """Map a layer's input to its output, (T, hidden) -> (T, hidden)."""
        more = () if context is None and hook is None else (context, hook and partial(hook, x))
        attended = self.attention(self.enter(self.attention_norm, x, batch), batch, *more)
        y = self.leave(self.attention_norm, x + self.dropout(attended), batch)
        change = self.dropout(self.feed_forward(self.enter(self.feed_forward_norm, y, batch), batch))
        if self.adapter is not None:
            change = change + self.adapter(self.leave(self.feed_forward_norm, y + change, batch), batch)
        if self.side is not None:
            change = change + self.side(x, batch)
        out = self.finish(self.leave(self.feed_forward_norm, y + change, batch), batch)
        return out if self.facets is None else self.facets(out, batch)

    def enter(self, norm: nn.Module | None, x: Tensor, batch: PackedBatch) -> Tensor:
        """Return the input of a sub-layer: normed where norms stand before it."""
        return norm(x, batch) if self.pre_norm and norm is not None else x

    def leave(self, norm: nn.Module | None, x: Tensor, batch: PackedBatch) -> Tensor:
        """Return the output of a sub-layer: normed where norms stand after it."""
        return x if self.pre_norm or norm is None else norm(x, batch)

    def finish(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """Return the block's output, which the last block of norms before sub-layers norms once more."""
        return x if self.last_norm is None else self.last_norm(x, batch)


class Embeddings(nn.Module):
    """Word, position and segment embeddings, summed and normalized."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.first_position = config.first_position
        self.word = build_embedding(config.vocabulary, config.hidden)
        self.position = None if config.style.thetas else build_embedding(config.positions, config.hidden)
        self.segment = build_embedding(config.types, config.hidden) if config.types else None
        self.front: nn.Module | None = None
        self.norm: nn.Module | None = build_norm(config) if config.style.embedding_norm else None
        self.dropout = Dropout(config.dropout)

    def forward(self, batch: PackedBatch) -> Tensor:
        """Return the first layer's input, (T, hidden)."""
        x = self.word(batch.ids)
        if self.front is not None:
            x = self.front(x, batch)
        if self.position is not None:
            x = x + self.places(batch)
        return self.finish(self.add_segment(x, batch.types))

    def places(self, batch: PackedBatch) -> Tensor:
        """Return the rows of the table of positions, (T, hidden)."""
        assert self.position is not None
        rows: Tensor = self.position(batch.positions + self.first_position)
        return rows

    def finish(self, x: Tensor) -> Tensor:
        """Return embeddings normed, with dropout."""
        return self.dropout(x if self.norm is None else self.norm(x))  # type: ignore[no-any-return]

    def add_segment(self, x: Tensor, types: Tensor | None = None) -> Tensor:
        """Add the segment embeddings, by default of the first segment, to x (..., hidden); a model may have none."""
        if self.segment is None:
            return x
        added: Tensor = self.segment.weight[0] if types is None else self.segment(types)
        return x + added


class Transformer(nn.Module):
    """An encoder over packed batches: token ids in, last hidden states, (T, hidden), out.

    gradient_checkpointing: compute blocks again in the backward pass. frozen_text: the method trains other
    modules alone, so the text has no dropout and its pass no gradient.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.layers))
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
        if contexts is not None and (self.relative is not None or self.config.style.thetas):
            raise InputError(
                "a backbone with relative or rotary positions cannot have prefixes or instructions; use another method"
            )
        x, batch = self._start(batch)
        for number, block in enumerate(self.blocks):
            x = self._run_block(block, x, batch, contexts[number] if contexts else None, hook)
        return x.float()

    def run_hook(self, batch: PackedBatch, hook: LayerHook) -> None:
        """Pass each layer's keys and values to the hook; the last layer computes only its projections."""
        last = self.blocks[-1]
        assert isinstance(last, Block) and isinstance(last.attention, SelfAttention)
        x = self._layer_input(batch, len(self.blocks), hook)
        _, key, value = last.attention.project_heads(last.enter(last.attention_norm, x, batch), batch)
        hook(x, key, value)

    def projections(self, batch: PackedBatch, layer: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values of a layer, counted from 1, (T, hidden) each; run no later one."""
        block = self.blocks[layer - 1]
        if self.context is not None or not isinstance(block.attention, SelfAttention):
            raise InputError("this method has no single set of queries, keys and values per layer")
        assert isinstance(block, Block)
        x = block.enter(block.attention_norm, self._layer_input(batch, layer), batch)
        return block.attention.project(x, batch)

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
