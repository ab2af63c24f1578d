"""Fine-tuning on tagged words: ours against a plain loop over transformers' model, from the same weights.

Both take the same rows in the same order at the same rates, with one setting; rows longer than what a model
reads at once are dropped from both, and counted. `speed` times the same steps in rounds; `agree` trains on the
whole task once for each seed and tests whether the mean scores differ by more than one standard deviation over
seeds (pooled over both). Run from the repository root:

    python benchmarks/finetuning.py speed open-nlu open-ncbi --data DATA -o results/finetuning.json
    python benchmarks/finetuning.py agree open-nlu open-infections --data DATA -o results/finetuning_agree.json
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
from transformers import AutoModel, AutoTokenizer, DataCollatorForTokenClassification
from transformers.utils import logging

from measurement import build_parser, provenance, ratio, write_result
from sciprism import Encoder
from sciprism.datasets.data_root import DataRoot
from sciprism.encoders.checkpoints.names import resolve
from sciprism.evaluation.intervals import estimate
from sciprism.evaluation.suites import suites
from sciprism.evaluation.systems import DenseSystem
from sciprism.evaluation.task import EvaluationContext
from sciprism.evaluation.tuning import Hyperparameters, Tuning
from sciprism.metrics.predictions import f1_of_counts
from sciprism.metrics.spans import entity_counts, word_counts

IGNORED = -100
Feature = dict[str, Any]


class PeerModel(nn.Module):
    """A backbone and a linear map on every token. half: by bfloat16."""

    def __init__(self, folder: Path, width: int, dropout: float, *, half: bool = False) -> None:
        super().__init__()
        self.backbone = AutoModel.from_pretrained(
            folder,
            dtype=torch.float32,
            add_pooling_layer=False,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(self.backbone.config.hidden_size, width)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        self.half = half

    @property
    def device(self) -> torch.device:
        return self.head.weight.device

    def forward(self, **inputs: Tensor) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            return self.head(self.dropout(self.backbone(**inputs).last_hidden_state)).float()


class PeerTask:
    """Words with tags as the peer reads them: the first piece of each word has its tag, all else is ignored."""

    def __init__(self, data: Any, protocol: Any, folder: Path) -> None:
        self.data, self.protocol = data, protocol
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.names = ["O", *sorted({tag for row in data.train for tag in data.tags[row]} - {"O"})]
        self.width = len(self.names)
        self.collate = DataCollatorForTokenClassification(self.tokenizer)

    def tokens(self, row: int) -> Any:
        return self.tokenizer(list(self.data.words[row]), is_split_into_words=True)

    def fitting(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows that are no longer than what a model reads at once."""
        lengths = np.array([len(self.tokens(row)["input_ids"]) for row in rows], dtype=int)
        return rows[lengths <= self.protocol.length]

    def outputs(self, features: Sequence[Feature], model: PeerModel, batch: int = 32) -> list[np.ndarray]:
        """Return the outputs of the head, of each text its own tokens only."""
        model.eval()
        found: list[np.ndarray] = []
        for inputs in DataLoader(features, batch, collate_fn=self.collate):
            inputs.pop("labels")
            with torch.inference_mode():
                found += list(model(**inputs.to(model.device)).cpu().numpy())
        return found

    def read(self, features: Sequence[Feature], setting: Hyperparameters, seed: int) -> dict[str, int]:
        """Return an epoch's tokens without and with padding."""
        lengths = np.array([len(feature["input_ids"]) for feature in features])
        batches = (lengths[rows] for rows in plan_batches(len(lengths), setting.batch, seed, epoch=0))
        padded = sum(len(batch) * int(batch.max()) for batch in batches)
        return {"tokens": int(lengths.sum()), "padded": padded}

    def feature(self, row: int) -> Feature:
        encoded = self.tokens(row)
        labels = [IGNORED] * len(encoded["input_ids"])
        for word, place in first_positions(encoded.word_ids()).items():
            tag = self.data.tags[row][word]
            labels[place] = self.names.index(tag if tag in self.names else "O")
        return {**encoded, "labels": labels}

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)

    def score(self, rows: Sequence[int], model: PeerModel) -> float:
        found = self.outputs([self.feature(row) for row in rows], model)
        predicted = []
        for row, outputs in zip(rows, found, strict=True):
            tags = ["O"] * len(self.data.words[row])
            for word, place in first_positions(self.tokens(row).word_ids()).items():
                tags[word] = self.names[outputs[place].argmax()]
            predicted.append(tags)
        gold = [self.data.tags[row] for row in rows]
        types = sorted({tag[2:] for side in (gold, predicted) for tags in side for tag in tags if tag != "O"})
        count = entity_counts if self.protocol.metric == "entity_f1" else word_counts
        average = "micro" if self.protocol.metric == "entity_f1" else "macro"
        counts = count(gold, predicted, types).sum(axis=0).reshape(3, -1)
        return float(f1_of_counts(*counts, average))


