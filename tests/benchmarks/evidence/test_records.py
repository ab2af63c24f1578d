"""Records of verdicts from results made by hand, and the page that shows them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from evidence.claim import Claim, ContrastSide, ScoreContrast, require_all
from evidence.page import format_records
from evidence.records import decide_claim, read_record, write_record
from sciprism.errors import InputError
from sciprism.evaluation import results
from sciprism.evaluation.item_scores import ItemScores, bootstrap_interval, estimate
from sciprism.evaluation.results import Measure, TaskResult
from sciprism.evaluation.suites import suites
from sciprism.reproduce.estimates import write_models
from sciprism.reproduce.papers import GroupedSuite, Reproduction, TableModel

OPEN = suites["open"]
SUITE = GroupedSuite(suite=OPEN, groups={"search": ("cranfield", "npl"), "links": ("vis-citation",)})
MODELS = {"a": TableModel(title="A"), "b": TableModel(title="B"), "base": TableModel(title="Base", fixed=True)}
PAPER = Reproduction(name="small", title="Small", tables={}, models=MODELS, suites={"open": SUITE})


def result(folder, system, task, values, suite=SUITE):
    """Write a result of one model at a task, of these items in every metric."""
    declared, suite_name = suite.tasks_by_name()[task], suite.suite.name
    items = ItemScores(tuple(map(str, range(len(values)))), np.array(values, float), "mean")
    low, high = bootstrap_interval(items, seed=0)
    measure = Measure(value=estimate(items), low=low, high=high, n=len(values))
    known = {"key": declared.key, "format": declared.format, "group": declared.group, "system": {"name": system}}
    made = {"provenance": {"command": f"sciprism evaluate {system}", "date": "2026-01-02"}, "status": "done"}
    metrics = dict.fromkeys(declared.protocol.metrics, measure)
    done = TaskResult(suite=suite_name, task=task, metrics=metrics, **known, **made)
    folder = folder / results.folder_name(system) / suite_name
    results.write_result(folder, done, dict.fromkeys(metrics, items))


def contrast(ours, other, group="search", **facts):
    sides = ContrastSide(model=ours, group=group), ContrastSide(model=other, group=group)
    return ScoreContrast(name=f"{ours} over {other}, {group}", ours=sides[0], other=sides[1], **facts)


def write_runs(folder, keys, seeds=range(3), **facts):
    """Write what the runs came to: trainings of 100 steps that are a test, unless the facts say otherwise."""
    stages = [{"name": "only", "steps": 100, "examples": 3200, "step": 100}]
    run = {"stages": stages, "parameters": 22_565_376, "dev_of_backbone": 0.5, "dev_best": 0.6} | facts
    path = folder / "runs.json"
    known = json.loads(path.read_text())["runs"] if path.exists() else {}
    path.write_text(json.dumps({"runs": known | {f"{key}, seed {seed}": run for key in keys for seed in seeds}}))


def show(asked, found):
    return format_records([asked], {"X1": found}, {"small": "Ours is small."}, {"small": PAPER})


def claim(*questions):
    return Claim(id="X1", paper="small", text="A is better", figure="+1", test="a test", questions=questions)


@pytest.fixture
def folder(tmp_path):
    """Three seeds of a and b on the quick task, one of each on both; a is above b by 0.1 on every item."""
    random = np.random.default_rng(1)
    base = random.random(200) * 0.8
    result(tmp_path, "base", "cranfield", base)
    result(tmp_path, "base", "npl", base)
    for seed, shift in enumerate((0.0, 0.02, 0.04)):
        result(tmp_path, f"a-{seed}", "cranfield", base + 0.1 + shift)
        result(tmp_path, f"b-{seed}", "cranfield", base + shift)
    result(tmp_path, "a-1", "npl", base + 0.05)
    result(tmp_path, "b-1", "npl", base)
    names = {key: tuple(f"{key}-{seed}" for seed in range(3)) for key in "ab"}
    write_models(tmp_path, names | {"base": ["base"]})
    write_runs(tmp_path, "ab")
    return tmp_path


def test_the_part_with_the_most_seeds_decides_and_the_whole_stands_beside(folder):
    found = decide_claim(claim(*require_all(contrast("a", "b"))), PAPER, SUITE, folder)
    quick, whole = found.findings
    assert (quick.view, quick.seeds, quick.tasks, quick.decides) == ("open/quick", (3, 3), 1, True)
    assert (whole.view, whole.seeds, whole.tasks, whole.decides) == ("open", (1, 1), 2, False)
    # pairs of seeds and items
    assert [quick.value, quick.low, quick.high] == pytest.approx([0.1, 0.098, 0.102], abs=1e-3)
    assert whole.value == pytest.approx(0.075) and whole.one_seed and not quick.one_seed
    assert found.verdict == "held" and found.date == "2026-01-02"
    assert {*found.commands} == {f"sciprism evaluate {name}" for name in ("a-0", "b-0", "a-1", "b-1")}


@pytest.mark.parametrize(
    ("shift", "run", "reason"),
    [
        (-0.1, {"dev_whole": True}, "fall below the untouched backbone's, -10.0 ["),
        (-0.1, {}, "fall below the untouched backbone's"),
        (0.0, {"dev_best": 0.4}, ""),  # dev texts were cut: its tests decide
        (0.0, {"dev_best": 0.4, "dev_whole": True}, "0.400, is not above the untouched backbone's, 0.500"),
        (0.1, {"dev_whole": True}, ""),
        (0.1, {"stages": [{"name": "only", "steps": 9, "step": 0}]}, "kept step 0 of stage only"),
    ],
)
def test_an_arm_that_forgets_is_no_test(folder, shift, run, reason):
    paper = replace(PAPER, models=PAPER.models | {"backbone": TableModel(title="Untouched", fixed=True)})
    base = np.linspace(0.2, 0.8, 50)
    result(folder, "untouched", "vis-citation", base)
    for seed in range(3):
        result(folder, f"a-{seed}", "vis-citation", base + shift)
    names = {key: tuple(f"{key}-{seed}" for seed in range(3)) for key in "ab"}
    write_models(folder, names | {"base": ["base"], "backbone": ["untouched"]})
    write_runs(folder, "a", **run)
    found = decide_claim(claim(*require_all(contrast("a", "base"))), paper, SUITE, folder)
    assert reason in found.findings[0].untested and bool(found.findings[0].untested) == bool(reason)
    assert found.verdict == ("not tested" if reason else found.findings[0].verdict)


def test_what_contradicts_one_of_several_answers_has_a_wider_interval(folder):
    base = np.linspace(0, 0.8, 200)
    for seed, below in enumerate((0.03, 0.025, 0.02)):
        result(folder, f"b-{seed}", "cranfield", base)
        result(folder, f"a-{seed}", "cranfield", base - below)
    verdicts = {}
    for answers in (1, 4):  # t(2) at 95%: 4.3, at 98.75%: 8.9 standard errors of 0.0029
        found = decide_claim(claim(*require_all(contrast("a", "b")) * answers), PAPER, SUITE, folder)
        verdicts[found.verdict] = found.findings[0].level
    assert verdicts == {"opposite": 0.95, "undecided": 0.9875}


def test_a_figure_beyond_the_highest_score_does_not_count(folder):
    asked = claim(*require_all(contrast("a", "base", figure=0.7)))  # base has 0.4
    found = decide_claim(asked, PAPER, SUITE, folder)
    assert found.findings[0].no_room and found.verdict == "held"
    assert "| search (quick, 1) | (+70.00) |" in show(asked, found)
    found = decide_claim(claim(*require_all(contrast("a", "base", figure=0.5))), PAPER, SUITE, folder)
    assert not found.findings[0].no_room and found.verdict == "smaller than the paper's"


def test_what_is_not_measured_is_said(folder):
    links = contrast("a", "b", "links")
    assert decide_claim(claim(*require_all(links)), PAPER, SUITE, folder) is None
    assert decide_claim(claim(*require_all(contrast("a", "base"))), PAPER, SUITE, folder / "elsewhere") is None
    found = decide_claim(claim(*require_all(contrast("a", "b"), links)), PAPER, SUITE, folder)
    assert found.verdict == "not tested" and found.lacking == (links.name,)


def test_a_training_that_is_no_test_carries_no_verdict(folder):
    asked = claim(*require_all(contrast("a", "b", figure=0.2)))
    assert decide_claim(asked, PAPER, SUITE, folder).verdict == "smaller than the paper's"
    for facts, reason in (
        ({"dev_best": 0.5}, "0.500, is not above the untouched backbone's, 0.500"),
        ({"dev_of_backbone": None}, "not on file"),
    ):
        write_runs(folder, "b", seeds=[1], **facts)  # one seed of three is enough to doubt
        found = decide_claim(asked, PAPER, SUITE, folder)
        assert found.verdict == "not tested" and {finding.verdict for finding in found.findings} == {"not tested"}
        assert found.findings[0].untested.startswith("b: ") and reason in found.findings[0].untested
    assert f"Not tested: b: {found.arms[1].untested}." in show(asked, found)
    one = ContrastSide("b", "search"), ContrastSide("b", "search", "names-only")
    assert decide_claim(claim(*require_all(ScoreContrast("x", *one))), PAPER, SUITE, folder) is None
    (folder / "runs.json").unlink()
    found = decide_claim(asked, PAPER, SUITE, folder)
    assert found.findings[0].untested == "a: no record of its training"
    (folder / "runs.json").write_text('{"runs": {"a, seed 0": {"steps": 3}}}')
    found = decide_claim(asked, PAPER, SUITE, folder)
    assert found.findings[0].untested == "a: its training has no dev score"


def test_a_record_comes_back_and_a_broken_one_is_named(folder):
    record = decide_claim(claim(*require_all(contrast("a", "b"))), PAPER, SUITE, folder)
    path = write_record(folder, record)
    assert path == folder / "claims.json" and read_record(folder, "X1") == record and read_record(folder, "X2") is None
    write_record(folder, replace(record, claim="X0"))
    assert read_record(folder, "X1") == record and list(json.loads(path.read_text())) == ["X0", "X1"]
    for content, message in (('{"X1": {}}', "X1: not the record of a claim"), ("[", "not a file of claims")):
        path.write_text(content)
        with pytest.raises(InputError, match=message):
            read_record(folder, "X1")
