"""Fine-tuning: ours against a plain loop over transformers' model, from the same weights.

Both take the same rows in the same order at the same rates, with one setting; rows longer than what a model
reads at once are dropped from both, and counted. `speed` times the same steps in rounds; `check` copies the
head too, without dropout, and compares the losses of some steps; `agree` trains on the whole task once for
each seed and tests whether the mean scores differ by more than one standard deviation over seeds (pooled over
both). Run from the repository root:

    python benchmarks/finetuning.py speed open-nlu open-gad-fold --data DATA -o results/finetuning_speed.json
    python benchmarks/finetuning.py check open-nlu open-gad-fold --data DATA --steps 10
    python benchmarks/finetuning.py agree open-nlu open-gad-fold --data DATA -o results/finetuning_agree.json
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import accuracy_score, f1_score
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
from transformers import AutoModel, AutoTokenizer, DataCollatorForTokenClassification, DataCollatorWithPadding
from transformers.utils import logging

from measurement import build_parser, provenance, ratio, write_result
from sciprism import Encoder
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import TaggingInput
from sciprism.encoders.checkpoints.names import resolve
from sciprism.evaluation.intervals import estimate
from sciprism.evaluation.suites import suites
from sciprism.evaluation.systems import DenseSystem
from sciprism.evaluation.task import EvaluationContext
from sciprism.evaluation.tuning import Hyperparameters, Tuning

IGNORED = -100
Feature = dict[str, Any]


class PeerModel(nn.Module):
    """A backbone and a linear map on every token, or on the first of each text. half: by bfloat16."""

    def __init__(self, folder: Path, width: int, dropout: float, *, each_token: bool, half: bool = False) -> None:
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
        self.each_token, self.half = each_token, half

    @property
    def device(self) -> torch.device:
        return self.head.weight.device

    def forward(self, **inputs: Tensor) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            states = self.backbone(**inputs).last_hidden_state
            outputs = self.head(self.dropout(states if self.each_token else states[:, 0]))
        return outputs.float()


class PeerTask:
    """A task as the peer reads it: features, a collator, a loss, a score. Nothing is truncated."""

    each_token = False

    def __init__(self, data: Any, protocol: Any, folder: Path) -> None:
        self.data, self.protocol = data, protocol
        self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def tokens(self, row: int) -> Any:
        raise NotImplementedError

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


class TaggingTask(PeerTask):
    """Words with tags: the first piece of each word has its tag, all else is ignored."""

    each_token = True

    def __init__(self, data: Any, protocol: Any, folder: Path) -> None:
        super().__init__(data, protocol, folder)
        self.names = ["O", *sorted({tag for row in data.train for tag in data.tags[row]} - {"O"})]
        self.width = len(self.names)
        self.collate = DataCollatorForTokenClassification(self.tokenizer)

    def tokens(self, row: int) -> Any:
        return self.tokenizer(list(self.data.words[row]), is_split_into_words=True)

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
        return tag_score(self.protocol.metric, [self.data.tags[row] for row in rows], predicted)


class TextTask(PeerTask):
    """Texts or pairs with a class, several labels or a number."""

    def __init__(self, data: Any, protocol: Any, folder: Path) -> None:
        super().__init__(data, protocol, folder)
        first = data.targets[0]
        self.kind = "class" if isinstance(first, str) else "labels" if isinstance(first, tuple) else "number"
        if self.kind == "class":
            self.names = sorted({data.targets[row] for row in data.train})
        elif self.kind == "labels":
            self.names = sorted({name for names in data.targets for name in names})
        else:
            self.names = ["number"]
        self.width = len(self.names)
        self.collate = DataCollatorWithPadding(self.tokenizer)

    def tokens(self, row: int) -> Any:
        return self.tokenizer(*self.data.texts[row])

    def feature(self, row: int) -> Feature:
        target = self.data.targets[row]
        if self.kind == "class":
            label: Any = self.names.index(target) if target in self.names else 0
        elif self.kind == "labels":
            label = [float(name in target) for name in self.names]
        else:
            label = float(target)
        return {**self.tokens(row), "label": label}

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        if self.kind == "class":
            return F.cross_entropy(outputs, labels)
        if self.kind == "labels":
            return F.binary_cross_entropy_with_logits(outputs, labels)
        return F.mse_loss(outputs[:, 0], labels)

    def score(self, rows: Sequence[int], model: PeerModel) -> float:
        outputs = np.stack(self.outputs([self.feature(row) for row in rows], model))
        gold = [self.data.targets[row] for row in rows]
        if self.kind == "number":
            return float(np.nan_to_num(np.corrcoef(np.array(gold), outputs[:, 0])[0, 1]))
        if self.kind == "labels":
            truth = [[name in labels for name in self.names] for labels in gold]
            return class_score(self.protocol, np.array(truth), outputs > 0)
        return class_score(self.protocol, np.array(gold), np.array(self.names)[outputs.argmax(axis=1)])


def read_peer_task(data: Any, protocol: Any, folder: Path) -> TaggingTask | TextTask:
    """Return the task as the peer reads it."""
    return (TaggingTask if isinstance(data, TaggingInput) else TextTask)(data, protocol, folder)


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


def tag_score(metric: str, gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """Return micro F1 of entities, or macro F1 of words."""
    if metric == "entity_f1":
        return entity_f1([list(tags) for tags in gold], [list(tags) for tags in predicted])
    types = sorted({tag[2:] for side in (gold, predicted) for tags in side for tag in tags if tag != "O"})
    flat = [[tag[2:] for tags in side for tag in tags] for side in (gold, predicted)]
    return float(f1_score(*flat, labels=types, average="macro", zero_division=0))


def entity_f1(gold: list[list[str]], predicted: list[list[str]]) -> float:
    """Return the micro F1 of entities as conlleval and seqeval count them."""
    if find_spec("seqeval"):
        from seqeval.metrics import f1_score as of_seqeval

        return float(of_seqeval(gold, predicted, zero_division=0))
    truth, found = (
        {(row, *span) for row, tags in enumerate(side) for span in entities(tags)} for side in (gold, predicted)
    )
    return 2 * len(truth & found) / max(1, len(truth) + len(found))


def entities(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return type, first word and word after the last; an I after anything but its own type begins one."""
    found: list[tuple[str, int, int]] = []
    before = "O"
    for word, tag in enumerate(tags):
        if tag[0] == "I" and before != "O" and before[1:] == tag[1:]:
            kind, first, _ = found.pop()
            found.append((kind, first, word + 1))
        elif tag != "O":
            found.append((tag[1:], word, word + 1))
        before = tag
    return found


