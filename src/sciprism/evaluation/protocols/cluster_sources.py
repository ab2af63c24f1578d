"""S2AND over several sources: models of each source and of all other sources, scored on every source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sciprism.arrays import Rows
from sciprism.datasets.inputs import Signatures
from sciprism.errors import InputError
from sciprism.evaluation.disambiguation.clustering import (
    Dendrograms,
    MentionPairs,
    SameAuthorModel,
    build_dendrograms,
    choose_cut,
    choose_settings,
    cluster_by_name,
    train_same_author,
)
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.protocols.cluster import Blocks, BlockSplits, EncodedMentions
from sciprism.evaluation.protocols.registry import check_metrics, protocols
from sciprism.evaluation.systems import System
from sciprism.evaluation.task import EvaluationContext, ProtocolResult
from sciprism.metrics.clusters import b_cubed, f1

METRICS = ("union", "grid")


@dataclass(frozen=True, slots=True)
class _TrainedModel:
    """A model, the sources it was trained on, and its distance threshold, the best on their dev blocks."""

    model: SameAuthorModel
    sources: tuple[str, ...]
    cut: float = 0.0


@protocols.register("cluster-sources")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSourcesProtocol:
    """Score B3 F1 from source to source (S2AND, "custom block transfer"; SciRepEval's S2AND-mini).

    "union": for each source, the model of all other sources, averaged; with `leave_self_in` the model of all.
    "grid": the model of each source on each source, averaged. SciRepEval publishes the mean "of all values in
    the printed table" without naming its rows, so both are given; all cells are in the details, next to the
    exact-name baseline. The items behind a number are its cells.
    """

    train_pairs: int = 100_000
    dev_pairs: int = 10_000
    trials: int = 25
    leave_self_in: bool = False
    metrics: tuple[str, ...] = METRICS

    def __post_init__(self) -> None:
        if min(self.train_pairs, self.dev_pairs) < 1 or self.trials < 0:
            raise InputError("cluster-sources: pairs must be positive, trials 0 or more")
        check_metrics("cluster-sources", self.metrics, METRICS)

    def evaluate(self, data: Signatures, system: System, context: EvaluationContext) -> ProtocolResult:
        """Train every model and score it on the test blocks of the sources."""
        mentions = EncodedMentions(data, system, context)
        splits = _split_by_source(mentions)
        pairs = {
            name: (
                mentions.sample_pairs(of_source.train, self.train_pairs, context.seed),
                mentions.sample_pairs(of_source.dev, self.dev_pairs, context.seed),
            )
            for name, of_source in splits.items()
        }
        train_sources: list[tuple[str, ...]] = [(name,) for name in splits]
        train_sources += [tuple(n for n in splits if self.leave_self_in or n != name) for name in splits]
        trained = [self._train(pairs, sources, context.seed) for sources in train_sources]
        models = _choose_cuts(mentions, splits, trained)
        single = dict(zip(splits, models[: len(splits)], strict=True))
        unions = dict(zip(splits, models[len(splits) :], strict=True))
        union: dict[str, float] = {}
        grid: dict[str, float] = {}
        for target, of_source in splits.items():
            scored = [*single.values(), unions[target]]
            dendrograms = _dendrograms(mentions, of_source.test, scored)
            scores = [_score(mentions, *t.cut(model.cut)) for t, model in zip(dendrograms, scored, strict=True)]
            union[target] = scores.pop()
            grid |= {f"{name} on {target}": score for name, score in zip(single, scores, strict=True)}
        details = {
            "union": union,
            "grid": grid,
            "exact name": {
                n: _score(mentions, *cluster_by_name(data.signatures, of_source.test))
                for n, of_source in splits.items()
            },
            "distances": {name: model.cut for name, model in single.items()},
            "union distances": {name: model.cut for name, model in unions.items()},
            "mentions": {name: sum(map(len, of_source.test.values())) for name, of_source in splits.items()},
            "papers": mentions.papers,
        }
        every = {"union": _mean(union), "grid": _mean(grid)}
        selected = {name: every[name] for name in self.metrics}
        return ProtocolResult(item_scores=selected, details=details, dropped=mentions.dropped)

    def _train(
        self, pairs: Mapping[str, tuple[MentionPairs, MentionPairs]], sources: tuple[str, ...], seed: int
    ) -> _TrainedModel:
        train, dev = (MentionPairs.concatenate([pairs[name][split] for name in sources]) for split in (0, 1))
        settings = choose_settings(train, dev, trials=self.trials, seed=seed)
        return _TrainedModel(train_same_author(train, dev, settings, seeds=[seed])[0], sources)


def _dendrograms(mentions: EncodedMentions, blocks: Blocks, models: Sequence[_TrainedModel]) -> list[Dendrograms]:
    return build_dendrograms(blocks, mentions.pair_features, [member.model.distances for member in models])


def _choose_cuts(
    mentions: EncodedMentions, splits: Mapping[str, BlockSplits], models: Sequence[_TrainedModel]
) -> list[_TrainedModel]:
    """Give each model the best distance on the dev blocks of its sources; each source is read once."""
    trees: list[list[Dendrograms]] = [[] for _ in models]
    for name, of_source in splits.items():
        numbers = [number for number, model in enumerate(models) if name in model.sources]
        found = _dendrograms(mentions, of_source.dev, [models[number] for number in numbers])
        for number, dendrograms in zip(numbers, found, strict=True):
            trees[number].append(dendrograms)
    return [
        replace(model, cut=choose_cut(of_source, mentions.persons)[0])
        for model, of_source in zip(models, trees, strict=True)
    ]


def _split_by_source(mentions: EncodedMentions) -> dict[str, BlockSplits]:
    names = sorted(set(mentions.data.source or ()))
    if len(names) < 2:
        raise InputError("cluster-sources needs mentions of at least two sources; use cluster for one")
    splits = {name: mentions.of_source(name) for name in names}
    for name, of_source in splits.items():
        if not (of_source.train and of_source.dev and of_source.test):
            raise InputError(f"source {name}: train, dev or test has no block with a mention")
    return splits


def _score(mentions: EncodedMentions, rows: Rows, clusters: Rows) -> float:
    return f1(*b_cubed(mentions.persons[rows], clusters))


def _mean(cells: Mapping[str, Any]) -> ItemScores:
    return ItemScores(tuple(cells), np.array(list(cells.values()))[:, None], aggregate="mean")
