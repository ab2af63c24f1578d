"""The one transformer under every method: packed, routed, with a slot for each published change.

A block is BERT's (attention, feed-forward, each with a residual and a LayerNorm after it). Its slots:

    attention     shared, or one per route            SciMult attention experts
    feed_forward  shared, or one per route            SciMult feed-forward experts
    adapter       after the feed-forward              SciRepEval adapters and fusion
    side          beside the block                    SciRepEval PALs
    facets        on the block's output               Multi2SPE maps at CLS positions
    context       further keys and values per layer   SciMult prefix and instruction
    front         on the word embeddings              SciRepEval control codes, Multi2SPE CLS tokens
    beside        tokens that read the text           prism
    lexical       the words of a text in its vector   ours

Slots hold modules called as `module(x, batch)` and returning the shape of x; empty ones are None. The slot
`context` is the transformer's, for all layers at once: `module(model, batch)` returns a `Context` for each.
`beside` is its too: tokens that the text does not see, told the keys and values of every layer (`Watch`).
`lexical` makes vectors of what is pooled, and is a matter of the shape, as all methods may have it.
The slot `front` is the embeddings'. `shared` holds what modules of several layers have in common.
A block's last norm belongs to its feed-forward and may be routed with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import torch
from torch import Tensor, nn

from sciprism.encoders.attention import attend
from sciprism.encoders.dropout import Dropout, repeatable
from sciprism.encoders.lexical import Lexical
from sciprism.encoders.linear import Linear, PackedLinear
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.starts import table
from sciprism.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig:
    """The shape of a backbone, as its `config.json` states it.

    first_position: the index of a text's first token in the position table (0 for BERT; RoBERTa keeps
    the rows up to its padding id free, hence 2). lexical: directions of a vector that hold a text's words.
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

    def __post_init__(self) -> None:
        for name in ("vocabulary", "hidden", "layers", "heads", "intermediate", "positions", "types"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise InputError(f"{name} is {value!r}, not a whole number above 0")
        if self.hidden % self.heads:
            raise InputError(f"{self.heads} heads do not divide a width of {self.hidden}")
        if not isinstance(self.lexical, int) or not 0 <= self.lexical < self.hidden:
            raise InputError(f"lexical is {self.lexical!r}, not a number of directions below {self.hidden}")
        if not 0 <= self.padding_id < self.vocabulary or not 0 <= self.first_position < self.positions:
            raise InputError(f"padding id {self.padding_id} is outside the embedding tables")
        if not 0 < self.norm_eps < 1 or not 0 <= self.dropout < 1 or not 0 <= self.attention_dropout < 1:
            raise InputError("the norms' epsilon and the dropout rates are fractions")

    @property
    def max_length(self) -> int:
        """Return the longest text in tokens, special ones included."""
        return self.positions - self.first_position


@dataclass(frozen=True)
class Context:
    """What one layer's attention sees besides a text's own tokens.

    states: (C, hidden), context tokens as this layer's input; texts may share rows. index: text by text,
    which rows of [states; x] (C + T of them) are its keys and values. lengths: how many for each text.
    """

    states: Tensor
    index: Tensor
    lengths: tuple[int, ...]


class Watch(Protocol):
    """What goes through the layers beside the text."""

    def see(self, states: Tensor, key: Tensor, value: Tensor) -> None:
        """Take what the next layer begins with, (T, hidden), and its keys and values, (T, heads, width)."""
        ...


class Beside(nn.Module):
    """What the slot `beside` holds. frozen: the text is no part of what is trained, and passes as it is."""

    frozen: bool = False


@runtime_checkable
class Prepares(Protocol):
    """A slot's module that packs its weights for inference."""

    def prepare(self, dtype: torch.dtype) -> None:
        """Pack the present weights; called again after they change."""
        ...


class Routed(nn.Module):
    """One module per route; each sees only the texts of the batch that carry its route."""

    def __init__(self, experts: dict[str, nn.Module]) -> None:
        super().__init__()
        self.experts = nn.ModuleDict(experts)

    def forward(self, x: Tensor, batch: PackedBatch) -> Tensor:
        """Map (T, hidden) to (T, hidden); a route without a module is a KeyError."""
        parts = [self.experts[route](x[tokens], part) for route, tokens, part in batch.parts]
        return parts[0] if len(parts) == 1 else torch.cat(parts)


class Heads(nn.Module):
    """Multi-head attention inside each text without an output map, (T, width) -> (T, width)."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = Linear(width, width)
        self.key = Linear(width, width)
        self.value = Linear(width, width)
        self.packed: PackedLinear | None = None

    def prepare(self, dtype: torch.dtype) -> None:
        """Pack query, key and value as one product for inference."""
        maps = (self.query, self.key, self.value)
        weight, bias = torch.cat([m.weight for m in maps]), torch.cat([m.bias for m in maps])
        self.packed = PackedLinear(weight, bias, "none", dtype)

    def train(self, mode: bool = True) -> Self:
        """Drop what was packed where training begins: the weights are about to change."""
        self.packed = None if mode else self.packed
        return super().train(mode)

    def forward(
        self, x: Tensor, batch: PackedBatch, context: Context | None = None, watch: Watch | None = None
    ) -> Tensor:
        """Attend; with a context its rows serve as further keys and values of each text."""
        query, key, value = self.project(x)
        keys = batch.lengths
        if context is not None:
            _, more_keys, more_values = self.project(context.states)
            key = rows_of(torch.cat([more_keys, key]), context.index)
            value = rows_of(torch.cat([more_values, value]), context.index)
            keys = context.lengths
        query, key, value = (t.view(len(t), self.heads, -1) for t in (query, key, value))
        if watch is not None:
            watch.see(x, key, value)
        dropout = self.dropout if self.training else 0.0
        return attend(query, key, value, queries=batch.lengths, keys=keys, dropout=dropout).flatten(1)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, each of the shape of x."""
        if self.packed is not None and not torch.is_grad_enabled():
            query, key, value = self.packed(x).chunk(3, dim=-1)
            return query, key, value
        return self.query(x), self.key(x), self.value(x)


class Attention(Heads):
    """Multi-head attention inside each text, (T, hidden) -> (T, hidden)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config.hidden, config.heads, config.attention_dropout)
        self.output = Linear(config.hidden, config.hidden)

    def prepare(self, dtype: torch.dtype) -> None:
        """Pack query, key and value as one product for inference, and the output map."""
        super().prepare(dtype)
        self.output.pack(dtype)

    def forward(
        self, x: Tensor, batch: PackedBatch, context: Context | None = None, watch: Watch | None = None
    ) -> Tensor:
        """Attend; with a context its rows serve as further keys and values of each text."""
        return self.output(super().forward(x, batch, context, watch))  # type: ignore[no-any-return]


def rows_of(x: Tensor, index: Tensor) -> Tensor:
    """Return rows of x: the way that is three times as fast, or the one with a gradient of certain bits."""
    return x[index] if torch.is_grad_enabled() else x.index_select(0, index)


class Norm(nn.LayerNorm):
    """A LayerNorm that stands in a slot: each token by itself, whatever its batch."""

    def forward(self, x: Tensor, batch: PackedBatch | None = None) -> Tensor:  # noqa: ARG002
        """Map (T, hidden) to (T, hidden)."""
        return super().forward(x)


class FeedForward(nn.Module):
    """Two linear maps with the activation between them, (T, hidden) -> (T, hidden)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.expand = Linear(config.hidden, config.intermediate, config.activation)
        self.contract = Linear(config.intermediate, config.hidden)

    def prepare(self, dtype: torch.dtype) -> None:
        """Pack both maps for inference."""
        self.expand.pack(dtype)
        self.contract.pack(dtype)

    def forward(self, x: Tensor, batch: PackedBatch) -> Tensor:  # noqa: ARG002 - the slot's signature
        """Map every token by itself."""
        return self.contract(self.expand(x))  # type: ignore[no-any-return]


class Block(nn.Module):
    """One layer with its slots; see the module's table."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention: nn.Module = Attention(config)
        self.attention_norm = nn.LayerNorm(config.hidden, eps=config.norm_eps)
        self.feed_forward: nn.Module = FeedForward(config)
        self.feed_forward_norm: nn.Module = Norm(config.hidden, eps=config.norm_eps)
        self.adapter: nn.Module | None = None
        self.side: nn.Module | None = None
        self.facets: nn.Module | None = None
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Tensor, batch: PackedBatch, context: Context | None = None, watch: Watch | None = None
    ) -> Tensor:
        """Map a layer's input to its output, (T, hidden) -> (T, hidden)."""
        more = () if context is None and watch is None else (context, watch)
        mixed = self.attention(x, batch, *more)
        y = self.attention_norm(x + self.dropout(mixed))
        change = self.dropout(self.feed_forward(y, batch))
        if self.adapter is not None:
            change = change + self.adapter(self.feed_forward_norm(y + change, batch), batch)
        if self.side is not None:
            change = change + self.side(x, batch)
        out: Tensor = self.feed_forward_norm(y + change, batch)
        return out if self.facets is None else self.facets(out, batch)


class Embeddings(nn.Module):
    """Word, position and segment embeddings, summed and normalised."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.first_position = config.first_position
        self.word = table(config.vocabulary, config.hidden)
        self.position = table(config.positions, config.hidden)
        self.segment = table(config.types, config.hidden)
        self.front: nn.Module | None = None
        self.norm = nn.LayerNorm(config.hidden, eps=config.norm_eps)
        self.dropout = Dropout(config.dropout)

    def forward(self, batch: PackedBatch) -> Tensor:
        """Return the first layer's input, (T, hidden)."""
        words = self.word(batch.ids)
        if self.front is not None:
            words = self.front(words, batch)
        segment = self.segment.weight[0] if batch.types is None else self.segment(batch.types)
        x = words + self.position(batch.positions + self.first_position) + segment
        return self.dropout(self.norm(x))  # type: ignore[no-any-return]


class Transformer(nn.Module):
    """A BERT-shaped encoder over packed batches: token ids in, last hidden states (T, hidden) out."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.context: nn.Module | None = None
        self.beside: Beside | None = None
        self.shared: nn.Module | None = None
        self.lexical: Lexical | None = None
        if config.lexical:
            self.lexical = Lexical(config.vocabulary, config.hidden, config.lexical)
        self.recomputes = False

    def forward(
        self, batch: PackedBatch, contexts: Sequence[Context] | None = None, watch: Watch | None = None
    ) -> Tensor:
        """Return the last hidden states, (T, hidden).

        contexts: one for each layer, instead of the slot's. watch: is told each layer's keys and values.
        """
        if contexts is None and self.context is not None:
            contexts = self.context(self, batch)
        x = self.embeddings(batch)
        for number, block in enumerate(self.blocks):
            x = self._through(block, x, batch, contexts[number] if contexts else None, watch)
        return x  # type: ignore[no-any-return]

    def show(self, batch: PackedBatch, watch: Watch) -> None:
        """Tell each layer's keys and values to what watches; the last layer stops at its projections."""
        last = self.blocks[-1].attention
        assert isinstance(last, Heads)
        x = self._below(batch, len(self.blocks), watch)
        _, key, value = (t.view(len(t), last.heads, -1) for t in last.project(x))
        watch.see(x, key, value)

    def projections(self, batch: PackedBatch, layer: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values of a layer, counted from 1, each (T, hidden); layers above rest."""
        attention = self.blocks[layer - 1].attention
        if self.context is not None or not isinstance(attention, Heads):
            raise InputError("the layers of this method have no queries, keys and values of their own")
        return attention.project(self._below(batch, layer))

    def _below(self, batch: PackedBatch, layer: int, watch: Watch | None = None) -> Tensor:
        """Return the input of a layer, counted from 1, without a context."""
        x = self.embeddings(batch)
        for block in self.blocks[: layer - 1]:
            x = self._through(block, x, batch, None, watch)
        return x  # type: ignore[no-any-return]

    def _through(
        self, block: nn.Module, x: Tensor, batch: PackedBatch, context: Context | None, watch: Watch | None
    ) -> Any:
        """Return a block's output; with `recomputes` its inside is computed again on the way back.

        Not where something watches, which would be told twice.
        """
        if watch is not None or not (self.recomputes and self.training and torch.is_grad_enabled()):
            return block(x, batch, context, watch)
        from torch.utils.checkpoint import checkpoint

        return checkpoint(
            block, x, batch, context, use_reentrant=False, preserve_rng_state=False, context_fn=repeatable
        )

    def train(self, mode: bool = True) -> Self:
        """Say whether training goes on: nothing of a frozen text is dropped then."""
        super().train(mode)
        if self.beside is not None and self.beside.frozen:
            self.embeddings.eval()
            self.blocks.eval()
        return self

    def set_dropout(self, rate: float) -> None:
        """Drop hidden states and attention weights at this rate while training."""
        for module in self.modules():
            if isinstance(module, Dropout):
                module.rate = rate
            elif isinstance(module, Heads):
                module.dropout = rate

    def prepare(self, dtype: torch.dtype) -> Transformer:
        """Pack all weights for inference in `dtype`; hidden states between layers stay float32.

        What is packed is a snapshot: `train()` drops it, and after training this is called again.
        """
        shared = () if self.shared is None else self.shared.modules()
        beside = () if self.beside is None else self.beside.modules()
        for module in (*self.blocks.modules(), *shared, *beside, self.context):
            if isinstance(module, Prepares):
                module.prepare(dtype)
        if self.lexical is not None:
            self.lexical.tabulate(self.embeddings.word.weight)
        return self.eval()
