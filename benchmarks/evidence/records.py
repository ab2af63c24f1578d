"""Verdicts on claims from stored results, and their file: RESULTS/<paper>/claims.json."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from itertools import compress
from pathlib import Path

from pydantic import TypeAdapter

from evidence.arms import BACKBONE, Arm, Arms, list_in_train
from evidence.claim import Claim, ClaimQuestion, ContrastSide, ScoreContrast, versus
from evidence.verdict import CONTRADICTS, Verdict, combine_all, combine_any, combine_mixed, decide
from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.formats import FORMATS
from sciprism.reproduce.estimates import (
    Estimate,
    ScoreSample,
    SuiteScores,
    find_untrained_stage,
    read_models,
    read_records,
)
from sciprism.reproduce.papers import GroupedSuite, Reproduction, TaskScore, select_scores

FILE = "claims.json"
UNITS = {"points": 100.0, "%": 100.0}
"""Unit -> factor of printed values; other units are printed unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimFinding:
    """One contrast, measured on one view of the data.

    value, low, high, figure (the paper's, None if it prints none): in natural units. no_room: the figure does not
    count, since above the other side's score it would be more than the highest score. seeds: number of models of
    each side. one_seed: a model of ours had only one, so the interval is over items alone. n: items. view:
    suite, or suite/view. decides: whether it counts for the claim's verdict. untested: why it is no test, "" if
    it is one.
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
    figure: float | None = None
    no_room: bool = False
    untested: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRecord:
    """The verdict on a claim, its findings, and the commands that measured them.

    answers: name of each question of several contrasts -> its verdict. arms: what was trained for them.
    lacking: names of contrasts and measurements without results. remarks: of the command that measured.
    """

    claim: str
    verdict: Verdict
    findings: tuple[ClaimFinding, ...]
    answers: Mapping[str, Verdict] = field(default_factory=dict)
    arms: tuple[Arm, ...] = ()
    commands: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    date: str = ""
    remarks: tuple[str, ...] = ()


_RECORDS: TypeAdapter[ClaimRecord] = TypeAdapter(ClaimRecord)


def write_record(folder: Path, record: ClaimRecord) -> Path:
    """Write a record into the file of a paper's claims, sorted by id; return the file."""
    rows = read_records(folder / FILE, "claims", "records") | {record.claim: asdict(record)}
    write_json(folder / FILE, dict(sorted(rows.items())))
    return folder / FILE


def remove_record(folder: Path, claim: str) -> None:
    """Remove the record of a claim that has no results any more."""
    rows = read_records(folder / FILE, "claims", "records")
    if rows.pop(claim, None) is not None:
        write_json(folder / FILE, rows)


def read_record(folder: Path, claim: str) -> ClaimRecord | None:
    """Return the record of a claim, None if there is none; InputError for an invalid file."""
    row = read_records(folder / FILE, "claims", "records").get(claim)
    if row is None:
        return None
    try:
        return _RECORDS.validate_python(row)
    except ValueError as error:
        raise InputError(f"{folder / FILE}, {claim}: not the record of a claim: {error}") from None


def decide_claim(claim: Claim, paper: Reproduction, suite: GroupedSuite, folder: Path) -> ClaimRecord | None:
    """Return the verdict on a claim from the results in a folder; None if nothing was measured.

    Findings of other commands (`Claim.measured`) come from the existing record.
    """
    evaluator = ContrastEvaluator(paper, suite, folder)
    found = [(question, _find_answers(claim, question, evaluator)) for question in claim.questions]
    findings = [finding for _, answers in found for some in answers.values() for finding in some]
    known = read_record(folder, claim.id) if claim.measured else None
    measured = {f.name: f for f in (known.findings if known else ()) if f.name in claim.measured}
    if not findings and not measured:
        return None
    lacking = [name for _, answers in found for name, some in answers.items() if not some]
    lacking += [name for name in claim.measured if name not in measured]
    answered = [(question, _answer(question, answers)) for question, answers in found]
    decided = [verdict for question, verdict in answered if question.decisive]
    decided += [measured[name].verdict if name in measured else "not tested" for name in claim.measured]
    commands = (*evaluator.commands, *(known.commands if known and measured else ()))
    return ClaimRecord(
        claim=claim.id,
        verdict=combine_all(decided),
        findings=(*findings, *measured.values()),
        answers={question.name: verdict for question, verdict in answered if question.name},
        arms=evaluator.find_arms(claim),
        commands=tuple(dict.fromkeys(filter(None, commands))),
        lacking=tuple(lacking),
        date=max({*evaluator.dates, known.date if known and measured else ""}),
    )


