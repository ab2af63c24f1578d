"""One fine-tuning run: its settings, the original weights under a linear head, some epochs, then the head's outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from itertools import accumulate, product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import Dropout, Linear, initialize_weights, seeded_dropout
from sciprism.encoders.packing import PackedBatch, balanced_batches, pack, token_batches
from sciprism.encoders.streaming import run_batches, token_budget
from sciprism.errors import InputError
from sciprism.evaluation.tuning.examples import TuningExample
from sciprism.seeding import random_bits
from sciprism.training.optimizers import OptimizerSettings, Schedule, build_optimizer, learning_rate, set_learning_rate
from sciprism.training.steps import PassSettings, add_gradients, autocast, count_threads

AXES = {"rate": "rates", "batch": "batches", "epochs": "epochs"}
"""Name of an axis of the grid on the command line -> field of `Tuning`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperparameters:
    """One point of the grid. rate: the peak learning rate. batch: examples per step."""

    rate: float
    batch: int
    epochs: int

    def __str__(self) -> str:
        return f"rate {self.rate:g}, batch {self.batch}, epochs {self.epochs}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """A grid of hyperparameters, and what all runs share (Gu et al. 2021, section 3).

    warmup: share of the steps with a rising learning rate, which then falls to 0. dropout: of states and
    attention. decay: weight decay, not of biases and norms. clip: maximum gradient norm, 0 for any. seeds:
    runs of the chosen setting, whose scores are averaged.
    """

    rates: tuple[float, ...] = (1e-5, 3e-5, 5e-5)
    batches: tuple[int, ...] = (16, 32)
    epochs: tuple[int, ...] = (10,)
    warmup: float = 0.1
    dropout: float = 0.1
    decay: float = 0.01
    clip: float = 1.0
    seeds: int = 1

    def __post_init__(self) -> None:
        for name in AXES.values():
            values = getattr(self, name)
            if not values or min(values) <= 0 or len(set(values)) < len(values):
                raise InputError(f"fine-tuning: {name} are {values}; give different numbers above 0")
        if not (0 <= self.warmup < 1 and 0 <= self.dropout < 1 and self.decay >= 0 and self.clip >= 0):
            raise InputError("fine-tuning: warmup and dropout are shares below 1, decay and clip not negative")
        if self.seeds < 1:
            raise InputError(f"fine-tuning: {self.seeds} seeds; at least 1 is needed")

    @property
    def grid(self) -> tuple[Hyperparameters, ...]:
        """Return all points of the grid."""
        return tuple(
            Hyperparameters(rate=rate, batch=batch, epochs=epochs)
            for rate, batch, epochs in product(self.rates, self.batches, self.epochs)
        )

    def with_grid(self, axes: Mapping[str, Sequence[float]]) -> Tuning:
        """Return a copy with other values on some axes: rate, batch, epochs. Raises InputError."""
        unknown = sorted(set(axes) - set(AXES))
        if unknown:
            raise InputError(f"unknown axis of the grid {unknown[0]!r}; known: {', '.join(AXES)}")
        changed: dict[str, tuple[float, ...]] = {}
        for name, values in axes.items():
            if name != "rate" and any(value != int(value) for value in values):
                raise InputError(f"grid: {name} takes whole numbers, not {list(values)}")
            changed[AXES[name]] = tuple(values) if name == "rate" else tuple(int(value) for value in values)
        return replace(self, **changed)  # type: ignore[arg-type]

    @property
    def shared(self) -> dict[str, float]:
        """Return the settings that all runs share, as JSON values."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in (*AXES.values(), "seeds")}


