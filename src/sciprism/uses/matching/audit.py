"""The audit of an assignment: what a chair needs to repeat it and to defend it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciprism.files import sha256
from sciprism.uses.matching.assignment import SolvedAssignment
from sciprism.uses.matching.result import Matching

if TYPE_CHECKING:
    from sciprism.encoders.protocols import EncoderProtocol


def hash_files(paths: Iterable[Path]) -> dict[str, str]:
    """Return path -> SHA-256 of files; of a folder, of each file in it."""
    found: dict[str, str] = {}
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                found[str(file)] = sha256(file)
    return found


def list_versions() -> dict[str, str]:
    """Return the versions of the packages that decide the result."""
    found = {}
    for name in ("sciprism", "highspy", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a folder without installing
            continue
    return found


def describe_encoder(encoder: EncoderProtocol | None) -> dict[str, str] | None:
    """Return name and fingerprint of the encoder; None where scores were given."""
    if encoder is None:
        return None
    return {"name": str(getattr(encoder, "name", "")), "fingerprint": encoder.fingerprint}


def describe_result(matching: Matching, solved: SolvedAssignment) -> dict[str, Any]:
    """Return the numbers of the assignment and its worst-served submissions. Scores are means of each submission."""
    papers = len(matching.by_paper())
    per_paper = len(matching) / max(1, papers)
    loads = Counter(matching.loads().values())
    worst = matching.worst()
    result: dict[str, Any] = {
        "pairs": len(matching),
        "mean score": _round(np.mean([pair.score for pair in matching.pairs])),
        "mean value": _round(np.mean([pair.value for pair in matching.pairs])),
        "worst submission": _round(worst[0][1]),
        "reviewers by load": {str(load): loads[load] for load in sorted(loads)},
        "pairs with a bid above 0": sum(pair.bid > 0 for pair in matching.pairs),
        "pairs with a bid below 0": sum(pair.bid < 0 for pair in matching.pairs),
    }
    if solved.bound is not None:
        result["worst submission, upper bound"] = _round(solved.bound / per_paper)
    if solved.best_sum is not None:
        result["share of the highest sum"] = _round(solved.values.sum() / solved.best_sum if solved.best_sum else 1.0)
    if solved.kept is not None:
        result |= {"kept of the earlier assignment": solved.kept, "moved": solved.moved}
    if solved.probabilities is not None:
        result["mean probability of the sampled pairs"] = _round(solved.probabilities.mean())
    result["worst-served submissions"] = [
        {
            "paper": paper,
            "title": own[0].title,
            "mean value": _round(mean),
            "reviewers": [{"reviewer": pair.reviewer, "score": pair.score, "reason": pair.reason} for pair in own],
        }
        for paper, mean, own in worst
    ]
    return result


def build_audit(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of an audit with its schema and the versions first."""
    return {"schema": "sciprism.match-audit/1", "versions": list_versions(), **parts}


def _round(value: Any) -> float:
    return round(float(value), 6)
