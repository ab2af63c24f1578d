"""Score a task by fine-tuning: grid search on dev with the first seed, then one run per seed.

Texts become examples with the positions that a head reads. A run puts a linear head on the original weights, trains
for some epochs, and returns the head's outputs.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import accumulate, product, starmap
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from tokenizers import Encoding, Tokenizer, normalizers
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.arrays import Rows
from sciprism.datasets.inputs import PairInput, SpanInput, TaggingInput
from sciprism.drop_report import DropReport
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import (
    Dropout,
    Linear,
    PackedBatch,
    balanced_batches,
    initialize_weights,
    pack,
    seeded_dropout,
)
from sciprism.encoders.streaming import run_batches
from sciprism.errors import InputError, ShownWarning
from sciprism.evaluation.item_scores import ItemScores, estimate
from sciprism.evaluation.systems import DenseSystem, NotServedError, System
from sciprism.evaluation.task import EvaluationContext, Positive, ProtocolResult
from sciprism.files import read_sealed, write_sealed_json
from sciprism.seeding import random_bits
from sciprism.training.optimizers import OptimizerSettings, Schedule, build_optimizer, learning_rate, set_learning_rate
from sciprism.training.steps import PassSettings, add_gradients, autocast, count_threads

Offsets = NDArray[np.int64]
TargetKind = Literal["class", "labels", "number"]


@dataclass(frozen=True, slots=True)
class TuningExample:
    """Token ids of one text, or of one window of a long text.

    row: row of the data. types: segment ids; empty: all are zero. positions: positions in `ids` whose states the
    head reads. targets: one per position, or one for the text. names: one per position: the number of its word,
    or the character offsets of its token. idle: the example is predicted, but not used for training.
    """

    row: int
    ids: Sequence[int]
    types: Sequence[int]
    positions: Sequence[int]
    targets: Sequence[Any]
    names: Sequence[Any] | Offsets = ()
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """Token ids of a window, with the segment (0, 1; -1 for special tokens) and characters (n, 2) of each."""

    ids: list[int]
    types: list[int]
    segments: NDArray[np.int64]
    offsets: Offsets

    def segment_positions(self, segment: int) -> NDArray[np.int64]:
        """Return the positions of a segment's tokens that have characters."""
        return np.flatnonzero((self.segments == segment) & (self.offsets[:, 1] > self.offsets[:, 0]))


