"""What every model is built of: texts packed without padding, linear maps at full speed on a CPU, poolings.

On AMD processors with AVX-512 torch sends float32 products to MKL, which reaches half of the speed of oneDNN, in
the same wheel. Weights are reordered into oneDNN's layout once, and the activation is fused with the product. The
operators are those that torch's compiler emits; where a build of torch lacks them, or MKL is faster
(`mkl_is_faster`), `F.linear` computes the same numbers.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from heapq import heapreplace
from itertools import accumulate, chain, groupby
from threading import RLock
from typing import Any, Generic, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.arrays import mkl_is_faster
from sciprism.registry import Registry

MIN_TOKENS = 256
"""Of a batch that is made smaller so that several workers have one: below that its overhead exceeds the gain."""


@dataclass(frozen=True)
class PackedBatch:
    """Concatenated token ids of several texts, with the length and the route of each text.

    ids: (T,) with T = sum(lengths). lengths: one per text, in order. routes: one name per text, equal names
    next to each other, so that each route's tokens are one slice. types: (T,) segment ids; None for all zero.
    on_host: the ids in the host's memory, if they are there. bias: of attention scores by relative position, of all
    layers; (H, L, L) where L is the length of the longest text, or more.
    """

    ids: Tensor
    lengths: tuple[int, ...]
    routes: tuple[str, ...]
    types: Tensor | None = None
    on_host: Tensor | None = None
    bias: Tensor | None = None

    def __post_init__(self) -> None:
        if len(self.routes) != len(self.lengths):
            raise ValueError(f"{len(self.lengths)} texts but {len(self.routes)} routes")
        if len(list(groupby(self.routes))) != len(set(self.routes)):
            raise ValueError(f"texts of one route must be next to each other, got {self.routes}")

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """Return the start of each text, and last the total number of tokens: B + 1 numbers."""
        return (0, *accumulate(self.lengths))

    @cached_property
    def starts(self) -> Tensor:
        """Return the position of each text's first token (its CLS), (B,)."""
        return copy_integers(self.bounds[:-1], self.ids.device)

    @cached_property
    def sizes(self) -> Tensor:
        """Return the lengths as a tensor, (B,)."""
        return copy_integers(self.lengths, self.ids.device)

    def first_positions(self, count: int) -> Tensor:
        """Return the positions of each text's first tokens, (B, count); no text may be shorter."""
        return self.starts[:, None] + torch.arange(count, device=self.ids.device)

    @cached_property
    def positions(self) -> Tensor:
        """Return each token's position in its text, counted from 0, (T,)."""
        starts = torch.repeat_interleave(self.starts, self.sizes, output_size=len(self.ids))
        return torch.arange(len(self.ids), device=self.ids.device) - starts

    @cached_property
    def _angles(self) -> dict[tuple[int, float], tuple[Tensor, Tensor]]:
        return {}

    def angles(self, pairs: int, theta: float) -> tuple[Tensor, Tensor]:
        """Return cosine and sine of each position times theta^(-i / pairs), (T, 1, pairs), once for all layers."""
        if (pairs, theta) not in self._angles:
            with torch.inference_mode(False):
                rates = theta ** (-torch.arange(pairs, device=self.ids.device).float() / pairs)
                angles = (self.positions[:, None] * rates)[:, None]
                self._angles[pairs, theta] = angles.cos(), angles.sin()
        return self._angles[pairs, theta]

    @cached_property
    def by_route(self) -> tuple[tuple[str, slice, PackedBatch], ...]:
        """Return for each route its name, the slice of its tokens, and a batch of its texts."""
        parts = []
        text = 0
        for route, group in groupby(self.routes):
            end = text + len(list(group))
            tokens = slice(self.bounds[text], self.bounds[end])
            types = None if self.types is None else self.types[tokens]
            part = PackedBatch(self.ids[tokens], self.lengths[text:end], self.routes[text:end], types, bias=self.bias)
            parts.append((route, tokens, part))
            text = end
        return tuple(parts)


def pack(
    sequences: Sequence[Sequence[int]], routes: Sequence[str] | str = "all", *, device: torch.device | str = "cpu"
) -> PackedBatch:
    """Return a packed batch of token id sequences, in the order given."""
    lengths = tuple(len(sequence) for sequence in sequences)
    flat = array("q")
    for sequence in sequences:
        flat += array("q", sequence)
    names = (routes,) * len(lengths) if isinstance(routes, str) else tuple(routes)
    ids = torch.from_numpy(np.array(flat, np.int64))
    return PackedBatch(copy_tensor(ids, device), lengths, names, on_host=ids)


