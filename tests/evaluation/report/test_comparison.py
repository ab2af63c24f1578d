"""What may be averaged and compared, with numbers worked by hand."""

import json

import numpy as np
import pytest

from sciprism.errors import InputError
from sciprism.evaluation import item_scores as evidences
from sciprism.evaluation.item_scores import holm
from sciprism.evaluation.report.build import Results, build_report, terminal
from sciprism.evaluation.report.model import are_apart, read_stored_results
from sciprism.evaluation.task import Average, Published, Suite, Task


def row(report, name):
    return next(row for row in report.rows if row.name == name)


def values(report, name):
    return [cell.score and round(cell.score.value, 10) for cell in row(report, name).cells]


def notes(report):
    return "\n".join(report.notes)


def suite(*tasks, **facts):
    declared = tuple(Task(name=name, format="search", protocol=None, data=None) for name in tasks)
    return Suite(name="own", tasks=declared, **facts)


def test_averages_are_over_tasks_that_all_systems_have(lab):
    lab.add("A", "one", {"map": [0.2, 0.4]})
    lab.add("A", "two", {"map": [1, 1]})
    lab.add("B", "one", {"map": [0.6, 0.8]})
    lab.add("B", "two", status="failed", reason="OSError: disk full")
    report = lab.report()
    average = row(report, "format search")
    assert values(report, average.name) == [0.3, 0.7]
    assert average.tasks == ("one",) and average.lacking == ("two (failed: B)",)
    assert average.title == "format search (incomplete: 1 of 2)"
    assert [cell.status for cell in row(report, "two map").cells] == ["done", "failed"]
    assert "B, two: failed: OSError: disk full" in report.notes


def test_a_suite_s_average_needs_all_of_its_tasks_and_stands_beside_published_rows(lab):
    declared = suite(
        "one",
        "two",
        "three",
        averages=(Average(name="Average", tasks=("one", "two", "three")),),
        published=(Published(name="SPECTER", source="table 2", scores={"Average": 67.9, "one": 50.0, "two": 1.0}),),
    )
    for task, score, key in (("two", 0.5, "an older declaration"), ("one", 0.3, declared.tasks[0].key)):
        lab.add("A", task, {"map": [score, score]}, key=key)
    report = lab.report({"own": declared})
    assert [row.task for row in report.rows if row.kind == "task"] == ["one", "two"]  # as declared
    average = row(report, "Average")
    assert values(report, "Average") == [0.4] and average.lacking == ("three (not run)",)
    assert "incomplete in own: Average: without three (not run)" in notes(report)
    (published,) = report.published["own"]
    assert published.scores == {"one": 50.0}, "neither of fewer tasks nor of another declaration"


def test_an_average_by_group_is_the_mean_of_the_means_of_groups(lab):
    both = {"tasks": ("one", "two", "three")}
    declared = suite(
        *both["tasks"], averages=(Average(name="micro", **both), Average(name="macro", **both, by_group=True))
    )
    for name, plus in (("A", 0.0), ("B", 0.1)):
        for task, group, score in (("one", "ner", 0.2), ("two", "ner", 0.4), ("three", "qa", 0.9)):
            seen = [score + plus * (group == "qa")] * 3
            lab.add(name, task, {"f1": seen}, group=group)
    report = lab.report({"own": declared})
    assert values(report, "micro") == [0.5, round(1.6 / 3, 10)]
    assert values(report, "macro") == [0.6, 0.65]  # (0.3 + 0.9) / 2, and with 1.0
    assert row(report, "macro").cells[1].difference.value == pytest.approx(0.05)
    assert row(report, "micro").cells[1].difference.value == pytest.approx(0.1 / 3)
    lab.add("B", "two", status="failed", group="ner")
    assert values(lab.report({"own": declared}), "macro") == [0.55, 0.6], "of what is left of each group"


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"key": "other"}, "another declaration (key other, not k)"),
        ({"provenance": {"data": {"test.jsonl": "bbb"}}}, "other data (test.jsonl changed)"),
        ({"provenance": {"data": {"elsewhere.jsonl": "bbb"}}}, "other data (other files were read)"),
    ],
)
def test_results_made_otherwise_are_not_compared(lab, facts, said):
    data = {"provenance": {"data": {"test.jsonl": "aaa"}}}
    lab.add("A", "one", {"map": [0.2, 0.4]}, **data)
    lab.add("A", "two", {"map": [0.2, 0.4]}, **data)
    lab.add("B", "one", {"map": [0.2, 0.6]}, **data)
    lab.add("B", "two", {"map": [0.2, 0.6]}, **data | facts)
    report = lab.report()
    cell = row(report, "two map").cells[1]
    assert cell.status == "not comparable" and cell.score is None
    assert f"not compared: B, two: {said}" in report.notes
    assert row(report, "format search").tasks == ("one",)