class LinearHead(nn.Module):
    """Dropout, then a linear map (BLURB's heads), (n, hidden) -> (n, width)."""

    def __init__(self, hidden: int, width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.map = initialize_weights(Linear(hidden, width))

    def forward(self, states: Tensor, batch: PackedBatch, positions: Sequence[Sequence[int]]) -> Tensor:
        """Map the states at the positions of each text, all texts end to end."""
        rows = [start + at for start, offsets in zip(batch.bounds, positions, strict=False) for at in offsets]
        index = torch.tensor(rows, dtype=torch.long, device=states.device)
        return self.map(self.dropout(states.index_select(0, index)))  # type: ignore[no-any-return]


def class_loss(outputs: Tensor, targets: Sequence[int]) -> Tensor:
    """Return the sum of cross-entropies, 0 of none. outputs: (n, c). targets: n classes."""
    wanted = torch.tensor(targets, dtype=torch.long, device=outputs.device)
    return F.cross_entropy(outputs, wanted, reduction="sum")


def label_loss(outputs: Tensor, targets: Sequence[Sequence[float]]) -> Tensor:
    """Return the sum over texts of the mean binary cross-entropy of c labels. outputs: (n, c)."""
    wanted = torch.tensor(targets, dtype=outputs.dtype, device=outputs.device)
    return F.binary_cross_entropy_with_logits(outputs, wanted, reduction="sum") / outputs.shape[1]


def regression_loss(outputs: Tensor, targets: Sequence[float]) -> Tensor:
    """Return the sum of squared errors. outputs: (n, 1)."""
    wanted = torch.tensor(targets, dtype=outputs.dtype, device=outputs.device)
    return (outputs[:, 0] - wanted).square().sum()


def span_loss(outputs: Tensor, counts: Sequence[int], targets: Sequence[Sequence[int]]) -> Tensor:
    """Return the sum over windows of the mean cross-entropy of start and end.

    outputs: (sum of counts, 2). counts: positions of each window. targets: start and end among them.
    """
    bounds = (0, *accumulate(counts))
    losses = [
        F.cross_entropy(outputs[a:b].T, torch.tensor(target, device=outputs.device))
        for a, b, target in zip(bounds, bounds[1:], targets, strict=False)
    ]
    return torch.stack(losses).sum()


Outputs = NDArray[np.float32]
CHUNK_TOKENS = 2_048
GPU_CHUNK_TOKENS = 16_384  # maximum number of tokens of a forward pass: on a CPU core, on a GPU


TuningLoss = Callable[[Tensor, Sequence[TuningExample]], Tensor]
"""Outputs of the head and their examples -> the sum of the losses."""


class DivergedRunError(Exception):
    """Report a loss that is not finite."""


class TunableEncoder:
    """An encoder that is fine-tuned repeatedly, each time from its original weights.

    Raises InputError for float16, whose small gradients would be lost.
    """

    def __init__(self, encoder: Encoder, route: str) -> None:
        if encoder.precision == "float16":
            raise InputError(f"{encoder.name} cannot be fine-tuned in float16; take bfloat16 or float32")
        self.encoder, self.route = encoder, route
        self._weights = {name: value.detach().clone() for name, value in encoder.model.state_dict().items()}
        self._trained = {name: p.requires_grad for name, p in encoder.model.named_parameters()}

    @contextmanager
    def start_run(self, width: int, dropout: float, seed: int) -> Iterator[TuningRun]:
        """Yield a run with a new head and all weights trainable; restore the encoder afterwards."""
        model = self.encoder.model
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            head = LinearHead(model.config.hidden, width, dropout).to(self.encoder.device)
        for parameter in model.parameters():
            parameter.requires_grad_(True)
        model.set_dropout(dropout)
        frozen, model.frozen_text = model.frozen_text, False
        try:
            yield TuningRun(self.encoder, head, self.route)
        finally:
            model.frozen_text = frozen
            model.load_state_dict(self._weights)
            model.set_dropout(model.config.dropout)
            for name, parameter in model.named_parameters():
                parameter.requires_grad_(self._trained[name])
                parameter.grad = None
            self.encoder.prepare()


class TuningRun:
    """An encoder and a head in training, and their outputs."""

    def __init__(self, encoder: Encoder, head: LinearHead, route: str) -> None:
        self.encoder, self.head, self.route = encoder, head, route
        self.modules = nn.ModuleDict({"model": encoder.model, "head": head})

    def train(
        self, examples: Sequence[TuningExample], loss: TuningLoss, setting: Hyperparameters, tuning: Tuning, seed: int
    ) -> int:
        """Train for all epochs; return the steps. Raises DivergedRunError where a loss is not finite."""
        settings = OptimizerSettings(lr=setting.rate, weight_decay=tuning.decay)
        optimizer = build_optimizer(self.modules.named_parameters(), settings, self.encoder.model.config.layers)
        schedule = Schedule(name="linear", warmup=tuning.warmup)
        steps = math.ceil(len(examples) / setting.batch)
        self.modules.train()
        for step in range(steps * setting.epochs):
            epoch, batch = divmod(step, steps)
            if not batch:
                order = np.random.default_rng([seed, epoch]).permutation(len(examples))
            rows = order[batch * setting.batch : (batch + 1) * setting.batch]
            set_learning_rate(optimizer, learning_rate(schedule, step, steps * setting.epochs, setting.rate))
            gradients = self._gradients([examples[row] for row in rows], loss, random_bits(seed, step) >> 8)
            if not math.isfinite(gradients):
                raise DivergedRunError(f"the loss is {gradients} at step {step}")
            if tuning.clip:
                nn.utils.clip_grad_norm_(self.modules.parameters(), tuning.clip)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return steps * setting.epochs

    def _gradients(self, examples: Sequence[TuningExample], loss: TuningLoss, seed: int) -> float:
        """Add the gradient of the mean loss of a batch, chunk by chunk; return the loss."""
        lengths = [len(example.ids) for example in examples]
        device = self.encoder.device
        chunks = balanced_batches(
            lengths, CHUNK_TOKENS if device.type == "cpu" else GPU_CHUNK_TOKENS, count_threads(device)
        )
        parameters = [p for p in self.modules.parameters() if p.requires_grad]
        total = sum(len(example.targets) for example in examples)
        losses = [0.0] * len(chunks)

        def gradients(number: int) -> Sequence[Tensor | None]:
            members = [examples[row] for row in chunks[number]]
            with seeded_dropout(seed + number, self.encoder.device):
                part = loss(self._outputs(members), members) / max(1, total)
            losses[number] = float(part.detach())
            return torch.autograd.grad(part, parameters, allow_unused=True)

        add_gradients(parameters, len(chunks), gradients, self.encoder.device)
        return sum(losses)

    def outputs(self, examples: Sequence[TuningExample]) -> list[Outputs]:
        """Return the outputs at the positions of each example, (positions, width), in the order given."""
        self.encoder.prepare()
        self.head.eval()
        outputs: list[Outputs] = [np.empty((0, 0), np.float32)] * len(examples)

        def work(chunk: list[int]) -> None:
            members = [examples[row] for row in chunk]
            with torch.inference_mode():
                rows = self._outputs(members).float().cpu().numpy()
            bounds = np.cumsum([len(example.positions) for example in members])[:-1]
            for row, part in zip(chunk, np.split(rows, bounds), strict=True):
                outputs[row] = part

        lengths = [len(example.ids) for example in examples]
        device = self.encoder.device
        run_batches(work, token_batches(lengths, token_budget(sum(lengths), device)), device)
        return outputs

    def _outputs(self, examples: Sequence[TuningExample]) -> Tensor:
        device = self.encoder.device
        batch = pack([example.ids for example in examples], self.route, device=device)
        if any(example.types for example in examples):  # segments: some texts have more than one
            types = [t for example in examples for t in example.types or [0] * len(example.ids)]
            batch = replace(batch, types=torch.tensor(types, dtype=torch.long, device=device))
        with autocast(PassSettings(chunk_tokens=CHUNK_TOKENS, precision=self.encoder.precision), device):
            states = self.encoder.model(batch)
            return self.head(states, batch, [example.positions for example in examples]).float()  # type: ignore[no-any-return]
