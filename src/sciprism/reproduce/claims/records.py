"""From results to the verdict on a claim, and the verdicts of a paper: RESULTS/<paper>/claims.json."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.reproduce.claims.declared import (
    Claim,
    Contrast,
    Question,
    Side,
    Verdict,
    all_held,
    any_held,
    verdict,
)
from sciprism.reproduce.tables.declared import Number, Reproduction, Shape, metrics_of
from sciprism.reproduce.tables.kept import Kept, read_models
from sciprism.reproduce.tables.scores import Named, Scores

FILE = "claims.json"
UNITS = {"points": 100.0, "%": 100.0}
"""What a value is multiplied by to be printed; any other unit is printed as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One contrast as it was found on one part of the data.

    value, low, high: in natural units. seeds: models of either side; one_seed: a model of ours had only one,
    so that the interval speaks of items alone. n: items. view: suite, or suite/view. verdict: what this says.
    decides: whether the claim rests on it.
    """

    name: str
    value: float
    low: float
    high: float
    verdict: Verdict
    unit: str = "points"
    seeds: tuple[int, ...] = ()
    one_seed: bool = False
    n: int = 0
    tasks: int = 0
    view: str = ""
    level: float = 0.95
    decides: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The verdict on a claim: held, not held or undecided, what it rests on, and what made it."""

    claim: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    commands: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    date: str = ""
    remarks: tuple[str, ...] = field(default=())


def write(home: Path, record: Record) -> Path:
    """Write a record into the file of a paper's claims, in order of id; return the file."""
    write_json(home / FILE, dict(sorted((_rows(home) | {record.claim: asdict(record)}).items())))
    return home / FILE


