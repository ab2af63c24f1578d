"""What all declared suites have in common, and whether the printed tables fit the averages declared."""

import pytest

from sciprism.evaluation.suites import suites

PUBLISHED = sorted(name for name, suite in suites.items() if suite.published)


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