def test_the_baseline_says_what_others_must_compare_to(lab):
    lab.add("A", "one", {"map": [0.2, 0.4]}, key="old")
    lab.add("B", "one", {"map": [0.2, 0.4]})
    statuses = [[cell.status for cell in lab.report(baseline=i).rows[0].cells] for i in (0, 1)]
    assert statuses == [["done", "not comparable"], ["not comparable", "done"]]


def test_seeds_are_averaged_and_paired(lab):
    for seed, shift in ((0, 0.0), (1, 0.1), (2, 0.5)):
        lab.add("A", "one", {"map": [0.2 + shift, 0.4 + shift]}, seed=seed)
    for seed in (0, 1):
        lab.add("B", "one", {"map": [0.5, 0.7]}, seed=seed)
    lab.add("C", "one", {"map": [0.5, 0.7]}, seed=7)
    report = lab.report()
    first, second, third = row(report, "one map").cells
    assert first.score.value == pytest.approx(0.5) and first.score.seeds == 3
    assert first.score.sd == pytest.approx(np.std([0.3, 0.4, 0.8], ddof=1))
    # Over the seeds of both: mean(0.6 - 0.3, 0.6 - 0.4).
    assert second.difference.value == pytest.approx(0.25)
    assert third.difference is None
    assert "C, one: made with other seeds than the baseline" in notes(report)
    assert "seeds differ" in notes(report)


@pytest.mark.parametrize(("last", "far"), [(0.62, True), (0.58, False)])
def test_means_of_seeds_more_than_two_deviations_apart_are_marked(lab, last, far):
    """INDUS, by hand: A's mean is 0.4, its deviation 0.1; B's mean is `last`, without any."""
    for seed, value in ((0, 0.3), (1, 0.4), (2, 0.5)):
        for task in ("one", "two"):
            lab.add("A", task, {"map": [value, value]}, seed=seed)
            lab.add("B", task, {"map": [last, last]}, seed=seed)
    report = lab.report()
    for name in ("one map", "two map", "format search"):
        base, other = row(report, name).cells
        assert base.difference is None and other.difference.apart == far
    assert (" †" in terminal(report)) == far
    assert ("two standard deviations apart" in notes(report)) == far
    assert not are_apart((0.1,), (0.9,)), "one run has no deviation"


def test_vectors_of_another_format_and_equal_names_are_systems_of_their_own(lab):
    lab.add("A", "one", {"map": [0.2]})
    lab.add("A", "one", {"map": [0.3]}, encoded_format="proximity")
    assert lab.report().systems == ("A", "A as proximity")
    lab.add("A", "one", {"map": [0.4]}, folder="later")
    names = lab.report().systems
    assert len(names) == 3 and sum(name.startswith("A (") for name in names) == 2


def test_different_models_under_one_name_are_told(lab):
    for seed in (0, 1):
        lab.add("A", "one", {"map": [0.2]}, seed=seed, system={"name": "A", "fingerprint": f"f{seed}"})
    assert "A: its results are of 2 different models (fingerprints)" in lab.report().notes