def copy_integers(values: Sequence[int], device: torch.device | str, dtype: torch.dtype = torch.long) -> Tensor:
    """Return whole numbers as a tensor on a device."""
    return copy_tensor(torch.from_numpy(np.array(values, np.int64)).to(dtype), device)


def copy_tensor(host: Tensor, device: torch.device | str) -> Tensor:
    """Return a tensor of the host on a device; from pinned memory, so that the host does not wait for the GPU."""
    if torch.device(device).type == "cuda":
        host = host.pin_memory()
    return host.to(device, non_blocking=True)


def token_batches(lengths: Sequence[int], budget: int, max_texts: int | None = None) -> Iterator[list[int]]:
    """Yield batches of at most `budget` tokens, longest texts first, as indices into `lengths`.

    The order is a pure function of the lengths, so equal input gives equal batches and equal bytes. A text
    longer than the budget is a batch by itself. max_texts: of a batch; None for no limit but the tokens.
    """
    batch: list[int] = []
    tokens = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and (tokens + lengths[index] > budget or len(batch) == max_texts):
            yield batch
            batch, tokens = [], 0
        batch.append(index)
        tokens += lengths[index]
    if batch:
        yield batch


def even_budget(lengths: Sequence[int], budget: int, workers: int) -> int:
    """Return the budget, at most the given one, by which `token_batches` gives each worker about as many tokens.

    It is an equal share and one text more, so that no short batch is left over, and at least `MIN_TOKENS`.
    """
    longest = max(lengths, default=0)
    batches = _count_batches(lengths, max(1, budget - longest), workers)
    return min(budget, max(MIN_TOKENS, math.ceil(sum(lengths) / batches) + longest))


def balanced_batches(lengths: Sequence[int], budget: int, workers: int) -> list[list[int]]:
    """Return batches of about `budget` tokens and equal size, a multiple of `workers` in number.

    The longest remaining text goes to the batch with the fewest tokens. Returns ascending indices into
    `lengths`; the order is a pure function of the lengths.
    """
    count = _count_batches(lengths, budget, workers)
    batches: list[list[int]] = [[] for _ in range(min(count, len(lengths)))]
    tokens = [(0, number) for number in range(len(batches))]
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        size, number = tokens[0]
        batches[number].append(index)
        heapreplace(tokens, (size + lengths[index], number))
    return [sorted(batch) for batch in batches]


def _count_batches(lengths: Sequence[int], budget: int, workers: int) -> int:
    """Return how many batches of at most `budget` tokens there are at least, a multiple of `workers`."""
    return workers * max(1, math.ceil(sum(lengths) / (workers * budget)))


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
    "tanh": torch.tanh,
    "silu": F.silu,
}
# oneDNN's name and algorithm for each activation it can fuse
FUSED = {"none": ("none", ""), "gelu": ("gelu", "none"), "gelu_tanh": ("gelu", "tanh"), "relu": ("relu", "")}


@cache
def onednn_works(dtype: torch.dtype) -> bool:
    """Return whether this build of torch has the prepacked oneDNN product, and it is correct."""
    x, weight = torch.ones(2, 4, dtype=dtype), torch.eye(4, dtype=dtype)[:3]
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(weight)
        got = torch.ops.mkldnn._linear_pointwise(x, packed, None, "none", [], "")
    except (AttributeError, RuntimeError, NotImplementedError):
        return False
    return bool(torch.equal(got, torch.ones(2, 3, dtype=dtype)))


ROW_STEP = 64
"""In half precision rows are filled up to a multiple: oneDNN compiles each new number, for AMX in 5 to 20 ms."""


