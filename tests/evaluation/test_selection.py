"""Tasks are named by suite, view, task or file, each is scored once, and a wrong name lists the known ones."""

from dataclasses import replace

import pytest

from sciprism.errors import InputError
from sciprism.evaluation.run import configure_tasks, select_tasks
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import Suite


def names(wanted, only=()):
    return {part.suite.name: [task.name for task in part.tasks] for part in select_tasks(wanted, only)}


def test_suites_views_and_tasks_have_names():
    whole = suites["open"]
    assert names("open") == {"open": [task.name for task in whole.tasks]}
    assert set(names("open/quick")["open/quick"]) == set(whole.views["quick"])
    assert names(["open/cranfield", "scidocs"]).keys() == {"open", "scidocs"}
    assert names("open/cranfield") == names("open", ["cranfield"]) == {"open": ["cranfield"]}


def test_tasks_without_a_suite_are_custom():
    (task, other) = suites["open"].tasks[:2]
    assert names([task, other]) == {"custom": [task.name, other.name]} and names(task) == {"custom": [task.name]}
    assert names(Suite(name="mine", tasks=(task,))) == {"mine": [task.name]}


@pytest.mark.parametrize(
    ("wanted", "only", "message"),
    [
        ("open/quick", ("reviewer",), "the suite open/quick has no task 'reviewer'; known: "),
        ("absent.toml", (), "absent.toml"),
    ],
)
def test_unknown_names_list_the_known_ones(wanted, only, message):
    with pytest.raises(InputError, match=message):
        select_tasks(wanted, only)


def test_settings_change_the_tasks_that_have_them():
    (part,) = select_tasks(["open/mag-titles", "open/cranfield"])
    (changed,) = configure_tasks([part], "sklearn", {"rate": [1e-3]})
    assert [getattr(task.protocol, "solver", None) for task in changed.tasks] == ["sklearn", None]
    assert changed.tasks[1] == part.tasks[1]
    (tuned,) = configure_tasks(TUNED, None, {"rate": [1e-4], "epochs": [2, 5]})
    before, after = (selected.tasks[0].protocol.tuning for selected in (*TUNED, tuned))
    assert after == replace(before, rates=(1e-4,), epochs=(2, 5))


TUNED = select_tasks(["open-nlu/open-acl-arc"])


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"lr": [1e-4]}, "unknown axis of the grid 'lr'; known: rate, batch, epochs"),
        ({"batch": [1.5]}, "whole numbers"),
        ({"rate": [0.0]}, "above 0"),
        ({"epochs": [3, 3]}, "different numbers"),
        ({"rate": []}, "different numbers"),
    ],
)
def test_what_is_no_grid(grid, message):
    with pytest.raises(InputError, match=message):
        configure_tasks(TUNED, None, grid)
