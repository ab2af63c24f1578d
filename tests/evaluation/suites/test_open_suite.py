"""The open suite: what it covers, what it costs, and that no test paper trains."""

import os
from pathlib import Path

import pytest

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import ProbeInput, Signatures
from sciprism.datasets.open_data import list_paper_keys
from sciprism.evaluation.overlap import list_test_papers
from sciprism.evaluation.results import read_pack
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import protocols
from sciprism.formats import FORMATS

OPEN = suites["open"]
COUNTED = OPEN.tasks_of("all")
VARIANTS = [task.name for task in OPEN.tasks if task not in COUNTED]
"""Words from which a text costs as much as a title with its abstract."""
COUNTS = ("train", "test", "queries", "documents", "papers", "labels", "classes", "submissions", "reviewers")
RESULTS = Path(__file__).parents[3] / "results" / "benchmarks" / "open.results.jsonl.gz"
SCIMULT = {"fine", "coarse", "retrieval", "reranking", "search"}
NEEDED = {"probe", "rerank", "retrieve", "label", "nearest-label", "match", "cluster"}


def kinds(tasks):
    known = {kind: name for name, kind in protocols.items()}
    return {known[type(task.protocol)] for task in tasks}


def test_it_covers_every_format_group_and_protocol_also_in_quick():
    quick = [task for task in OPEN.tasks if task.name in OPEN.views["quick"]]
    assert suites["open"] is OPEN and len(OPEN.tasks) >= 24
    for tasks in (OPEN.tasks, quick):
        assert {task.format for task in tasks} == set(FORMATS)
        assert SCIMULT | {"regression", "classification", "matching", "clustering"} == {t.group for t in tasks}
        assert kinds(tasks) >= NEEDED
        assert {task.in_train for task in tasks} == {True, False}
    assert all(task.reference for task in OPEN.tasks)


def test_averages_count_no_data_twice():
    averages = {average.name: average.tasks for average in OPEN.averages}
    assert set(averages["all"]) == {task.name for task in COUNTED} == {*averages["in-train"], *averages["out-of-train"]}
    assert not set(VARIANTS) & {name for tasks in averages.values() for name in tasks}
    assert len({(task.data, kind) for task in COUNTED for kind in kinds([task])}) == len(COUNTED)
    assert all(averages[f"format {name}"] for name in FORMATS)


def test_remarks_say_what_each_task_stands_in_for_and_how_many_items_it_has():
    """The counts are those of the stored results; the paper's own data, where a task has them, are named too."""
    stored = {task: result for (_, task), result in read_pack(RESULTS).results.items() if result.status == "done"}
    for task in COUNTED:
        assert "in place of " in task.remark or "itself" in task.remark, task.name
        found = stored[task.name].details
        counts = [found[name] for name in COUNTS if name in found and task.group != "clustering"]
        assert [n for n in counts if f"{n:,}" not in task.remark] == [], task.name
    assert all(task.remark.startswith("as ") for task in OPEN.tasks if task.name in VARIANTS)


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
