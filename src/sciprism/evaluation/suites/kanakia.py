"""The user study behind SciMult's recommendation task (Kanakia et al., WWW 2019), and its recommender."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.task import Published
from sciprism.metrics.rankings import grade_rankings, parse_metric

METRICS = ("ndcg@5", "ndcg@10", "ndcg")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRow:
    """One recommendation that a user scored from 1 to 5, with its rank in the recommender's list or None."""

    paper: str
    recommended: str
    score: int
    rank: float | None


def read_study(path: Path, dropped: DropReport, rank: str = "ComputedRankGlobal") -> Iterator[StudyRow]:
    """Yield the scored rows of `user_study_results.tsv`; those with an empty score or 0 are counted.

    rank: the column of the ranking; `ComputedRankGlobal` is the recommender's order of both its methods
    together, the `Study...` columns are orders by the users' scores.
    """
    for number, row in enumerate(DataRoot().records(path), 2):
        if rank not in row or "StudyScore" not in row:
            raise InputError(f"{path}: no column {rank} or StudyScore; it has {', '.join(map(str, row))}")
        paper, recommended = as_id(row.get("PaperId")), as_id(row.get("RecommendedPaperId"))
        score = _number(row["StudyScore"], f"{path}, line {number}")
        if not score:
            dropped.add("recommendation without a score", f"{paper} {recommended}")
            continue
        position = _number(row[rank], f"{path}, line {number}")
        yield StudyRow(paper=paper, recommended=recommended, score=int(score), rank=position)


def score_kanakia_ranking(path: str | Path, rank: str = "ComputedRankGlobal") -> Published:
    """Return the scores of the study's recommender on its users' grades: nDCG@5, @10, full; times 100.

    The gain is the raw grade, as in SciMult (the study's script uses 2^grade - 1). An unranked recommendation
    counts as not retrieved; the first row of a repeated pair counts. SciMult dropped papers whose text it
    could not find, so its printed row (83.88, 87.71, 93.59) may differ.
    """
    dropped = DropReport()
    grades: dict[str, dict[str, int]] = {}
    ranks: dict[str, dict[str, float]] = {}
    for row in read_study(Path(path), dropped, rank):
        if row.recommended in grades.setdefault(row.paper, {}):
            continue
        grades[row.paper][row.recommended] = row.score
        if row.rank is not None:
            ranks.setdefault(row.paper, {})[row.recommended] = -row.rank
    if not grades:
        raise InputError(f"{path} has no scored recommendation")
    run = {paper: (list(mine), np.array(list(mine.values()))) for paper, mine in ranks.items()}
    rankings = grade_rankings(run, grades, missing="zero")
    scores = {name: 100 * float(parse_metric(name)(rankings).mean()) for name in METRICS}
    return Published(
        name="Kanakia et al., recomputed",
        source=f"{len(grades)} papers of {Path(path).name}, {rank}",
        scores={f"recommendation {name}": round(value, 2) for name, value in scores.items()},
    )


def _number(value: Any, where: str) -> float | None:
    text = str(value if value is not None else "").strip()
    if text.lower() in ("", "nan", "null"):
        return None
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"{where}: {text!r} is not a number") from None
    return number if math.isfinite(number) else None