@dataclass(slots=True)
class ContrastEvaluator:
    """Evaluates contrasts on the views of one suite; collects the commands and dates of the used results."""

    paper: Reproduction
    suite: GroupedSuite
    folder: Path
    commands: dict[str, None] = field(default_factory=dict)
    dates: set[str] = field(default_factory=set)
    views: Sequence[SuiteScores] = field(init=False)
    models: Mapping[str, tuple[str, ...]] = field(init=False)
    arms: Arms = field(init=False)
    untrained_stage: Callable[[str], str] = field(init=False)
    _judged: dict[str, Arm] = field(default_factory=dict)

    def __post_init__(self) -> None:
        scores = SuiteScores(self.suite, self.folder)
        self.views = [scores]
        if "quick" in self.suite.suite.views:
            self.views.append(replace(scores, suite=self.suite.select_view("quick")))
        self.models = read_models(self.folder)
        self.arms = Arms(self.folder, self.paper.models)
        self.untrained_stage = cache(partial(find_untrained_stage, self.folder))  # reads all results of a system

    def find_arms(self, claim: Claim) -> tuple[Arm, ...]:
        """Return the arms of the models that a claim compares, each once."""
        sides = (side for q in claim.questions for c in q.contrasts for side in (c.ours, c.other))
        keys = dict.fromkeys(side.key for side in sides if side.key in self.models)
        return tuple({arm.model: arm for key in keys for arm in self.judge_arms(key)}.values())

    def judge_arms(self, key: str) -> Iterator[Arm]:
        """Yield the arm of a model, or those of its members, each judged by its tests."""
        for arm in self.arms.find(key):
            if arm.model not in self._judged:
                self._judged[arm.model] = arm.judge(self._compare_in_train(arm.model))
            yield self._judged[arm.model]

    def _compare_in_train(self, model: str) -> dict[str, tuple[float, float, float]]:
        """Return a model's tests of the kinds that it trains on minus the backbone's, of each type, with limits."""
        systems = (*self.models.get(model, ()), *self.models.get(BACKBONE, ()))
        tasks, results = self.suite.tasks_by_name(), self.views[0]
        tests = tuple(
            name
            for name in list_in_train(self.paper.name, self.suite, model)
            if all(results.status(system, tasks[name]) == "done" for system in systems)
        )
        types = {kind: tuple(name for name in tests if tasks[name].format == kind) for kind in FORMATS}
        scores = replace(self.views[0], suite=replace(self.suite, groups=types))
        found = {kind: self._measure(versus(model, BACKBONE, kind), scores, 0.95) for kind in types if types[kind]}
        return {kind: (each[2].value, each[2].low, each[2].high) for kind, each in found.items() if each}

    def find_reason(self, contrast: ScoreContrast) -> str:
        """Return why the trainings of a contrast are no test of it; of one model with itself, any training is."""
        if contrast.ours.model == contrast.other.model:
            return ""
        sides = (contrast.ours, contrast.other)
        arms = (arm for side in sides for arm in self.judge_arms(side.key))
        doubts = [f"{arm.model}: {arm.untested}" for arm in arms if arm.untested]
        for side in sides:
            stages = map(self.untrained_stage, self.models.get(side.model, ()))
            doubts += [f"{side.model}: training kept step 0 of stage {stage}" for stage in stages if stage]
        return min(doubts, key=lambda doubt: "kept step 0" not in doubt, default="")  # the plainest reason

    def _measure(
        self, contrast: ScoreContrast, scores: SuiteScores, level: float
    ) -> tuple[ScoreSample, ScoreSample, Estimate] | None:
        """Return both sides of a contrast on one view and their difference, None if a side has no results there."""
        sides = (contrast.ours, contrast.other)
        wanted = [_select_side(scores.suite, side, contrast.metrics) for side in sides]
        if not wanted[0] or len(wanted[0]) != len(wanted[1]):
            return None
        names = self._find_complete(scores, sides, wanted)
        ours, other = (
            scores.sample(of_side, lambda _task: systems, side.variant)  # noqa: B023  # called at once
            for side, of_side, systems in zip(sides, wanted, names, strict=True)
        )
        if isinstance(ours, str) or isinstance(other, str):
            return None
        above = scores.contrast(ours, other, relative=contrast.relative, level=level)
        if isinstance(above, str):
            raise InputError(f"{contrast.name}: {above}")
        return ours, other, above

    def evaluate(self, contrast: ScoreContrast, scores: SuiteScores, level: float) -> ClaimFinding | None:
        """Return the finding of a contrast on one view, None if a side has no results there."""
        measured = self._measure(contrast, scores, level)
        if not measured:
            return None
        ours, other, above = measured
        sides = (contrast.ours, contrast.other)
        self._note_sources(ours, other)
        fixed = [self.paper.models[side.key].fixed for side in sides]
        untested, limits = self.find_reason(contrast), (above.low, above.high)
        has_room = contrast.has_room(other.value)
        figure = contrast.figure if has_room else None
        found = decide(limits, contrast.direction, margin=contrast.margin, figure=figure)
        return ClaimFinding(
            name=contrast.name,
            value=above.value,
            low=above.low,
            high=above.high,
            verdict="not tested" if untested else found,
            unit="%" if contrast.relative else "points",
            seeds=above.seeds,
            one_seed=any(k == 1 and not is_fixed for k, is_fixed in zip(above.seeds, fixed, strict=True)),
            n=above.n,
            tasks=len({run.result.task for run, _ in ours.parts}),
            view=scores.suite.name,
            level=level,
            figure=contrast.figure,
            no_room=not has_room,
            untested=untested,
        )

    def _note_sources(self, *samples: ScoreSample) -> None:
        for sample in samples:
            for run, _ in sample.parts:
                self.commands[run.result.provenance.get("command", "")] = None
                self.dates.add(run.result.provenance.get("date", ""))

    def _find_complete(
        self, scores: SuiteScores, sides: Sequence[ContrastSide], wanted: Sequence[Sequence[TaskScore]]
    ) -> list[list[str]]:
        """Return each side's systems that have every score; equally many systems are filtered in pairs."""
        tasks = scores.suite.tasks_by_name()
        names = [self.models.get(side.model, ()) for side in sides]

        def is_complete(name: str, side: ContrastSide, of_side: Sequence[TaskScore]) -> bool:
            found = (tasks[side.task(score.task)] for score in of_side)
            return all(scores.status(name, task) == "done" for task in found)

        complete = [
            [is_complete(name, side, of_side) for name in systems]
            for systems, side, of_side in zip(names, sides, wanted, strict=True)
        ]
        if len(names[0]) == len(names[1]):
            complete = [[a and b for a, b in zip(*complete, strict=True)]] * 2
        return [list(compress(*pair)) for pair in zip(names, complete, strict=True)]