def train(
    model: PeerModel,
    problem: PeerTask,
    features: Sequence[Feature],
    how: tuple[Hyperparameters, Tuning],
    seed: int,
) -> list[float]:
    """Take all epochs in the order of our runs; return the loss of each step."""
    setting, tuning = how
    steps = math.ceil(len(features) / setting.batch) * setting.epochs
    decayed, spared = [], []
    for parameter in model.parameters():
        (decayed if parameter.ndim > 1 else spared).append(parameter)
    groups = [{"params": decayed, "weight_decay": tuning.decay}, {"params": spared, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=setting.rate, fused=True)
    warm = math.ceil(tuning.warmup * steps)
    schedule = LambdaLR(optimizer, lambda s: (s + 1) / (warm + 1) if s < warm else (steps - s) / max(1, steps - warm))
    losses: list[float] = []
    model.train()
    for epoch in range(setting.epochs):
        batches = plan_batches(len(features), setting.batch, seed, epoch)
        for inputs in DataLoader(features, batch_sampler=batches, collate_fn=problem.collate):
            inputs = inputs.to(model.device)
            labels = inputs.pop("labels")
            loss = problem.loss(model(**inputs), labels)
            loss.backward()
            losses.append(float(loss.detach()))
            if tuning.clip:
                nn.utils.clip_grad_norm_(model.parameters(), tuning.clip)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
    return losses


def plan_batches(count: int, size: int, seed: int, epoch: int) -> list[list[int]]:
    """Return the features of each step of an epoch."""
    order = np.random.default_rng([seed, epoch]).permutation(count).tolist()
    return [order[start : start + size] for start in range(0, count, size)]


def first_positions(words: Sequence[int | None]) -> dict[int, int]:
    """Return the first place of each word."""
    found: dict[int, int] = {}
    for place, word in enumerate(words):
        if word is not None:
            found.setdefault(word, place)
    return found


PEER, OURS = "transformers", "sciprism"


@dataclass(frozen=True, slots=True)
class Run:
    """What one fine-tuning run took and found. counts: of what it read."""

    score: float
    seconds: float
    steps: int
    counts: Mapping[str, int]


Contender = Callable[[int], Run]


def run_peer(args: argparse.Namespace, data: Any, protocol: Any, seed: int) -> Run:
    """Train the peer and score it; only training is timed."""
    setting = protocol.tuning.grid[0]
    problem = PeerTask(data, protocol, resolve(args.model)[1])
    torch.manual_seed(seed)
    half = args.precision == "bfloat16"
    model = PeerModel(resolve(args.model)[1], problem.width, protocol.tuning.dropout, half=half).to(args.device)
    features = [problem.feature(row) for row in np.sort(data.train)]
    began = time.monotonic()
    losses = train(model, problem, features, (setting, protocol.tuning), seed)
    seconds = time.monotonic() - began
    score = problem.score(np.sort(data.test).tolist(), model)
    return Run(score, seconds, len(losses), problem.read(features, setting, seed))


def run_sciprism(system: DenseSystem, data: Any, protocol: Any, context: EvaluationContext, seed: int) -> Run:
    """Let the task's protocol train and score."""
    outcome = protocol.evaluate(data, system, replace(context, seed=seed))
    facts = outcome.details
    counts = {reason: outcome.dropped.count(reason) for reason in outcome.dropped.to_json()}
    score = estimate(outcome.item_scores[protocol.metric])
    return Run(score, facts["seconds of training"], facts["steps"], counts)


def load_dense_system(args: argparse.Namespace) -> DenseSystem:
    """Return our encoder as the protocols take it."""
    encoder = Encoder.load(args.model, device=args.device, precision=args.precision)
    return DenseSystem(encoder, Path(tempfile.gettempdir()) / "sciprism-finetuning")


def contenders(args: argparse.Namespace, data: Any, protocol: Any) -> dict[str, Contender]:
    """Return what runs each with a seed."""
    system = load_dense_system(args)
    context = EvaluationContext(format="classification", cache=[])
    return {
        PEER: partial(run_peer, args, data, protocol),
        OURS: partial(run_sciprism, system, data, protocol, context),
    }


def speed(args: argparse.Namespace, data: Any, protocol: Any) -> dict[str, Any]:
    """Time one epoch over a few rows, the same for both, in rounds; the first does not count."""
    size = args.steps * protocol.tuning.grid[0].batch
    rows = sample_rows(data.train, size)
    both = contenders(args, replace(data, train=rows, test=rows), protocol)
    seconds: dict[str, list[float]] = {who: [] for who in both}
    for number in range(args.rounds + 1):
        for who, run in both.items():
            found = run(0)
            if number:
                seconds[who].append(found.seconds)
            if who == PEER:
                counts = found.counts
    return {
        "rows": len(rows),
        "steps": found.steps,
        "peer_read": counts,
        "rows_per_second": {who: [round(len(rows) / s, 2) for s in each] for who, each in seconds.items()},
        "times_faster": ratio(seconds[PEER], seconds[OURS]),
    }


def agree(args: argparse.Namespace, data: Any, protocol: Any) -> dict[str, Any]:
    """Train with every seed; return the scores of both."""
    runs: dict[str, list[Run]] = {PEER: [], OURS: []}
    both = contenders(args, data, protocol)
    for seed in range(args.seeds):
        for who, run in both.items():
            runs[who].append(run(seed))
            print(f"seed {seed}, {who}: {runs[who][-1].score:.4f}", flush=True)
    return {
        "train": len(data.train),
        "test": len(data.test),
        "steps": {who: each[0].steps for who, each in runs.items()},
        "seconds": {who: [round(run.seconds, 1) for run in each] for who, each in runs.items()},
        "counts": {who: dict(each[0].counts) for who, each in runs.items()},
        **compare_scores({who: [run.score for run in each] for who, each in runs.items()}),
    }


def compare_scores(scores: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return mean and standard deviation of each, and whether the means agree."""
    means = {who: statistics.mean(each) for who, each in scores.items()}
    spreads = {who: statistics.stdev(each) for who, each in scores.items()}
    apart, deviation = means[OURS] - means[PEER], (statistics.mean(s * s for s in spreads.values())) ** 0.5
    return {
        "scores": {who: {"seeds": list(each), "mean": means[who], "sd": spreads[who]} for who, each in scores.items()},
        "apart": apart,
        "standard_deviation": deviation,
        "within one standard deviation": "yes" if abs(apart) <= deviation else "no",
    }


def sample_rows(rows: np.ndarray, count: int) -> np.ndarray:
    """Return so many of the rows, always the same ones; 0 for all."""
    return np.sort(np.random.default_rng(0).permutation(rows)[: count or None])


def read(args: argparse.Namespace) -> tuple[Any, Any, dict[str, int]]:
    """Return the data of the task, its protocol with the one setting, and how many rows are too long."""
    (task,) = (task for task in suites[args.suite].tasks if task.name == args.task)
    selected = {"rates": (args.rate,), "batches": (args.batch,), "epochs": (args.epochs,)}
    tuning: Tuning = replace(task.protocol.tuning, **selected)
    protocol = replace(task.protocol, tuning=tuning)
    data = task.data.read(DataRoot(args.data))
    problem = PeerTask(data, protocol, resolve(args.model)[1])
    selected = {"train": sample_rows(data.train, args.train), "test": sample_rows(data.test, args.test)}
    parts = {part: problem.fitting(rows) for part, rows in selected.items()}
    too_long = {part: len(rows) - len(parts[part]) for part, rows in selected.items()}
    return replace(data, **parts, dev=data.dev[:0]), protocol, too_long


MODES = {"speed": speed, "agree": agree}


def parse_arguments() -> argparse.Namespace:
    parser = build_parser(__doc__)
    parser.add_argument("mode", choices=list(MODES))
    parser.add_argument("suite")
    parser.add_argument("task", help="of the protocol tag")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="all-MiniLM-L6-v2", help="a BERT")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3, help="of agree")
    parser.add_argument("--steps", type=int, default=20, help="of speed")
    parser.add_argument("--rounds", type=int, default=3, help="of speed")
    parser.add_argument("--train", type=int, default=0, help="rows to train on, 0 for all")
    parser.add_argument("--test", type=int, default=0, help="rows to test on, 0 for all")
    parser.add_argument("--seeds", type=int, default=5, help="how many, of agree")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32", help="of products")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    if args.mode == "agree" and args.seeds < 2:
        parser.error("a standard deviation needs two seeds or more")
    args.epochs = args.epochs if args.mode == "agree" else 1
    return args


def main() -> None:
    args = parse_arguments()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    data, protocol, too_long = read(args)
    found = {"rows left out as too long": too_long} | MODES[args.mode](args, data, protocol)
    result = provenance(
        ["torch", "transformers"],
        suite=args.suite,
        task=args.task,
        model=args.model,
        metric=protocol.metric,
        length=protocol.length,
        setting=asdict(protocol.tuning.grid[0]) | protocol.tuning.shared,
        threads=torch.get_num_threads(),
        device=args.device,
        precision=args.precision,
        **found,
    )
    print(json.dumps(found, indent=1))
    write_result(args.output, result)


if __name__ == "__main__":
    main()