class PackedLinear:
    """A linear layer for inference, activation(x W^T + b), (T, in) -> (T, out), computed in `dtype`."""

    def __init__(self, weight: Tensor, bias: Tensor | None, activation: str, dtype: torch.dtype) -> None:
        self.bias = None if bias is None else bias.detach().to(dtype)
        self.weight = weight.detach().to(dtype)
        self.activation = activation
        self.dtype = dtype
        plain = weight.device.type != "cpu" or (dtype is torch.float32 and mkl_is_faster())
        self.packed = not plain and activation in FUSED and onednn_works(dtype)
        if self.packed:
            self.weight = torch.ops.mkldnn._reorder_linear_weight(self.weight.contiguous())

    def __call__(self, x: Tensor) -> Tensor:
        """Map (T, in) of any precision to (T, out) in `dtype`."""
        rows = len(x)
        if self.packed and self.dtype is not torch.float32 and rows % ROW_STEP:
            filled = x.new_empty(rows + -rows % ROW_STEP, *x.shape[1:], dtype=self.dtype)
            filled[:rows], filled[rows:] = x, 0
            return self(filled)[:rows]
        x = x.to(self.dtype)
        if not self.packed:
            return ACTIVATIONS[self.activation](F.linear(x, self.weight, self.bias))
        name, algorithm = FUSED[self.activation]
        out: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, name, [], algorithm)
        return out


SAMPLED = 16  # values of a weight that are compared to see changes that torch does not count


class WeightsSnapshot:
    """The present weights of some modules, to see later whether they are still the same.

    A weight has changed if its memory is another, or torch counted a change in place. Changes through `weight.data`
    are not counted: on a CPU `SAMPLED` of its values are compared too.
    """

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        self._tables = [module._parameters for module in modules if module._parameters]
        self._weights = [weight.detach() for weight in self._iterate()]  # held: no other tensor gets their memory
        self._samples = [sample for sample in map(_sample, self._weights) if len(sample)]
        self._facts = self._read()

    def is_current(self) -> bool:
        """Return whether the modules have these weights, unchanged."""
        return self._read() == self._facts

    def _iterate(self) -> Iterator[Tensor]:
        return (weight for table in self._tables for weight in table.values() if weight is not None)

    def _read(self) -> list[Any]:
        facts: list[Any] = [values.tobytes() for values in self._samples]
        for weight in self._iterate():
            facts += weight.data_ptr(), 0 if weight.is_inference() else weight._version
        return facts


