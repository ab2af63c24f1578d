"""What all declared suites have in common, and whether the printed tables fit the averages declared."""

import pytest

from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import to_declaration
from sciprism.prepare.sources.citation_corpus import MULTI_SCIDOCS

PUBLISHED = (
    "beir",
    "beir-science",
    "blurb",
    "climate-ner",
    "multi-scidocs",
    "nasa-ir",
    "nasa-qa",
    "open-nlu",
    "pmc-patients",
    "scidocs",
    "scimult",
    "scirepeval",
    "scirepeval-paper",
)
TASKS = [(name, task) for name in PUBLISHED for task in suites[name].tasks]


def columns(task):
    """The columns that a task may fill in a table."""
    return {task.name} | {f"{task.name} {metric}" for metric in task.protocol.metrics}


def numbers(suite, average):
    """How many numbers an average is the mean of."""
    tasks = {task.name: task for task in suite.tasks}
    return sum(len(tasks[n].protocol.metrics) if tasks[n].numbers == "each" else 1 for n in average.tasks)


def found(suite, name):
    return next(average for average in suite.averages if average.name == name)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_name_is_the_registered_one(name):
    assert suites[name].name == name and suites[name].reference


@pytest.mark.parametrize(("suite", "task"), TASKS, ids=[f"{suite}/{task.name}" for suite, task in TASKS])
def test_a_declaration_says_what_and_where(suite, task):
    data = to_declaration(task.data)
    inside = data.get("hub") or data.get("files") or data
    assert task.reference and task.protocol.metrics and task.group
    assert inside.keys() & {"repo", "folder", "owner", "path"}, "where the data lie"
    assert callable(task.data.read)
    assert len(task.key) == 16


def test_one_name_is_one_declaration():
    keys = {}
    for _, task in TASKS:
        assert keys.setdefault(task.name, task.key) == task.key


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_columns_are_averages_tasks_or_metrics(name):
    suite = suites[name]
    known = {average.name for average in suite.averages}.union(*map(columns, suite.tasks))
    for row in suite.published:
        assert set(row.scores) <= known, row.name
        assert row.source and all(0 <= score <= 100 for score in row.scores.values())


def test_the_numbers_behind_scirepevals_averages():
    paper, released = suites["scirepeval-paper"], suites["scirepeval"]
    counts = [numbers(paper, found(paper, name)) for name in ("In-Train", "Out-of-Train", "SciDocs", "Average")]
    assert counts == [7, 11, 10, 28]
    counts = [numbers(released, found(released, name)) for name in ("In-Train", "Out-of-Train", "Average")]
    assert counts == [7, 20, 27]
    near = [numbers(paper, average) for average in paper.averages if average.name.endswith("(proximity)")]
    assert near == [2, 4, 8, 14]


@pytest.mark.parametrize(("name", "count"), [("scidocs", 12), ("multi-scidocs", 5), ("beir", 12)])
def test_plain_means(name, count):
    suite = suites[name]
    assert numbers(suite, found(suite, "Average")) == count


def test_the_numbers_behind_scimults_averages():
    suite = suites["scimult"]
    counts = {average.name: numbers(suite, average) for average in suite.averages}
    assert list(counts.values()) == [12, 12, 4, 9, 11, 5]


def test_published_variants_are_the_default():
    by_name = {task.name: task for _, task in TASKS}
    assert by_name["fos"].protocol.loss == "hinge" and by_name["fos"].protocol.few_shot[0].per_label
    assert by_name["biomimicry"].data.positive == "1" and not by_name["drsm"].protocol.few_shot[0].per_label
    assert by_name["search"].fields == ("title", "abstract", "venue", "year")
    assert by_name["cite"].protocol.decimals == 5 and by_name["scidocs-cite"].protocol.decimals is None
    assert by_name["multi-cite"].protocol.distance == "cosine" and by_name["cite"].protocol.distance == "euclidean"
    assert min(by_name["mag"].protocol.grid) == 1e-4 and min(by_name["scidocs-mag"].protocol.grid) == 1e-2
    assert by_name["beir-arguana"].data.without_itself and not by_name["nasa-ir"].data.without_itself
    assert not by_name["link-cite"].data.without_itself


def test_multi_scidocs_is_in_the_folder_that_prepare_writes():
    assert {task.data.folder for task in suites["multi-scidocs"].tasks} == {MULTI_SCIDOCS}