def test_p_is_corrected_over_all_differences_that_are_shown(lab):
    random = np.random.default_rng(1)
    for task, shift in (("clear", 0.5), ("faint", 0.02), ("none", 0.0)):
        base = random.normal(0.3, 0.1, 100)
        lab.add("A", task, {"map": base})
        for name in "BC":
            noise = random.normal(0, 0.1, 100)
            lab.add(name, task, {"map": base + shift + noise - noise.mean()})
    report = lab.report()
    shown = [cell.difference for line in report.rows for cell in line.cells[1:]]
    assert len(shown) == 8  # three tasks and their average, of two systems
    assert [found.corrected for found in shown] == pytest.approx(holm([found.p for found in shown]))
    faint, clear = (row(report, f"{name} map").cells[1].difference for name in ("faint", "clear"))
    assert clear.marked_among_all and faint.marked and not faint.marked_among_all
    assert f"over {len(shown)} of tasks and averages" in notes(report)


def test_metrics_of_the_same_items_are_not_counted_twice(lab):
    """Two metrics with equal values say no more than one: the average's interval is that of either."""
    random = np.random.default_rng(2)
    for name in "AB":
        values = random.random(40)
        lab.add(name, "cite", {"map": values, "ndcg": values}, numbers="each")
        lab.add(name, "other", {"map": random.random(40)}, ids=[f"o{i}" for i in range(40)], format="proximity")
    report = lab.report()
    one, average = (row(report, name).cells[1].difference for name in ("cite map", "format search"))
    assert (one.low, one.high, one.p) == pytest.approx((average.low, average.high, average.p))
    together = row(report, "all").cells[1].difference
    other = row(report, "other map").cells[1].difference
    width = np.hypot(2 * (one.high - one.low), other.high - other.low) / 3
    assert together.high - together.low == pytest.approx(width, rel=0.05)


def test_items_are_paired_by_id_not_by_place(lab):
    lab.add("A", "one", {"map": [0.1, 0.5, 0.8]}, ids=["x", "y", "z"])
    lab.add("B", "one", {"map": [0.9, 0.2, 0.6]}, ids=["z", "x", "y"])
    lab.add("C", "one", {"map": [0.2, 0.6, 0.9]}, ids=["z", "x", "y"])
    alike, other = (cell.difference for cell in row(lab.report(), "one map").cells[1:])
    assert alike.p < 0.5 < other.p


def test_other_or_missing_items_are_said_not_tested(lab):
    lab.add("A", "one", {"map": [0.1, 0.5]})
    lab.add("B", "one", {"map": [0.2, 0.6]}, ids=["u", "v"])
    lab.add("C", "one", {"map": [0.2, 0.6]})
    next((lab.folder / "C").rglob("*.parquet")).unlink()
    report = lab.report()
    assert [cell.difference for cell in row(report, "one map").cells] == [None] * 3
    assert "B, one: other items were scored than for the baseline" in notes(report)
    assert "C, one: the items behind the numbers are missing" in notes(report)
    assert row(report, "one map").cells[2].score.low is not None  # stored with the result
    assert "no number of A is paired by item with another's" in notes(report)
    results = [run.result for run in read_stored_results([lab.folder])]
    assert "`sciprism compare RESULTS` computes and tests" in notes(Results(results).report())


def test_nothing_to_report_is_an_error(lab):
    with pytest.raises(InputError, match="no results"):
        build_report([], {})


def test_a_metric_without_a_value_is_no_score(lab):
    """A correlation with a constant, and a task without items, have no number and enter no average."""
    ids = [str(i) for i in range(4)]
    lab.add("A", "fine", {"map": [0.5, 0.5]})
    lab.write("A", "constant", {"tau": evidences.score_numbers(ids, range(4), [1] * 4, "kendall_tau")})
    lab.add("A", "empty", {"map": []})
    report = lab.report()
    cells = {row.task: row.cells[0] for row in report.rows if row.kind == "task"}
    assert {task: cell.status for task, cell in cells.items()} == {
        "constant": "undefined",
        "empty": "undefined",
        "fine": "done",
    }
    assert values(report, "format search") == [0.5]
    assert row(report, "format search").lacking == ("constant (undefined: A)", "empty (undefined: A)")
    json.dumps(report.to_json(), allow_nan=False)
