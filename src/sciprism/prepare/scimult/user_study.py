"""The user study behind SciMult's recommendation task (Kanakia et al., WWW 2019)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError


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


def _number(value: Any, where: str) -> float | None:
    text = str(value if value is not None else "").strip()
    if text.lower() in ("", "nan", "null"):
        return None
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"{where}: {text!r} is not a number") from None
    return number if math.isfinite(number) else None
