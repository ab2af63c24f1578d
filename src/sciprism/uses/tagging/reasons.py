"""Why a label is suggested, in a few words."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import shorten

from sciprism.arrays import Floats
from sciprism.uses.tagging.evidence import FEATURES
from sciprism.uses.tagging.name_matches import Match

MAX_REASONS = 2
MAX_NAME = 60
LEAST_VOTES = 1
_COLUMN = {name: number for number, name in enumerate(FEATURES)}


def explain(features: Floats, match: Match | None, neighbours: int) -> str:
    """Return the strongest reasons for one label: its name, near papers, its words, its meaning.

    features: (f,), of `FEATURES`. neighbours: near papers that were counted.
    """
    parts = []
    if match is not None:
        parts.append(f"found in {match.where}: {shorten(match.text, MAX_NAME, placeholder='...')!r}")

    def value(name: str) -> float:
        return float(features[_COLUMN[name]])

    if (near := round(value("near papers") * neighbours)) >= LEAST_VOTES:
        parts.append(f"{near} of {neighbours} nearest papers")
    parts += _explain_scores(value, match is not None)
    return "; ".join(parts[:MAX_REASONS])


def _explain_scores(value: Callable[[str], float], named: bool) -> list[str]:
    parts = []
    if value("linear") > 0.1:
        parts.append("words and meaning like its papers'")
    if value("coverage") >= 0.5 and not named:
        parts.append("most words of its name")
    parts.append(f"its meaning is near (cosine {value('cosine'):.2f})")
    return parts