class WindowTokenizer:
    """An encoder's tokenizer for fine-tuning: pairs of texts, windows, and the characters of each token.

    length: tokens of one window, with special ones; at most the model's positions and the `max_length` that
    it was loaded with. The overlap of windows shrinks in proportion.
    """

    def __init__(self, encoder: Encoder, length: int) -> None:
        self._reserved = encoder.method.reserved_positions
        self._filler = [encoder.model.config.padding_id] * self._reserved
        self._full_length = length
        most = min(encoder.model.config.max_length, int(encoder.options.get("max_length", length)))
        self.length = min(length, most) - self._reserved
        self._typed = encoder.model.config.types > 1
        self._tokenizer = Tokenizer.from_str(encoder.tokenizer.to_str())
        self._tokenizer.no_padding()
        if encoder.settings.template.lowercase:  # by the tokenizer, so that offsets are those of the text
            normalizer = self._tokenizer.normalizer
            steps = [normalizers.Lowercase(), *([normalizer] if normalizer else [])]
            self._tokenizer.normalizer = normalizers.Sequence(steps)

    def truncate(self, text: tuple[str, ...]) -> tuple[Window, bool]:
        """Return one window of a text or pair, the longer one truncated first, and whether it was."""
        self._tokenizer.enable_truncation(self.length, strategy="longest_first")
        encoding = self._encode(text)
        return self._window(encoding), bool(encoding.overflowing)

    def overlap(self, stride: int) -> int:
        """Return the tokens that neighbouring windows share; `stride` is that of windows of full length."""
        if not 0 <= stride < self._full_length // 2:
            raise InputError(f"windows of {self._full_length} tokens cannot share {stride}; at most half of them")
        return stride * self.length // self._full_length

    def windows(self, *texts: str, stride: int) -> list[Window]:
        """Return windows over the last of one or two texts, each after the whole first one.

        Neighbours share `stride` tokens, fewer in shorter windows.
        """
        strategy = "longest_first" if len(texts) == 1 else "only_second"
        self._tokenizer.enable_truncation(self.length, stride=self.overlap(stride), strategy=strategy)
        encoding = self._encode(texts)
        return [self._window(part) for part in (encoding, *encoding.overflowing)]

    def shorten(self, text: str, tokens: int) -> str:
        """Return a text truncated to a number of tokens."""
        self._tokenizer.no_truncation()
        offsets = self._encode((text,), special=False).offsets
        return text if len(offsets) <= tokens else text[: offsets[tokens - 1][1]]

    def _encode(self, texts: tuple[str, ...], special: bool = True) -> Encoding:
        first, second = (*texts, None)[:2]
        try:
            return self._tokenizer.encode(first, second, add_special_tokens=special)
        except TypeError as error:  # what `tokenizers` raises for a lone surrogate
            raise InputError(f"half a character (a lone surrogate) in {' '.join(texts)!r:.80}") from error

    def _window(self, encoding: Encoding) -> Window:
        """Return a window, with room after the first token for the method's reserved positions."""
        segments = [-1 if number is None else number for number in encoding.sequence_ids]
        offsets, types = list(encoding.offsets), list(encoding.type_ids) if self._typed else []
        count = self._reserved
        return Window(
            ids=[*encoding.ids[:1], *self._filler, *encoding.ids[1:]],
            types=[*types[:1], *[0] * count, *types[1:]] if any(types) else [],
            segments=np.array([*segments[:1], *[-1] * count, *segments[1:]]),
            offsets=np.array([*offsets[:1], *[(0, 0)] * count, *offsets[1:]], np.int64).reshape(-1, 2),
        )


def join_words(words: Sequence[str]) -> tuple[str, NDArray[np.int64]]:
    """Return words as a text, a space before each, and the position of each word's space.

    The first word has a space too: it marks the start of a word in byte-level vocabularies.
    """
    lengths = np.array([len(word) + 1 for word in words], np.int64)
    return "".join(f" {word}" for word in words), np.cumsum(lengths) - lengths


def find_first_pieces(windows: Sequence[Window], starts: NDArray[np.int64]) -> list[tuple[list[int], list[int]]]:
    """Return for each window the words that begin in it and the position of each one's first token.

    windows: over one text. starts: from `join_words`. A token belongs to the word of its last character; a
    single space to none. A word begins with its first token in any window: the rest of a word at the start of
    a window began in the window before.
    """
    pieces_by_window = []
    begins: dict[int, int] = {}
    for window in windows:
        positions = window.segment_positions(0)
        last = window.offsets[positions, 1] - 1
        words = np.searchsorted(starts, last, side="right") - 1
        inside = last > starts[words]
        pieces = positions[inside], words[inside], window.offsets[positions[inside], 0]
        pieces_by_window.append(pieces)
        for word, first in zip(*(column.tolist() for column in pieces[1:]), strict=True):
            begins[word] = min(first, begins.get(word, first))
    first_tokens = []
    for positions, words, firsts in pieces_by_window:
        begun = firsts == np.array([begins[word] for word in words.tolist()], np.int64)
        seen, index = np.unique(words[begun], return_index=True)
        first_tokens.append((seen.tolist(), positions[begun][index].tolist()))
    return first_tokens


def assign_words(windows: Sequence[tuple[list[int], list[int]]], lengths: Sequence[int]) -> list[list[int]]:
    """Assign each word to the window with most context on its shorter side; return the indices per window.

    windows: words and positions of each (`find_first_pieces`). lengths: tokens of each window.
    """
    best: dict[int, tuple[int, int]] = {}
    for number, ((words, positions), length) in enumerate(zip(windows, lengths, strict=True)):
        for word, position in zip(words, positions, strict=True):
            around = min(position, length - 1 - position)
            if word not in best or around > best[word][0]:
                best[word] = around, number
    return [
        [index for index, word in enumerate(words) if best[word][1] == number]
        for number, (words, _) in enumerate(windows)
    ]


