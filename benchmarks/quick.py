"""Check that the quick view of the open suite ranks encoders as its other tasks do, over all results on file.

The encoders are those of results/ that have a number for every task that most have; encoders that differ little, as
many trained ones do, are hard to rank. The quick view and the rest of the suite share no task. Run from the repository
root:

    python benchmarks/quick.py -o results/quick.json
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import kendalltau, spearmanr

from measurement import build_parser, provenance, write_result
from sciprism.evaluation.results import TaskResult, read_pack
from sciprism.evaluation.suites import suites

RESULTS = Path(__file__).parent.parent / "results"
PACKS = [RESULTS / name / "open.results.jsonl.gz" for name in ("benchmarks", "small", "base", "scirepeval", "prism")]
TASKS = 39
"""Tasks that every encoder of the studies was scored on."""
SAMPLES = 2000


def read_scores() -> dict[str, dict[str, TaskResult]]:
    """Return encoder -> task -> its result, of encoders with enough of them."""
    found: dict[str, dict[str, TaskResult]] = {}
    for pack in PACKS:
        for result in read_pack(pack).results.values():
            if result.status == "done":
                found.setdefault(result.system["name"], {})[result.task] = result
    return {name: tasks for name, tasks in found.items() if len(tasks) >= TASKS}


def mean_score(results: dict[str, TaskResult], names: set[str]) -> float:
    return float(np.mean([value for name in sorted(names) for value in results[name].values()]))


def correlate(rows: np.ndarray) -> dict[str, object]:
    """Return rank correlations of the columns of rows (n, 2) with 95% intervals by a bootstrap over encoders."""
    drawn = rows[np.random.default_rng(0).integers(0, len(rows), (SAMPLES, len(rows)))]
    found: dict[str, object] = {"n": len(rows)}
    for name, measure in (("spearman", spearmanr), ("kendall_tau", kendalltau)):
        low, high = np.nanpercentile([measure(*sample.T)[0] for sample in drawn], [2.5, 97.5])
        found[name] = {"value": float(measure(*rows.T)[0]), "low": float(low), "high": float(high)}
    return found


def main() -> None:
    args = build_parser(__doc__).parse_args()
    scores = read_scores()
    quick, shared = set(suites["open"].views["quick"]), set.intersection(*(set(tasks) for tasks in scores.values()))
    parts = {"quick": shared & quick, "rest": shared - quick}
    means = {name: {part: mean_score(tasks, of) for part, of in parts.items()} for name, tasks in scores.items()}
    facts = {f"tasks, {part}": sorted(of) for part, of in parts.items()} | {"encoders": means}
    facts["quick and rest"] = correlate(np.array([list(each.values()) for each in means.values()]))
    print(facts["quick and rest"])
    write_result(args.output, provenance(["numpy", "scipy"], **facts))


if __name__ == "__main__":
    main()
