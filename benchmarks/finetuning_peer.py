"""The fine-tuning script that people write with transformers, as a peer for ours.

AutoModel in float32, dropout and a linear map on [CLS] or on the first piece of each word, data collators
that pad to the longest text of a batch, AdamW, linear warm-up and decay. Longer texts are cut; words that are
not read are tagged O.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import accuracy_score, f1_score
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from transformers import (
    AutoModel,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    get_linear_schedule_with_warmup,
)

from sciprism.metrics.entities import entity_counts
from sciprism.tasks.inputs import Tagged
from sciprism.tasks.tuning.settings import Setting, Tuning

IGNORED = -100
Feature = dict[str, Any]


class Peer(nn.Module):
    """A backbone and a linear map on every token, or on the first of each text."""

    def __init__(self, folder: Path, width: int, dropout: float, *, each_token: bool) -> None:
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
        self.each_token = each_token

    @property
    def device(self) -> torch.device:
        return self.head.weight.device

    def forward(self, **inputs: Tensor) -> Tensor:
        states = self.backbone(**inputs).last_hidden_state
        return self.head(self.dropout(states if self.each_token else states[:, 0]))


class Problem:
    """A task as the peer reads it: features, a collator, a loss, a score."""

    each_token = False

    def __init__(self, data: Any, protocol: Any, folder: Path) -> None:
        self.data, self.protocol = data, protocol
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.unread = 0

    def tokens(self, *texts: Any, **how: Any) -> Any:
        return self.tokenizer(*texts, truncation=True, max_length=self.protocol.length, **how)

    def outputs(self, features: Sequence[Feature], model: Peer, batch: int = 32) -> list[np.ndarray]:
        """Return what the head says, of each text its own tokens only."""
        model.eval()
        found: list[np.ndarray] = []
        for given in DataLoader(features, batch, collate_fn=self.collate):
            given.pop("labels")
            with torch.inference_mode():
                found += list(model(**given.to(model.device)).cpu().numpy())
        return found

    def read(self, features: Sequence[Feature], setting: Setting, seed: int) -> dict[str, int]:
        """Return an epoch's tokens without and with padding, and the words of the test that were not read."""
        lengths = np.array([len(feature["input_ids"]) for feature in features])
        batches = (lengths[rows] for rows in batches_of(len(lengths), setting.batch, seed, epoch=0))
        padded = sum(len(batch) * int(batch.max()) for batch in batches)
        return {"tokens": int(lengths.sum()), "padded": padded, "test words unread": self.unread}


class Tagging(Problem):
    """Words with tags: the first piece of each word has its tag, all else is ignored."""

    each_token = True

    def __init__(self, data: Any, protocol: Any, folder: Path) -> None:
        super().__init__(data, protocol, folder)
        self.names = sorted({"O"} | {tag for row in data.train for tag in data.tags[row]})
        self.width = len(self.names)
        self.collate = DataCollatorForTokenClassification(self.tokenizer)

    def feature(self, row: int) -> Feature:
        encoded = self.tokens(list(self.data.words[row]), is_split_into_words=True)
        labels = [IGNORED] * len(encoded["input_ids"])
        for word, place in firsts(encoded.word_ids()).items():
            tag = self.data.tags[row][word]
            labels[place] = self.names.index(tag if tag in self.names else "O")
        return {**encoded, "labels": labels}

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)

    def score(self, rows: Sequence[int], model: Peer) -> float:
        found = self.outputs([self.feature(row) for row in rows], model)
        predicted = []
        for row, outputs in zip(rows, found, strict=True):
            words = self.data.words[row]
            places = firsts(self.tokens(list(words), is_split_into_words=True).word_ids())
            tags = ["O"] * len(words)
            for word, place in places.items():
                tags[word] = self.names[outputs[place].argmax()]
            self.unread += len(words) - len(places)
            predicted.append(tags)
        return tag_score(self.protocol.metric, [self.data.tags[row] for row in rows], predicted)


class Saying(Problem):
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

    def feature(self, row: int) -> Feature:
        target = self.data.targets[row]
        if self.kind == "class":
            label: Any = self.names.index(target) if target in self.names else 0
        elif self.kind == "labels":
            label = [float(name in target) for name in self.names]
        else:
            label = float(target)
        return {**self.tokens(*self.data.texts[row]), "label": label}

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        if self.kind == "class":
            return F.cross_entropy(outputs, labels)
        if self.kind == "labels":
            return F.binary_cross_entropy_with_logits(outputs, labels)
        return F.mse_loss(outputs[:, 0], labels)

    def score(self, rows: Sequence[int], model: Peer) -> float:
        outputs = np.stack(self.outputs([self.feature(row) for row in rows], model))
        gold = [self.data.targets[row] for row in rows]
        if self.kind == "number":
            return float(np.corrcoef(np.array(gold), outputs[:, 0])[0, 1])
        if self.kind == "labels":
            truth = [[name in labels for name in self.names] for labels in gold]
            return class_score(self.protocol, np.array(truth), outputs > 0)
        return class_score(self.protocol, np.array(gold), np.array(self.names)[outputs.argmax(axis=1)])


def read_problem(data: Any, protocol: Any, folder: Path) -> Tagging | Saying:
    """Return the task as the peer reads it."""
    return (Tagging if isinstance(data, Tagged) else Saying)(data, protocol, folder)


def train(
    model: Peer, problem: Problem, features: Sequence[Feature], how: tuple[Setting, Tuning], seed: int
) -> int:
    """Take all epochs in the order of our runs; return the steps."""
    setting, tuning = how
    steps = math.ceil(len(features) / setting.batch) * setting.epochs
    decayed, spared = [], []
    for parameter in model.parameters():
        (decayed if parameter.ndim > 1 else spared).append(parameter)
    groups = [{"params": decayed, "weight_decay": tuning.decay}, {"params": spared, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=setting.rate, fused=True)
    schedule = get_linear_schedule_with_warmup(optimiser, math.ceil(tuning.warmup * steps), steps)
    model.train()
    for epoch in range(setting.epochs):
        batches = batches_of(len(features), setting.batch, seed, epoch)
        for given in DataLoader(features, batch_sampler=batches, collate_fn=problem.collate):
            given = given.to(model.device)
            labels = given.pop("labels")
            loss = problem.loss(model(**given), labels)
            loss.backward()
            if tuning.clip:
                nn.utils.clip_grad_norm_(model.parameters(), tuning.clip)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad(set_to_none=True)
    return steps


def batches_of(count: int, size: int, seed: int, epoch: int) -> list[list[int]]:
    """Return the features of each step of an epoch."""
    order = np.random.default_rng([seed, epoch]).permutation(count).tolist()
    return [order[start : start + size] for start in range(0, count, size)]


def firsts(words: Sequence[int | None]) -> dict[int, int]:
    """Return the first place of each word."""
    found: dict[int, int] = {}
    for place, word in enumerate(words):
        if word is not None:
            found.setdefault(word, place)
    return found


def tag_score(metric: str, gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """Return micro F1 of entities, or macro F1 of words."""
    types = sorted({tag[2:] for side in (gold, predicted) for tags in side for tag in tags if tag != "O"})
    if metric == "entity_f1":
        right, wrong, missed = entity_counts(gold, predicted, types).sum(axis=0).reshape(3, -1).sum(axis=1)
        return float(2 * right / max(1, 2 * right + wrong + missed))
    flat = [[tag[2:] for tags in side for tag in tags] for side in (gold, predicted)]
    return float(f1_score(*flat, labels=types, average="macro", zero_division=0))


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
