"""From results on disk to the samples that tables and claims compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sciprism.evaluation.report.entrants import Run
from sciprism.evaluation.report.resampling import Resampler
from sciprism.evaluation.results import seeded
from sciprism.reproduce.tables.declared import Number, Shape
from sciprism.reproduce.tables.kept import Kept
from sciprism.reproduce.tables.measured import Estimate, Sample, contrast, sample, unpaired

Named = Callable[[str], Sequence[str]]
"""Task -> the systems that stand in a row there, one per seed; a task may have several runs of each."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The numbers of one suite's results, resampled alike for all who ask."""

    shape: Shape
    kept: Kept
    resampler: Resampler = field(default_factory=Resampler)

    def sample(
        self, numbers: Sequence[Number], named: Named, variant: str = "", weights: Sequence[float] = ()
    ) -> Sample | str:
        """Return the mean of some numbers over a row's systems, or the word for why there is none."""
        declared = self.shape.declared()
        own = [replace(number, task=f"{number.task}-{variant}") if variant else number for number in numbers]
        found: list[Sequence[Run]] = []  # number by number, over seeds
        for number in own:
            task = declared[number.task]
            names = [seeded(name, seed) for name in named(number.task) for seed in range(task.seeds)]
            statuses = [self.kept.status(name, task) for name in names] or ["not run"]
            worst = next((word for word in ("failed", "not served", "not run") if word in statuses), "")
            if worst:
                return worst
            found.append([run for name in names if (run := self.kept.run(name, task))])
        if len({len(runs) for runs in found}) > 1:
            return "seeds differ"
        return sample(own, list(zip(*found, strict=True)), self.resampler, weights)

    def contrast(
        self, mine: Sample, base: Sample, *, relative: bool = False, level: float = 0.95
    ) -> Estimate | str:
        """Return how far one sample is above another, or why they do not compare."""
        reason = unpaired(mine, base, self.resampler)
        return reason or contrast(mine, base, relative=relative, level=level)