def read(home: Path, claim: str) -> Record | None:
    """Read the record of a claim, None where there is none. Raises InputError where the file is no record."""
    row = _rows(home).get(claim)
    if row is None:
        return None
    try:
        findings = [Finding(**each | {"seeds": tuple(each.get("seeds", ()))}) for each in row["findings"]]
        texts = {key: tuple(row.get(key, ())) for key in ("commands", "lacking", "remarks")}
        return Record(
            claim=row["claim"],
            verdict=row["verdict"],
            findings=tuple(findings),
            date=row.get("date", ""),
            **texts,
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{home / FILE}, {claim}: no record of a claim: {error}") from None


def measure(claim: Claim, paper: Reproduction, shape: Shape, home: Path) -> Record | None:
    """Return the verdict on a claim from the results below a folder; None where none of it was measured.

    What another command measured is taken from the record that is there (`Claim.measured`).
    """
    bench = _Bench(paper, shape, home)
    found = [(question, _answers(question, bench)) for question in claim.questions]
    findings = [finding for _, answers in found for some in answers.values() for finding in some]
    known = read(home, claim.id) if claim.measured else None
    measured = {f.name: f for f in (known.findings if known else ()) if f.name in claim.measured}
    if not findings and not measured:
        return None
    lacking = [name for _, answers in found for name, some in answers.items() if not some]
    lacking += [name for name in claim.measured if name not in measured]
    decided = [
        any_held([some[0].verdict if some else "undecided" for some in answers.values()])
        for question, answers in found
        if question.decisive
    ]
    decided += [measured[name].verdict if name in measured else "undecided" for name in claim.measured]
    commands = (*bench.commands, *(known.commands if known and measured else ()))
    return Record(
        claim=claim.id,
        verdict=all_held(decided),
        findings=(*findings, *measured.values()),
        commands=tuple(dict.fromkeys(filter(None, commands))),
        lacking=tuple(lacking),
        date=max({*bench.dates, known.date if known and measured else ""}),
    )


def _always(names: Sequence[str]) -> Named:
    return lambda _task: names


def _rows(home: Path) -> dict[str, Any]:
    """Return the records of a paper's claims as they are in the file."""
    if not (home / FILE).exists():
        return {}
    try:
        rows = json.loads((home / FILE).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{home / FILE} is no file of claims: {error}") from None
    if not isinstance(rows, dict):
        raise InputError(f"{home / FILE} is no file of claims: expected an object of records")
    return rows


@dataclass(slots=True)
class _Bench:
    """The results of a paper's models on the views of one suite, and the commands that made what was used."""

    paper: Reproduction
    shape: Shape
    home: Path
    commands: dict[str, None] = field(default_factory=dict)
    dates: set[str] = field(default_factory=set)
    scores: Mapping[str, Scores] = field(init=False)
    models: Mapping[str, tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        kept = Kept(self.home, self.shape)
        views = [self.shape]
        views += [self.shape.part("quick")] if "quick" in self.shape.suite.views else []
        whole = Scores(self.shape, kept)
        self.scores = {view.name: replace(whole, shape=view) for view in views}
        self.models = read_models(self.home)

    def finding(self, contrast: Contrast, scores: Scores, level: float) -> Finding | None:
        """Return what a contrast comes to on one view, None where a side has no results there."""
        sides = (contrast.ours, contrast.other)
        numbers = [_numbers(scores.shape, side, contrast.metrics) for side in sides]
        if not numbers[0] or len(numbers[0]) != len(numbers[1]):
            return None
        names = self._complete(scores, sides, numbers)
        ours, other = (
            scores.sample(wanted, _always(some), side.variant)
            for side, wanted, some in zip(sides, numbers, names, strict=True)
        )
        if isinstance(ours, str) or isinstance(other, str):
            return None
        above = scores.contrast(ours, other, relative=contrast.relative, level=level)
        if isinstance(above, str):
            raise InputError(f"{contrast.name}: {above}")
        for run, _ in (*ours.parts, *other.parts):
            self.commands[run.result.provenance.get("command", "")] = None
            self.dates.add(run.result.provenance.get("date", ""))
        fixed = [self.paper.models[re.split("[+@]", side.model)[0]].fixed for side in sides]
        return Finding(
            name=contrast.name,
            value=above.value,
            low=above.low,
            high=above.high,
            verdict=verdict((above.low, above.high), contrast.direction, contrast.margin),
            unit="%" if contrast.relative else "points",
            seeds=above.seeds,
            one_seed=any(k == 1 and not own for k, own in zip(above.seeds, fixed, strict=True)),
            n=above.n,
            tasks=len({number.task for number in numbers[0]}),
            view=scores.shape.name,
            level=level,
        )

    def _complete(
        self, scores: Scores, sides: Sequence[Side], numbers: Sequence[Sequence[Number]]
    ) -> list[list[str]]:
        """Return the models of each side that have every number, in pairs where they were named in pairs."""
        declared = scores.shape.declared()
        named = [self.models.get(side.model, ()) for side in sides]
        whole = [
            [all(scores.kept.status(name, declared[task]) == "done" for task in tasks) for name in names]
            for names, tasks in zip(named, map(_tasks, sides, numbers), strict=True)
        ]
        if len(named[0]) == len(named[1]):
            whole = [[a and b for a, b in zip(*whole, strict=True)]] * 2
        return [
            [name for name, kept in zip(names, flags, strict=True) if kept]
            for names, flags in zip(named, whole, strict=True)
        ]


def _answers(question: Question, bench: _Bench) -> dict[str, list[Finding]]:
    """Return what each contrast comes to on every view that has results, the deciding one first.

    The view with the most seeds decides, of such views the one with the most tasks.
    """
    answers = {}
    for contrast in question.contrasts:
        found = [bench.finding(contrast, scores, question.level) for scores in bench.scores.values()]
        there = sorted(
            (each for each in found if each),
            key=lambda f: (min(f.seeds), sum(f.seeds), f.tasks),
            reverse=True,
        )
        parts = {(each.seeds, each.tasks): each for each in reversed(there)}  # a view may be the whole group
        kept = [each for each in there if each in parts.values()]
        answers[contrast.name] = [
            replace(each, decides=question.decisive and i == 0) for i, each in enumerate(kept)
        ]
    return answers


def _numbers(shape: Shape, side: Side, metrics: tuple[str, ...]) -> tuple[Number, ...]:
    declared = shape.declared()
    names = shape.groups.get(side.group, ())
    return tuple(
        n for name in names if _has(declared, name, side) for n in metrics_of(declared[name], metrics)
    )


def _has(declared: Mapping[str, object], name: str, side: Side) -> bool:
    return not side.variant or f"{name}-{side.variant}" in declared


def _tasks(side: Side, numbers: Sequence[Number]) -> list[str]:
    return [f"{number.task}-{side.variant}" if side.variant else number.task for number in numbers]