def class_score(protocol: Any, gold: np.ndarray, predicted: np.ndarray) -> float:
    """Return accuracy or an F1 by scikit-learn."""
    if protocol.metric == "accuracy":
        return float(accuracy_score(gold, predicted))
    if protocol.metric == "f1_binary":
        return float(f1_score(gold == protocol.positive, predicted == protocol.positive, zero_division=0))
    labels = None
    if gold.ndim == 1:
        labels = sorted(Counter([*gold, *predicted]).keys() - {protocol.negative})
    average = protocol.metric.removeprefix("f1_")
    return float(f1_score(gold, predicted, labels=labels, average=average, zero_division=0))


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
    problem = read_peer_task(data, protocol, resolve(args.model)[1])
    torch.manual_seed(seed)
    model = build_peer(args, problem, protocol.tuning.dropout)
    features = [problem.feature(row) for row in np.sort(data.train)]
    began = time.monotonic()
    losses = train(model, problem, features, (setting, protocol.tuning), seed)
    seconds = time.monotonic() - began
    score = problem.score(np.sort(data.test).tolist(), model)
    return Run(score, seconds, len(losses), problem.read(features, setting, seed))


def build_peer(args: argparse.Namespace, problem: PeerTask, dropout: float) -> PeerModel:
    """Return the peer's model with a new head."""
    model = PeerModel(
        resolve(args.model)[1],
        problem.width,
        dropout,
        each_token=problem.each_token,
        half=args.precision == "bfloat16",
    )
    return model.to(args.device)


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


def check(args: argparse.Namespace, data: Any, protocol: Any) -> dict[str, Any]:
    """Take the same steps from the same weights, head included, without dropout; return both's losses."""
    setting, tuning = protocol.tuning.grid[0], replace(protocol.tuning, dropout=0.0)
    rows = sample_rows(data.train, args.steps * setting.batch)
    data, protocol = replace(data, train=rows, test=rows), replace(protocol, tuning=tuning)
    context = EvaluationContext(format="classification", cache=[])
    run_sciprism(load_dense_system(args), data, protocol, context, 0)  # leaves the experiment in the cache
    (experiment,) = context.cache
    problem = read_peer_task(data, protocol, resolve(args.model)[1])
    model = build_peer(args, problem, 0.0)
    step_of = {
        int(rows[place]): step
        for step, places in enumerate(plan_batches(len(rows), setting.batch, 0, 0))
        for place in places
    }
    sums, targets = np.zeros((2, max(step_of.values()) + 1))

    def noted(outputs: torch.Tensor, examples: Sequence[Any]) -> torch.Tensor:
        loss: torch.Tensor = experiment.problem.loss(outputs, examples)
        sums[step_of[examples[0].row]] += float(loss.detach())
        targets[step_of[examples[0].row]] += sum(len(example.targets) for example in examples)
        return loss

    with experiment.encoder.start_run(problem.width, 0.0, 0) as tuned:
        model.head.load_state_dict(tuned.head.map.state_dict())
        tuned.train(experiment.train_examples, noted, setting, tuning, 0)
    features = [problem.feature(row) for row in rows]
    losses = {PEER: train(model, problem, features, (setting, tuning), 0), OURS: (sums / targets).tolist()}
    apart = np.abs(np.array(losses[PEER]) - np.array(losses[OURS]))
    return {"steps": len(sums), "losses": losses, "apart": float(apart.max())}


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
    problem = read_peer_task(data, protocol, resolve(args.model)[1])
    selected = {"train": sample_rows(data.train, args.train), "test": sample_rows(data.test, args.test)}
    parts = {part: problem.fitting(rows) for part, rows in selected.items()}
    too_long = {part: len(rows) - len(parts[part]) for part, rows in selected.items()}
    return replace(data, **parts, dev=data.dev[:0]), protocol, too_long


MODES = {"speed": speed, "check": check, "agree": agree}


def parse_arguments() -> argparse.Namespace:
    parser = build_parser(__doc__)
    parser.add_argument("mode", choices=list(MODES))
    parser.add_argument("suite")
    parser.add_argument("task", help="of the protocol tag or pair")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="all-MiniLM-L6-v2", help="a BERT")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3, help="of agree")
    parser.add_argument("--steps", type=int, default=20, help="of speed and check")
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
