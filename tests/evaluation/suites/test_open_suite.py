"""The open suite: its averages, and that no test paper trains."""

import os

import pytest

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import ProbeInput, Signatures
from sciprism.datasets.open_data import list_paper_keys
from sciprism.evaluation.overlap import list_test_papers
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import protocols
from sciprism.formats import FORMATS

OPEN = suites["open"]
COUNTED = OPEN.tasks_of("all")
VARIANTS = [task.name for task in OPEN.tasks if task not in COUNTED]


def kinds(tasks):
    known = {kind: name for name, kind in protocols.items()}
    return {known[type(task.protocol)] for task in tasks}


def test_averages_count_no_data_twice():
    averages = {average.name: average.tasks for average in OPEN.averages}
    assert set(averages["all"]) == {task.name for task in COUNTED} == {*averages["in-train"], *averages["out-of-train"]}
    assert not set(VARIANTS) & {name for tasks in averages.values() for name in tasks}
    assert len({(task.data, kind) for task in COUNTED for kind in kinds([task])}) == len(COUNTED)
    assert all(averages[f"format {name}"] for name in FORMATS)


@pytest.fixture(scope="module")
def inputs():
    home = DataRoot(os.environ["SCIPRISM_DATA"])
    return {task.name: task.data.read(home) for task in OPEN.tasks}


def trained(data) -> list:
    """Return the papers of the train rows."""
    if isinstance(data, ProbeInput):
        return [data.items[row] for row in data.train]
    if isinstance(data, Signatures):
        return [data.papers[each.paper] for each in data.signatures if each.block in data.train]
    return []


@pytest.mark.data
@pytest.mark.slow
def test_no_test_paper_of_any_task_is_a_train_paper_of_any(inputs):
    tested: dict[str, str] = {}
    for task, data in inputs.items():
        for paper in list_test_papers(data):
            tested.update(dict.fromkeys(list_paper_keys(paper), task))
    assert len(tested) > 60_000
    for task, data in inputs.items():
        for paper in trained(data):
            leaks = {tested[key] for key in list_paper_keys(paper) if key in tested}
            assert not leaks, f"{task} trains on {paper.id}, a test paper of {leaks}"