AXES = {"rate": "rates", "batch": "batches", "epochs": "epochs"}
"""Name of an axis of the grid on the command line -> field of `Tuning`."""
WARMUP = 0.1  # share of the steps with a rising learning rate, which then falls to 0
DECAY = 0.01  # weight decay, not of biases and norms
CLIP = 1.0  # maximum gradient norm


@dataclass(frozen=True, slots=True)
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

    dropout: of states and attention. seeds: runs of the chosen setting, whose scores are averaged.
    """

    FORMER: ClassVar = {"warmup": WARMUP, "decay": DECAY, "clip": CLIP}
    rates: tuple[float, ...] = (1e-5, 3e-5, 5e-5)
    batches: tuple[int, ...] = (16, 32)
    epochs: tuple[int, ...] = (10,)
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    seeds: Positive = 1

    def __post_init__(self) -> None:
        for name in AXES.values():
            values = getattr(self, name)
            if not values or min(values) <= 0 or len(set(values)) < len(values):
                raise InputError(f"fine-tuning: {name} are {values}; give different numbers above 0")

    @property
    def grid(self) -> tuple[Hyperparameters, ...]:
        """Return all points of the grid."""
        return tuple(starmap(Hyperparameters, product(self.rates, self.batches, self.epochs)))

    def with_grid(self, axes: Mapping[str, Sequence[float]]) -> Tuning:
        """Return a copy with other values on some axes: rate, batch, epochs. Raises InputError."""
        if unknown := sorted(set(axes) - set(AXES)):
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
        return {"warmup": WARMUP, "dropout": self.dropout, "decay": DECAY, "clip": CLIP}


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


def text_loss(kind: TargetKind, outputs: Tensor, targets: Sequence[Any]) -> Tensor:
    """Return the sum over texts of the loss of a kind of targets, 0 of none. outputs: (n, c).

    class: cross-entropy of n classes. labels: the mean binary cross-entropy of c labels. number: the squared error.
    """
    wanted = torch.tensor(targets, dtype=torch.long if kind == "class" else outputs.dtype, device=outputs.device)
    if kind == "class":
        return F.cross_entropy(outputs, wanted, reduction="sum")
    if kind == "labels":
        return F.binary_cross_entropy_with_logits(outputs, wanted, reduction="sum") / outputs.shape[1]
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
    """An encoder that is fine-tuned repeatedly, each time from its original weights with a new head.

    Raises InputError for float16, whose small gradients would be lost.
    """

    def __init__(self, encoder: Encoder, route: str) -> None:
        if encoder.precision == "float16":
            raise InputError(f"{encoder.name} cannot be fine-tuned in float16; take bfloat16 or float32")
        self.encoder, self.route = encoder, route
        self._weights = {name: value.detach().clone() for name, value in encoder.model.state_dict().items()}
        self._trained = {name: p.requires_grad for name, p in encoder.model.named_parameters()}

    @contextmanager
    def start_run(self, width: int, dropout: float, seed: int) -> Iterator[Self]:
        """Yield a run with a new head and all weights trainable; restore the encoder afterwards."""
        model = self.encoder.model
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.head = LinearHead(model.config.hidden, width, dropout).to(self.encoder.device)
        self.modules = nn.ModuleDict({"model": model, "head": self.head})
        for parameter in model.parameters():
            parameter.requires_grad_(True)
        model.set_dropout(dropout)
        frozen, model.frozen_text = model.frozen_text, False
        try:
            yield self
        finally:
            model.frozen_text = frozen
            model.load_state_dict(self._weights)
            model.set_dropout(model.config.dropout)
            for name, parameter in model.named_parameters():
                parameter.requires_grad_(self._trained[name])
                parameter.grad = None
            self.encoder.prepare()

    def train(self, examples: Sequence[TuningExample], loss: TuningLoss, setting: Hyperparameters, seed: int) -> int:
        """Train for all epochs; return the steps. Raises DivergedRunError where a loss is not finite."""
        settings = OptimizerSettings(lr=setting.rate, weight_decay=DECAY)
        optimizer = build_optimizer(self.modules.named_parameters(), settings)
        schedule = Schedule(name="linear", warmup=WARMUP)
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
            nn.utils.clip_grad_norm_(self.modules.parameters(), CLIP)
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
        run_batches(work, lengths, device)
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


COLLAPSED = "run that predicts the same for every item (collapsed)"
DIVERGED = "run whose loss was not finite (diverged), scored as if all outputs were 0"

Predictions = Sequence[tuple[TuningExample, Outputs]]  # examples with the outputs of the head


D = TypeVar("D", TaggingInput, PairInput, SpanInput)


class TuningProblem(ABC, Generic[D]):
    """The data of a task as examples of a head, and the head's outputs as predictions.

    width: of the head's outputs. dropped: what tokenizing lost.
    """

    width: int

    def __init__(self, data: D, tokenizer: WindowTokenizer, protocol: Any) -> None:
        self.data: D = data
        self.tokenizer, self.protocol = tokenizer, protocol
        self.dropped = DropReport()

    @cached_property
    def examples(self) -> list[TuningExample]:
        """Return the examples of all rows."""
        return [example for row in range(len(self.data.ids)) for example in self.row_examples(row)]

    @abstractmethod
    def row_examples(self, row: int) -> Iterable[TuningExample]:
        """Return the examples of one row."""

    @abstractmethod
    def loss(self, outputs: Tensor, examples: Sequence[TuningExample]) -> Tensor:
        """Return the sum of the losses of some examples."""

    @abstractmethod
    def item_scores(self, rows: Rows, predictions: Predictions) -> Mapping[str, ItemScores]:
        """Return the item scores of some rows for each metric, the main one first."""

    @abstractmethod
    def is_uniform(self, predictions: Predictions) -> bool:
        """Tell whether all predictions are the same."""


class TuningExperiment:
    """An encoder with its original weights and the examples of a task, shared by all settings and seeds."""

    def __init__(self, encoder: TunableEncoder, problem: TuningProblem[Any]) -> None:
        self.splits: dict[str, Rows] = {name: getattr(problem.data, name) for name in ("train", "dev", "test")}
        sizes = {name: len(rows) for name, rows in self.splits.items()}
        if not sizes["train"] or not sizes["test"]:
            raise InputError(f"{sizes['train']} texts to train on and {sizes['test']} to test; need both")
        self.encoder, self.problem, self.sizes = encoder, problem, sizes
        wanted = [set(rows.tolist()) for rows in self.splits.values()]
        train, dev, test = ([example for example in problem.examples if example.row in rows] for rows in wanted)
        self.train_examples = [example for example in train if not example.idle]
        self.examples = {"dev": dev, "test": test}

    def run(
        self, setting: Hyperparameters, tuning: Tuning, seed: int, *splits: str
    ) -> tuple[dict[str, Mapping[str, ItemScores]], dict[str, Any]]:
        """Train once; return the scores of splits, "dev" or "test", by metric, and facts of the run on the last."""
        facts: dict[str, Any] = {"steps": 0, "diverged": False}
        began, width = time.monotonic(), self.problem.width
        with self.encoder.start_run(width, tuning.dropout, seed) as run:
            try:
                facts["steps"] = run.train(self.train_examples, self.problem.loss, setting, seed)
                trained = time.monotonic() - began
                outputs = {split: run.outputs(self.examples[split]) for split in splits}
            except DivergedRunError:
                facts["diverged"], trained = True, time.monotonic() - began
                outputs = {
                    split: [np.zeros((len(example.positions), width), np.float32) for example in self.examples[split]]
                    for split in splits
                }
        predictions = {
            split: list(zip(self.examples[split], of_split, strict=True)) for split, of_split in outputs.items()
        }
        facts |= {
            "seconds of training": round(trained, 2),
            "collapsed": self.problem.is_uniform(predictions[splits[-1]]),
        }
        return {name: self.problem.item_scores(self.splits[name], pairs) for name, pairs in predictions.items()}, facts


def fine_tune(
    data: D,
    system: System,
    context: EvaluationContext,
    protocol: Any,
    build_problem: Callable[[D, WindowTokenizer, Any], TuningProblem[D]],
) -> ProtocolResult:
    """Choose a setting of `protocol.tuning`, train with the context's seed and score the test rows.

    protocol: states `length`, the tokens of a window, too. Raises NotServedError for a system without weights.
    """
    if not isinstance(system, DenseSystem) or not isinstance(system.encoder, Encoder):
        raise NotServedError(f"{system.name} cannot be fine-tuned; only encoders that this package loads itself")
    encoder = system.encoder

    shared: list[TuningExperiment] = [] if context.cache is None else context.cache
    if not shared:
        problem = build_problem(data, WindowTokenizer(encoder, protocol.length), protocol)
        shared.append(TuningExperiment(TunableEncoder(encoder, encoder.route(context.format)), problem))
    experiment, tuning = shared[0], protocol.tuning
    dev_scores, runs = _search_grid(experiment, tuning, context)
    converged = {name: score for name, score in dev_scores.items() if score is not None}
    best = max(tuning.grid, key=lambda setting: converged.get(str(setting), -math.inf))  # the first of equals
    scores, facts = runs.get(str(best)) or experiment.run(best, tuning, context.seed, "test")
    dropped = DropReport()
    dropped.update(experiment.problem.dropped)
    for reason, flag in ((COLLAPSED, "collapsed"), (DIVERGED, "diverged")):
        if facts[flag]:
            dropped.add(reason, f"seed {context.seed}")
    details = experiment.sizes | {"setting": asdict(best), "dev scores": dev_scores, "shared": tuning.shared} | facts
    return ProtocolResult(item_scores=scores["test"], details=details, dropped=dropped)


def _search_grid(
    experiment: TuningExperiment, tuning: Tuning, context: EvaluationContext
) -> tuple[dict[str, float | None], dict[str, Any]]:
    """Return the dev score of every setting, None for one that failed; nothing for a grid of one.

    Also returns the runs that were made now with the context's seed, so that they are not repeated.
    """
    if len(tuning.grid) == 1:
        return {}, {}
    if not experiment.sizes["dev"]:
        raise InputError("the grid has several settings and the data no dev part; give one setting (--grid)")
    dev_scores = _read_dev_scores(context.grid_file, context.key)
    runs: dict[str, Any] = {}
    splits = ("dev", "test") if context.seed == context.first_seed else ("dev",)
    for setting in tuning.grid:
        if str(setting) not in dev_scores:
            scores, facts = runs[str(setting)] = experiment.run(setting, tuning, context.first_seed, *splits)
            score = estimate(next(iter(scores["dev"].values())))
            dev_scores[str(setting)] = None if math.isnan(score) or facts["diverged"] else score
            if context.grid_file is not None:
                write_sealed_json(context.grid_file, {"key": context.key, "dev": dev_scores})
    return {str(setting): dev_scores[str(setting)] for setting in tuning.grid}, runs if "test" in splits else {}


def _read_dev_scores(path: Path | None, key: str) -> dict[str, float | None]:
    """Return setting -> dev score that an earlier run of the same task and model stored; none without a file."""
    if path is None or not path.exists():
        return {}
    try:
        stored = json.loads(read_sealed(path, "they are computed again")[0])
        return dict(stored["dev"]) if stored["key"] == key else {}
    except (InputError, ValueError, TypeError, KeyError) as error:
        warnings.warn(ShownWarning(f"{path}: the dev scores are damaged: {error}"), stacklevel=2)
        return {}
