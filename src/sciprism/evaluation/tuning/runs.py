"""One fine-tuning run: a fresh copy of the weights, some epochs, and what the head then says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sciprism.encoders.dropout import drawn_from
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.inference import budget, each_batch
from sciprism.encoders.packing import PackedBatch, even_batches, pack, token_batches
from sciprism.errors import InputError
from sciprism.evaluation.tuning.examples import Example
from sciprism.evaluation.tuning.heads import Head
from sciprism.evaluation.tuning.settings import Setting, Tuning
from sciprism.seeding import random_bits
from sciprism.training.optimisers import optimiser_of, set_rate
from sciprism.training.passes import Memory, add_gradients, autocast, threads
from sciprism.training.recipe import Optimiser, Schedule
from sciprism.training.schedules import rate

Outputs = NDArray[np.float32]
PIECE = 2_048
GPU_PIECE = 16_384
"""Tokens of a batch that go through the encoder at once, at most: on a core, on a GPU."""


class Loss(Protocol):
    """What a head is trained by."""

    def __call__(self, outputs: Tensor, examples: Sequence[Example]) -> Tensor:
        """Return the sum of the losses of some examples."""
        ...


class DivergedRunError(Exception):
    """Say that a loss was not finite any more."""


class Start:
    """An encoder that is fine-tuned again and again, each time from the weights that it came with.

    Raises InputError for float16, whose small gradients would be lost.
    """

    def __init__(self, encoder: Encoder, route: str) -> None:
        if encoder.precision == "float16":
            raise InputError(f"{encoder.name} cannot be fine-tuned in float16; take bfloat16 or float32")
        self.encoder, self.route = encoder, route
        self._weights = {name: value.detach().clone() for name, value in encoder.model.state_dict().items()}
        self._trained = {name: p.requires_grad for name, p in encoder.model.named_parameters()}

    @contextmanager
    def fresh(self, width: int, dropout: float, seed: int) -> Iterator[Tuned]:
        """Give a run the encoder, all of it to be trained, and a new head; afterwards all is as it was."""
        model = self.encoder.model
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            head = Head(model.config.hidden, width, dropout).to(self.encoder.device)
        for parameter in model.parameters():
            parameter.requires_grad_(True)
        model.set_dropout(dropout)
        beside, frozen = model.beside, model.beside is not None and model.beside.frozen
        if beside is not None:
            beside.frozen = False
        try:
            yield Tuned(self.encoder, head, self.route)
        finally:
            if beside is not None:
                beside.frozen = frozen
            model.load_state_dict(self._weights)
            model.set_dropout(model.config.dropout)
            for name, parameter in model.named_parameters():
                parameter.requires_grad_(self._trained[name])
                parameter.grad = None
            self.encoder.prepare()


class Tuned:
    """An encoder and a head in training, and what they say."""

    def __init__(self, encoder: Encoder, head: Head, route: str) -> None:
        self.encoder, self.head, self.route = encoder, head, route
        self.modules = nn.ModuleDict({"model": encoder.model, "head": head})

    def train(
        self, examples: Sequence[Example], loss: Loss, setting: Setting, tuning: Tuning, seed: int
    ) -> int:
        """Take all epochs; return the steps. Raises DivergedRunError where a loss is not finite."""
        settings = Optimiser(lr=setting.rate, weight_decay=tuning.decay)
        optimiser = optimiser_of(self.modules.named_parameters(), settings, self.encoder.model.config.layers)
        schedule = Schedule(name="linear", warmup=tuning.warmup)
        each = math.ceil(len(examples) / setting.batch)
        self.modules.train()
        for step in range(each * setting.epochs):
            epoch, place = divmod(step, each)
            if not place:
                order = np.random.default_rng([seed, epoch]).permutation(len(examples))
            rows = order[place * setting.batch : (place + 1) * setting.batch]
            set_rate(optimiser, rate(schedule, step, each * setting.epochs, setting.rate))
            found = self._gradients([examples[row] for row in rows], loss, random_bits(seed, step) >> 8)
            if not math.isfinite(found):
                raise DivergedRunError(f"the loss is {found} at step {step}")
            if tuning.clip:
                nn.utils.clip_grad_norm_(self.modules.parameters(), tuning.clip)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        return each * setting.epochs

    def _gradients(self, examples: Sequence[Example], loss: Loss, seed: int) -> float:
        """Add the gradient of the mean loss of a batch, piece by piece; return the loss."""
        lengths = [len(example.ids) for example in examples]
        device = self.encoder.device
        pieces = even_batches(lengths, PIECE if device.type == "cpu" else GPU_PIECE, threads(device))
        parameters = [p for p in self.modules.parameters() if p.requires_grad]
        total = sum(len(example.targets) for example in examples)
        losses = [0.0] * len(pieces)

        def gradients(place: int) -> Sequence[Tensor | None]:
            own = [examples[row] for row in pieces[place]]
            with drawn_from(seed + place, self.encoder.device):
                part = loss(self._outputs(own), own) / max(1, total)
            losses[place] = float(part.detach())
            return torch.autograd.grad(part, parameters, allow_unused=True)

        add_gradients(parameters, len(pieces), gradients, self.encoder.device)
        return sum(losses)

    def outputs(self, examples: Sequence[Example]) -> list[Outputs]:
        """Return what the head says at the places of each example, (places, width), in the order given."""
        self.encoder.prepare()
        self.head.eval()
        found: list[Outputs] = [np.empty((0, 0), np.float32)] * len(examples)

        def work(piece: list[int]) -> None:
            own = [examples[row] for row in piece]
            with torch.inference_mode():
                rows = self._outputs(own).float().cpu().numpy()
            bounds = np.cumsum([len(example.places) for example in own])[:-1]
            for row, part in zip(piece, np.split(rows, bounds), strict=True):
                found[row] = part

        lengths = [len(example.ids) for example in examples]
        device = self.encoder.device
        each_batch(work, token_batches(lengths, budget(sum(lengths), device)), device)
        return found

    def _outputs(self, examples: Sequence[Example]) -> Tensor:
        batch = packed(examples, self.route, self.encoder.device)
        with autocast(Memory(tokens=PIECE, precision=self.encoder.precision), self.encoder.device):
            states = self.encoder.model(batch)
            return self.head(states, batch, [example.places for example in examples]).float()  # type: ignore[no-any-return]


def packed(examples: Sequence[Example], route: str, device: torch.device) -> PackedBatch:
    """Lay examples end to end, with their segments where a text has more than one."""
    batch = pack([example.ids for example in examples], route, device=device)
    if not any(example.types for example in examples):
        return batch
    types = [t for example in examples for t in example.types or [0] * len(example.ids)]
    return replace(batch, types=torch.tensor(types, dtype=torch.long, device=device))
