"""S2AND over several sources: models of each source and of all others, each scored on every source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sciprism.arrays import Rows
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import Evidence
from sciprism.evaluation.protocols.author_mentions import Bench, Parts
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.systems import System
from sciprism.evaluation.task import Outcome, View
from sciprism.metrics.clusters import b_cubed, f1
from sciprism.papers.signatures import Signatures
from sciprism.uses.disambiguation.clustering import Trees, best_cut, by_name, join
from sciprism.uses.disambiguation.models import Pairs, SameAuthor, choose_settings, train_same_author

METRICS = ("union", "grid")


@dataclass(frozen=True, slots=True)
class _Judge:
    """A model, the sources it was trained on, and the distance at which it cuts, the best on their dev."""

    model: SameAuthor
    sources: tuple[str, ...]
    cut: float = 0.0


@protocols.register("cluster-sources")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSources:
    """Score B3 F1 from source to source (S2AND, "custom block transfer"; SciRepEval's S2AND-mini).

    "union": for each source, the model of all other sources, averaged; with `leave_self_in` the model of all.
    "grid": the model of each source on each source, averaged. SciRepEval publishes the mean "of all values in
    the printed table" and does not say of which rows, so both are given; all cells are in the details, with
    the rule "one normalised full name, one person" beside them. The items behind a number are its cells.
    """

    train_pairs: int = 100_000
    dev_pairs: int = 10_000
    trials: int = 25
    leave_self_in: bool = False
    metrics: tuple[str, ...] = METRICS

    def __post_init__(self) -> None:
        if min(self.train_pairs, self.dev_pairs) < 1 or self.trials < 0:
            raise InputError("cluster-sources: pairs must be positive, trials 0 or more")
        unknown = [name for name in self.metrics if name not in METRICS]
        if unknown or not self.metrics:
            raise InputError(f"cluster-sources: unknown metric {', '.join(unknown)!r}; union or grid")

    def evaluate(self, data: Signatures, system: System, view: View) -> Outcome:
        """Train every model and score it on the test blocks of the sources."""
        bench = Bench(data, system, view)
        parts = _parts(bench)
        pairs = {name: self._pairs(bench, own, view.seed) for name, own in parts.items()}
        seen: list[tuple[str, ...]] = [(name,) for name in parts]
        seen += [tuple(n for n in parts if self.leave_self_in or n != name) for name in parts]
        trained = [self._train(pairs, sources, view.seed) for sources in seen]
        judges = _choose_cuts(bench, parts, trained)
        single, unions = (
            dict(zip(parts, some, strict=True)) for some in (judges[: len(parts)], judges[len(parts) :])
        )
        union: dict[str, float] = {}
        grid: dict[str, float] = {}
        for target, own in parts.items():
            asked = [*single.values(), unions[target]]
            found = join(own.test, bench.table, [judge.model.distances for judge in asked])
            scores = [_score(bench, *trees.cut(judge.cut)) for trees, judge in zip(found, asked, strict=True)]
            union[target] = scores.pop()
            grid |= {f"{name} on {target}": score for name, score in zip(single, scores, strict=True)}
        details = {
            "union": union,
            "grid": grid,
            "exact name": {n: _score(bench, *by_name(data.signatures, own.test)) for n, own in parts.items()},
            "distances": {name: judge.cut for name, judge in single.items()},
            "union distances": {name: judge.cut for name, judge in unions.items()},
            "mentions": {name: sum(map(len, own.test.values())) for name, own in parts.items()},
            "papers": bench.papers,
        }
        every = {"union": _mean(union), "grid": _mean(grid)}
        return Outcome(
            evidence={name: every[name] for name in self.metrics}, details=details, tally=bench.tally
        )

    def _pairs(self, bench: Bench, own: Parts, seed: int) -> tuple[Pairs, Pairs]:
        train = bench.sample(own.train, self.train_pairs, seed)
        return train, bench.sample(own.dev, self.dev_pairs, seed)

    def _train(self, pairs: Mapping[str, tuple[Pairs, Pairs]], sources: tuple[str, ...], seed: int) -> _Judge:
        train, dev = (Pairs.united([pairs[name][part] for name in sources]) for part in (0, 1))
        settings = choose_settings(train, dev, trials=self.trials, seed=seed)
        return _Judge(train_same_author(train, dev, settings, seeds=[seed])[0], sources)


def _choose_cuts(bench: Bench, parts: Mapping[str, Parts], judges: Sequence[_Judge]) -> list[_Judge]:
    """Give each judge the best distance on the dev blocks of its sources; each source is read once."""
    trees: list[list[Trees]] = [[] for _ in judges]
    for name, own in parts.items():
        asked = [number for number, judge in enumerate(judges) if name in judge.sources]
        found = join(own.dev, bench.table, [judges[number].model.distances for number in asked])
        for number, grown in zip(asked, found, strict=True):
            trees[number].append(grown)
    return [
        replace(judge, cut=best_cut(own, bench.persons)[0]) for judge, own in zip(judges, trees, strict=True)
    ]


def _parts(bench: Bench) -> dict[str, Parts]:
    names = sorted(set(bench.data.source or ()))
    if len(names) < 2:
        raise InputError("cluster-sources needs mentions of two sources at least; use cluster for one")
    parts = {name: bench.of_source(name) for name in names}
    for name, own in parts.items():
        if not (own.train and own.dev and own.test):
            raise InputError(f"source {name}: train, dev or test has no block with a mention")
    return parts


def _score(bench: Bench, rows: Rows, clusters: Rows) -> float:
    return f1(*b_cubed(bench.persons[rows], clusters))


def _mean(cells: Mapping[str, Any]) -> Evidence:
    return Evidence(tuple(cells), np.array(list(cells.values()))[:, None], aggregate="mean")
