"""The fine-tuning script that people write with transformers, as a peer for ours.

AutoModel, dropout and a linear map on [CLS] or on the first piece of each word, data collators that pad to
the longest text of a batch, AdamW, linear warm-up and decay. Its rates are ours, (s + 1) / (w + 1) of the
peak in step s of w: transformers' own schedule, s / w, teaches nothing in its first step. Tags are scored by
seqeval where it is installed, else by a few lines of the same rules.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
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

from sciprism.datasets.inputs import TaggingInput
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
