"""The layers of every model: linear maps at full speed on a CPU, BERT's initialization, seeded dropout.

On AMD processors with AVX-512 torch sends float32 products to MKL, which reaches half of the speed of oneDNN, in
the same wheel. Weights are reordered into oneDNN's layout once, and the activation is fused with the product. The
operators are those that torch's compiler emits; where a build of torch lacks them, or MKL is faster
(`mkl_is_faster`), `F.linear` computes the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from itertools import chain
from threading import RLock
from typing import Any, Generic, Self, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.arrays import mkl_is_faster
from sciprism.encoders.packing import PackedBatch

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
