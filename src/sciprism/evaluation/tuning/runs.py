"""One fine-tuning run: the original weights, some epochs, then the outputs of the head."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import seeded_dropout
from sciprism.encoders.packing import PackedBatch, balanced_batches, pack, token_batches
from sciprism.encoders.streaming import run_batches, token_budget
from sciprism.errors import InputError
from sciprism.evaluation.tuning.examples import TuningExample
from sciprism.evaluation.tuning.heads import LinearHead
from sciprism.evaluation.tuning.settings import Hyperparameters, Tuning
from sciprism.seeding import random_bits
from sciprism.training.optimizers import OptimizerSettings, Schedule, build_optimizer, learning_rate, set_learning_rate
from sciprism.training.passes import PassSettings, add_gradients, autocast, count_threads

Outputs = NDArray[np.float32]
CHUNK_TOKENS = 2_048
GPU_CHUNK_TOKENS = 16_384
"""Maximum number of tokens of a forward pass: on a CPU core, on a GPU."""


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
        self,
        examples: Sequence[TuningExample],
        loss: TuningLoss,
        setting: Hyperparameters,
        tuning: Tuning,
        seed: int,
    ) -> int:
        """Train for all epochs; return the steps. Raises DivergedRunError where a loss is not finite."""
        settings = OptimizerSettings(lr=setting.rate, weight_decay=tuning.decay)
        optimizer = build_optimizer(self.modules.named_parameters(), settings, self.encoder.model.config.layers)
        schedule = Schedule(name="linear", warmup=tuning.warmup)
        each = math.ceil(len(examples) / setting.batch)
        self.modules.train()
        for step in range(each * setting.epochs):
            epoch, batch = divmod(step, each)
            if not batch:
                order = np.random.default_rng([seed, epoch]).permutation(len(examples))
            rows = order[batch * setting.batch : (batch + 1) * setting.batch]
            set_learning_rate(optimizer, learning_rate(schedule, step, each * setting.epochs, setting.rate))
            found = self._gradients([examples[row] for row in rows], loss, random_bits(seed, step) >> 8)
            if not math.isfinite(found):
                raise DivergedRunError(f"the loss is {found} at step {step}")
            if tuning.clip:
                nn.utils.clip_grad_norm_(self.modules.parameters(), tuning.clip)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return each * setting.epochs

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
            own = [examples[row] for row in chunks[number]]
            with seeded_dropout(seed + number, self.encoder.device):
                part = loss(self._outputs(own), own) / max(1, total)
            losses[number] = float(part.detach())
            return torch.autograd.grad(part, parameters, allow_unused=True)

        add_gradients(parameters, len(chunks), gradients, self.encoder.device)
        return sum(losses)

    def outputs(self, examples: Sequence[TuningExample]) -> list[Outputs]:
        """Return the outputs at the positions of each example, (positions, width), in the order given."""
        self.encoder.prepare()
        self.head.eval()
        found: list[Outputs] = [np.empty((0, 0), np.float32)] * len(examples)

        def work(chunk: list[int]) -> None:
            own = [examples[row] for row in chunk]
            with torch.inference_mode():
                rows = self._outputs(own).float().cpu().numpy()
            bounds = np.cumsum([len(example.positions) for example in own])[:-1]
            for row, part in zip(chunk, np.split(rows, bounds), strict=True):
                found[row] = part

        lengths = [len(example.ids) for example in examples]
        device = self.encoder.device
        run_batches(work, token_batches(lengths, token_budget(sum(lengths), device)), device)
        return found

    def _outputs(self, examples: Sequence[TuningExample]) -> Tensor:
        batch = pack_examples(examples, self.route, self.encoder.device)
        with autocast(PassSettings(chunk_tokens=CHUNK_TOKENS, precision=self.encoder.precision), self.encoder.device):
            states = self.encoder.model(batch)
            return self.head(states, batch, [example.positions for example in examples]).float()  # type: ignore[no-any-return]


def pack_examples(examples: Sequence[TuningExample], route: str, device: torch.device) -> PackedBatch:
    """Return examples as one packed batch, with segment ids where a text has more than one."""
    batch = pack([example.ids for example in examples], route, device=device)
    if not any(example.types for example in examples):
        return batch
    types = [t for example in examples for t in example.types or [0] * len(example.ids)]
    return replace(batch, types=torch.tensor(types, dtype=torch.long, device=device))