def _find_answers(claim: Claim, question: ClaimQuestion, evaluator: ContrastEvaluator) -> dict[str, list[ClaimFinding]]:
    """Return each contrast's findings on all views with results, the deciding one first.

    The view with the most seeds decides; of several, the one with the most tasks. What contradicts the claim is
    decided at its own level.
    """

    def evaluate(contrast: ScoreContrast, scores: SuiteScores) -> ClaimFinding | None:
        found, against = evaluator.evaluate(contrast, scores, question.level), claim.find_level_against(question)
        if found and found.verdict in CONTRADICTS and against != question.level:
            return evaluator.evaluate(contrast, scores, against)
        return found

    answers = {}
    for contrast in question.contrasts:
        views = (evaluate(contrast, scores) for scores in evaluator.views)
        found = sorted(filter(None, views), key=lambda f: (min(f.seeds), sum(f.seeds), f.tasks), reverse=True)
        distinct: dict[object, ClaimFinding] = {}  # a view may have all tasks of the group
        for each in found:
            distinct.setdefault((each.seeds, each.tasks), each)
        answers[contrast.name] = [
            replace(each, decides=question.decisive and i == 0) for i, each in enumerate(distinct.values())
        ]
    return answers


def _answer(question: ClaimQuestion, answers: Mapping[str, Sequence[ClaimFinding]]) -> Verdict:
    """Return the verdict on a question from the deciding finding of each contrast."""
    found = [some[0] for some in answers.values() if some]
    verdicts = [each.verdict for each in found] + ["not tested"] * (len(answers) - len(found))
    if question.rule == "mixed":
        tested = [(each.low, each.high) for each in found if not each.untested]
        return combine_mixed(tested, verdicts)
    return combine_any(verdicts)


def _select_side(suite: GroupedSuite, side: ContrastSide, metrics: tuple[str, ...]) -> tuple[TaskScore, ...]:
    tasks = suite.tasks_by_name()
    names = (name for name in suite.groups.get(side.group, ()) if side.task(name) in tasks)
    return tuple(score for name in names for score in select_scores(tasks[name], metrics))