def _sample(weight: Tensor) -> Any:
    """Return a view of the bytes of some values, equally far apart; an empty one where they are not in CPU memory."""
    if weight.device.type != "cpu" or not weight.is_contiguous() or not weight.numel():
        return torch.empty(0).numpy()
    values = weight.view(-1, 1).view(torch.uint8).numpy()
    return values[:: max(1, len(values) // SAMPLED)]


Packed = TypeVar("Packed")
_PACKING = RLock()  # so that parallel batches do not each pack the same weights


class PackableModule(nn.Module, Generic[Packed]):
    """A module with a form of its weights for inference, from `prepare` until training begins.

    It is packed on first use, and again on the next use after a change of the weights. Copies and pickles do not
    contain it.
    """

    packing: torch.dtype | None = None
    _packed: tuple[WeightsSnapshot, Packed] | None = None

    def prepare(self, dtype: torch.dtype) -> None:
        """Use packed weights from now on, for products in `dtype`."""
        self.packing, self._packed = dtype, None

    def pack(self, dtype: torch.dtype, *others: nn.Module) -> Packed:
        """Return the form of the present weights, of this module and others, for products in `dtype`."""
        raise NotImplementedError

    def packed(self, *others: nn.Module) -> Packed | None:
        """Return what `pack` does, stored while the weights stay; None in training and where gradients are on."""
        if self.packing is None or torch.is_grad_enabled():
            return None
        if (stored := self._packed) is not None and stored[0].is_current():
            return stored[1]
        with _PACKING:
            if (stored := self._packed) is None or not stored[0].is_current():
                modules = chain(self.modules(), *(other.modules() for other in others))
                self._packed = stored = WeightsSnapshot(modules), self.pack(self.packing, *others)
        return stored[1]

    def train(self, mode: bool = True) -> Self:
        """Stop the use of packed weights where training begins."""
        if mode:
            self.packing = self._packed = None
        return super().train(mode)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_packed"}


def prepare_modules(module: nn.Module, dtype: torch.dtype) -> None:
    """Use packed weights in a module and all inside it from now on, for products in `dtype`."""
    if isinstance(module, PackableModule):
        module.prepare(dtype)
    else:
        for child in module.children():
            prepare_modules(child, dtype)


class Linear(PackableModule[PackedLinear], nn.Linear):
    """A trainable activation(x W^T + b), packed for inference after `prepare`.

    update: a slot, of what is added before the activation.
    """

    def __init__(self, inputs: int, outputs: int, activation: str = "none", *, bias: bool = True) -> None:
        super().__init__(inputs, outputs, bias)
        self.activation = activation
        self.update: nn.Module | None = None

    def prepare(self, dtype: torch.dtype) -> None:
        """Use packed weights from now on, of the update too."""
        super().prepare(dtype)
        if self.update is not None:
            prepare_modules(self.update, dtype)

    def pack(self, dtype: torch.dtype, *_: nn.Module) -> PackedLinear:
        """Return the layer of the present weights; without its activation where an update comes before that."""
        return PackedLinear(self.weight, self.bias, self.activation if self.update is None else "none", dtype)

    def forward(self, x: Tensor, batch: PackedBatch | None = None) -> Tensor:
        """Map (..., in) to (..., out)."""
        packed = self.packed()
        if packed is not None and self.update is None:
            return packed(x)
        product = super().forward(x) if packed is None else packed(x)
        return ACTIVATIONS[self.activation](self.add_update(product, x, batch))

    def add_update(self, product: Tensor, x: Tensor, batch: PackedBatch | None) -> Tensor:
        """Return the product of x with the update that x has on the routes of a batch."""
        return product if self.update is None else product + self.update(x, batch)


T = TypeVar("T", bound=nn.Linear | nn.Embedding)
DEVIATION = 0.02


def initialize_weights(module: T) -> T:
    """Return the module with normal weights, by torch's global generator, of deviation 0.02, and zero bias."""
    if module.weight.is_meta:
        return module  # nothing to fill, and torch would import its compiler (1 s)
    nn.init.normal_(module.weight, std=DEVIATION)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
    return module


def build_embedding(rows: int, width: int) -> nn.Embedding:
    """Return an embedding table with BERT's initialization."""
    return initialize_weights(nn.Embedding(rows, width, _weight=torch.empty(rows, width)))


def initialize_linears(module: nn.Module) -> None:
    """Initialize every linear map inside a module."""
    for linear in module.modules():
        if isinstance(linear, nn.Linear):
            initialize_weights(linear)


_generator: ContextVar[torch.Generator | None] = ContextVar("generator", default=None)


def seeded_dropout(seed: int, device: torch.device) -> AbstractContextManager[None]:
    """Make every dropout of this thread sample from one generator, seeded here."""
    return _use_generator(torch.Generator(device).manual_seed(seed))


def replay_dropout() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Return two contexts: one for a forward pass, one in which its dropouts sample the same again."""
    generator = _generator.get()
    if generator is None:
        return nullcontext(), nullcontext()
    return nullcontext(), _use_generator(torch.Generator(generator.device).set_state(generator.get_state()))


@contextmanager
def _use_generator(generator: torch.Generator) -> Iterator[None]:
    """Sample from a generator; a GPU's kernels know only the default one, which has its state in the block."""
    before: Tensor | None = None
    if generator.device.type == "cuda":
        default = torch.cuda.default_generators[generator.device.index or 0]
        before, state, generator = default.get_state(), generator.get_state(), default
        default.set_state(state)
    token = _generator.set(generator)
    try:
        yield
    finally:
        _generator.reset(token)
        if before is not None:
            generator.set_state(before)


def drop(x: Tensor, rate: float) -> Tensor:
    """Set elements to zero with the probability `rate` and scale the others by 1 / (1 - rate)."""
    if rate == 0.0:
        return x
    if x.is_cuda:  # one kernel; it samples from the default generator
        return F.dropout(x, rate)
    mask = sample_mask(x, rate)
    if x.dtype is torch.float32:
        return x * mask.div_(1 - rate)
    return x * mask / (1 - rate)  # half precision would round the factor


def sample_mask(x: Tensor, rate: float) -> Tensor:
    """Return a tensor like x on a CPU, 0 with the probability `rate`, rounded to 1/65,536, and 1 else.

    A quarter of a random 64-bit number decides each element: `bernoulli_` takes seven times as long.
    """
    words = torch.empty(-(-x.numel() // 4), dtype=torch.int64)
    words.random_(torch.iinfo(torch.int64).min, None, generator=_generator.get())
    quarters = words.view(torch.int16)[: x.numel()].view(x.shape)
    return (quarters >= round(rate * 65_536) - 32_768).to(x.dtype)


class Dropout(nn.Module):
    """`drop` in training mode, the identity otherwise."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Return x with elements dropped, in the shape of x."""
        return drop(x, self.rate) if self.training else x


SHARE = 0.5  # length of the lexical part where the dense part has length 1
MIN_LENGTH = 1.0
"""Shorter sums of a text's words are not normalized to length 1: "the" and "of" alone say nothing."""


Pooling = Callable[[Tensor, PackedBatch, int], Tensor]
"""Reduces the states of each text, (T, hidden), to one row, (B, hidden), in the batch's order.

The number is that of the positions that the method reserves after each text's first token.
"""
poolings: Registry[Pooling] = Registry("pooling")


@poolings.register("cls")
def cls(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the state of each text's first token."""
    return states[batch.starts]


@poolings.register("mean")
def mean(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the mean of all tokens of each text, special ones included, as sentence-transformers does."""
    return torch.segment_reduce(states, "mean", lengths=batch.sizes, unsafe=True)


@poolings.register("last")
def last(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the state of each text's last token."""
    return states[batch.starts + batch.sizes - 1]


@poolings.register("code")
def code(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the state of each text's second token, the control code (SciRepEval)."""
    if min(batch.lengths) < 2:
        raise ValueError("a text of 1 token has no code")
    return states[batch.starts + 1]


@poolings.register("facets")
def facets(states: Tensor, batch: PackedBatch, reserved: int = 0) -> Tensor:
    """Return the sum of the states of each text's first token and reserved positions (Multi2SPE)."""
    return facet_states(states, batch, reserved).sum(dim=1)


def facet_states(states: Tensor, batch: PackedBatch, reserved: int) -> Tensor:
    """Return the states of first token and reserved positions of each text, (B, 1 + reserved, hidden)."""
    return states[batch.first_positions(reserved + 1)]


class LexicalFeatures(PackableModule[Tensor]):
    """Some dimensions of a vector encode a text's words, the others its meaning.

    Ours, after hybrid search, which adds a dense and a lexical score. The vectors of most encoders vary little in
    many directions and rank nearly the same without them. The features replace those with the text's weighted
    words, among them rare names that a small network forgets. The sum of both scores is then one inner product,
    at the same width.

    weight: of each token of the vocabulary, (V,). centre: subtracted from the word embeddings, (hidden,).
    words: from a word embedding to the lexical part, of `width` dimensions. dense: from pooled states to the
    dense part, of the others. share: length of the lexical part; the dense part has length 1.
    """

    def __init__(self, vocabulary: int, hidden: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(vocabulary))
        self.centre = nn.Parameter(torch.zeros(hidden))
        self.words = nn.Linear(hidden, width, bias=False)
        self.dense = nn.Linear(hidden, hidden - width, bias=False)
        self.share = nn.Parameter(torch.full((1,), SHARE))

    def pack(self, dtype: torch.dtype, *others: nn.Module) -> Tensor:  # noqa: ARG002 - float32
        """Return each token's features, (V, width)."""
        (table,) = others
        assert isinstance(table, nn.Embedding)
        return self.words((table.weight - self.centre) * self.weight[:, None])  # type: ignore[no-any-return]

    def forward(self, pooled: Tensor, table: nn.Embedding, batch: PackedBatch) -> Tensor:
        """Map vectors of a batch's texts, (B, hidden) or (B, R, hidden), to the same shape.

        table: the word embeddings, (V, hidden).
        """
        lexical = self.share * F.normalize(self.lexical_vectors(table, batch).float(), dim=-1, eps=MIN_LENGTH)
        dense = F.normalize(self.dense(pooled).float(), dim=-1)
        lexical = lexical.view(len(lexical), *(1,) * (pooled.dim() - 2), -1).expand(*pooled.shape[:-1], -1)
        return torch.cat([dense, lexical], dim=-1)

    def lexical_vectors(self, table: nn.Embedding, batch: PackedBatch) -> Tensor:
        """Return the sum of the features of each text's tokens, (B, width)."""
        if (packed := self.packed(table)) is not None:
            return F.embedding_bag(batch.ids, packed, batch.starts, mode="sum")
        rows = (table(batch.ids) - self.centre) * self.weight[batch.ids, None]
        bags: Tensor = self.words(torch.segment_reduce(rows, "sum", lengths=batch.sizes, unsafe=True))
        return bags
