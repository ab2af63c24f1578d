"""From stored results to the samples that tables and claims compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sciprism.evaluation.report.resampling import Resampler
from sciprism.evaluation.report.system_results import StoredResult
from sciprism.evaluation.results import seed_folder
from sciprism.reproduce.estimates import (
    Estimate,
    ScoreSample,
    build_sample,
    estimate_difference,
    find_mismatch,
)
from sciprism.reproduce.result_folder import ResultFolder
from sciprism.reproduce.table import GroupedSuite, TaskScore

SystemsOfTask = Callable[[str], Sequence[str]]
"""Task -> the systems of a row there, one per seed; a task may have several runs of each."""


@dataclass(frozen=True, slots=True)
class SuiteScores:
    """The scores of one suite's results; all samples share their resampled items."""

    suite: GroupedSuite
    results: ResultFolder
    resampler: Resampler = field(default_factory=Resampler)

    def sample(
        self,
        scores: Sequence[TaskScore],
        systems: SystemsOfTask,
        variant: str = "",
        weights: Sequence[float] = (),
    ) -> ScoreSample | str:
        """Return the mean of some scores over a row's systems, or a word for why there is none."""
        tasks = self.suite.tasks_by_name()
        if variant:
            scores = [replace(score, task=f"{score.task}-{variant}") for score in scores]
        found: list[Sequence[StoredResult]] = []  # per score, over seeds
        for score in scores:
            task = tasks[score.task]
            names = [seed_folder(name, seed) for name in systems(score.task) for seed in range(task.seeds)]
            statuses = [self.results.status(name, task) for name in names] or ["not run"]
            worst = next((word for word in ("failed", "not served", "not run") if word in statuses), "")
            if worst:
                return worst
            found.append([run for name in names if (run := self.results.run(name, task))])
        if len({len(runs) for runs in found}) > 1:
            return "seeds differ"
        return build_sample(scores, list(zip(*found, strict=True)), self.resampler, weights)

    def contrast(
        self, score: ScoreSample, base: ScoreSample, *, relative: bool = False, level: float = 0.95
    ) -> Estimate | str:
        """Return the difference of two samples, or why they do not compare."""
        reason = find_mismatch(score, base, self.resampler)
        return reason or estimate_difference(score, base, relative=relative, level=level)
