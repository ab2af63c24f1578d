"""Results made up with known items, written as `sciprism evaluate` writes them."""

from pathlib import Path

import numpy as np
import pytest

from sciprism.evaluation import results
from sciprism.evaluation.item_scores import ItemScores, bootstrap_interval, estimate
from sciprism.evaluation.report.build import build_report
from sciprism.evaluation.report.model import group_by_system, read_stored_results
from sciprism.evaluation.results import Measure, TaskResult


class Lab:
    """Writes results below a folder and reports on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name, task, metrics=None, *, ids=None, **facts):
        """Write one result; metrics: name -> what each item scored."""
        item_scores = {
            metric: ItemScores(tuple(ids or map(str, range(len(values)))), np.array(values, float), "mean")
            for metric, values in (metrics or {}).items()
        }
        return self.write(name, task, item_scores, **facts)

    def write(self, name, task, item_scores, *, folder="", **facts):
        """Write one result with the items behind its metrics."""
        base = {"suite": "own", "key": "k", "format": "search", "group": "", "status": "done"}
        facts = base | {"system": {"name": name}} | facts
        metrics = {metric: _measure(items) for metric, items in item_scores.items()}
        result = TaskResult(task=task, metrics=metrics, **facts)
        safe = results.folder_name(name, result.encoded_format, result.seed)
        results.write_result(self.folder / folder / safe, result, item_scores)
        return result

    def report(self, suites=None, *, baseline=0):
        """Report on everything written so far."""
        return build_report(group_by_system(read_stored_results([self.folder])), suites or {}, baseline=baseline)


def _measure(items):
    low, high = bootstrap_interval(items, seed=0)
    return Measure(value=estimate(items), low=low, high=high, n=len(items.ids))


@pytest.fixture(scope="session")
def make_lab(tmp_path_factory):
    """What makes a lab in a folder of its own, for tests of many examples."""
    return lambda: Lab(tmp_path_factory.mktemp("results"))


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path / "results")
