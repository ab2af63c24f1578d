"""Records of verdicts from results made by hand, and the page that shows them."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sciprism.errors import InputError
from sciprism.evaluation import results
from sciprism.evaluation.item_scores import Evidence, estimate, interval
from sciprism.evaluation.results import Measure, TaskResult
from sciprism.evaluation.suites.registry import suites
from sciprism.reproduce.claims.declared import Claim, Contrast, Side, all_of, any_of, beside
from sciprism.reproduce.claims.page import page
from sciprism.reproduce.claims.records import Finding, Record, measure, read, write
from sciprism.reproduce.claims.registry import claims
from sciprism.reproduce.tables.declared import Model, Reproduction, Shape
from sciprism.reproduce.tables.kept import write_models
from sciprism.reproduce.tables.registry import reproductions

ROOT = Path(__file__).parent.parent.parent.parent
OPEN = suites["open"]
PAPER = Reproduction(
    name="small",
    title="Small",
    tables={},
    models={"a": Model(title="A"), "b": Model(title="B"), "base": Model(title="Base", fixed=True)},
    shapes={"open": Shape(suite=OPEN, groups={"search": ("cranfield", "npl"), "links": ("vis-citation",)})},
)
SHAPE = PAPER.shapes["open"]


def result(home, system, task, values, shape=SHAPE, **facts):
    """Write a result of one model at a task, of these items in every metric."""
    declared, suite = shape.declared()[task], shape.suite.name
    items = Evidence(tuple(map(str, range(len(values)))), np.array(values, float), "mean")
    low, high = interval(items, seed=0)
    measure = Measure(value=estimate(items), low=low, high=high, n=len(values))
    done = TaskResult(
        suite=suite,
        task=task,
        key=declared.key,
        format=declared.format,
        group=declared.group,
        system={"name": system},
        status="done",
        metrics=dict.fromkeys(declared.protocol.metrics, measure),
        provenance={"command": f"sciprism evaluate {system}", "date": "2026-01-02"},
    )
    folder = home / results.folder_name(system) / suite
    results.write(folder, replace(done, **facts), dict.fromkeys(declared.protocol.metrics, items))


def contrast(ours, other, group="search", **facts):
    sides = Side(model=ours, group=group), Side(model=other, group=group)
    return Contrast(name=f"{ours} over {other}, {group}", ours=sides[0], other=sides[1], **facts)


def claim(*questions):
    return Claim(id="X1", paper="small", text="A is better", figure="+1", test="a test", questions=questions)


@pytest.fixture
def home(tmp_path):
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
    return tmp_path


def test_the_part_with_the_most_seeds_decides_and_the_whole_stands_beside(home):
    found = measure(claim(*all_of(contrast("a", "b"))), PAPER, SHAPE, home)
    quick, whole = found.findings
    assert (quick.view, quick.seeds, quick.tasks, quick.decides) == ("open/quick", (3, 3), 1, True)
    assert (whole.view, whole.seeds, whole.tasks, whole.decides) == ("open", (1, 1), 2, False)
    assert [quick.value, quick.low, quick.high] == pytest.approx([0.1, 0.1, 0.1])  # pairs of seeds and items
    assert whole.value == pytest.approx(0.075) and whole.one_seed and not quick.one_seed
    assert found.verdict == "held" and found.date == "2026-01-02"
    assert set(found.commands) == {
        "sciprism evaluate a-0",
        "sciprism evaluate b-0",
        "sciprism evaluate a-1",
        "sciprism evaluate b-1",
    }


def test_verdicts_of_several_questions(home):
    more = contrast("b", "base")  # 0.02 on average over seeds, t(2) is wide: 0.02 +- 0.05
    found = measure(claim(*all_of(contrast("a", "b"), more)), PAPER, SHAPE, home)
    seeds = next(f for f in found.findings if f.name == more.name and f.decides)
    assert seeds.seeds == (3, 1) and seeds.low < 0 < seeds.high and not seeds.one_seed
    assert seeds.high == pytest.approx(0.02 + 4.303 * 0.02 / 3**0.5, rel=0.1)
    assert found.verdict == "undecided"
    assert measure(claim(*any_of(contrast("a", "b"), more)), PAPER, SHAPE, home).verdict == "held"
    assert measure(claim(*all_of(contrast("b", "a"))), PAPER, SHAPE, home).verdict == "not held"
    assert (
        measure(claim(*all_of(contrast("a", "b")), *beside(contrast("b", "a"))), PAPER, SHAPE, home).verdict
        == "held"
    )


def test_what_is_not_measured_is_said(home):
    links = contrast("a", "b", "links")
    assert measure(claim(*all_of(links)), PAPER, SHAPE, home) is None
    assert measure(claim(*all_of(contrast("a", "base"))), PAPER, SHAPE, home / "elsewhere") is None
    found = measure(claim(*all_of(contrast("a", "b"), links)), PAPER, SHAPE, home)
    assert found.verdict == "undecided" and found.lacking == (links.name,)


def test_results_of_another_declaration_or_that_failed_do_not_count(home):
    result(home, "a-0", "cranfield", [0.1, 0.2], key="other")
    result(home, "b-2", "cranfield", [0.1, 0.2], status="failed")
    found = measure(claim(*all_of(contrast("a", "b"))), PAPER, SHAPE, home)
    assert {f.seeds for f in found.findings} == {(1, 1)}  # only the pair of seeds 1 is whole


def test_rows_over_other_items_are_refused(home):
    result(home, "a-1", "npl", [0.1, 0.2])
    with pytest.raises(InputError, match="other items"):
        measure(claim(*all_of(contrast("a", "b"))), PAPER, SHAPE, home)


def test_a_record_comes_back_and_a_broken_one_is_named(home):
    record = measure(claim(*all_of(contrast("a", "b"))), PAPER, SHAPE, home)
    path = write(home, record)
    assert path == home / "claims.json" and read(home, "X1") == record and read(home, "X2") is None
    write(home, replace(record, claim="X0"))
    assert read(home, "X1") == record and list(json.loads(path.read_text())) == ["X0", "X1"]
    for content, message in (('{"X1": {}}', "X1: no record of a claim"), ("[", "no file of claims")):
        path.write_text(content)
        with pytest.raises(InputError, match=message):
            read(home, "X1")


def test_the_page(home):
    asked = claim(*all_of(contrast("a", "b")), *beside(contrast("b", "base")))
    record = measure(asked, PAPER, SHAPE, home)
    shown = page({"X1": asked, "R1": claims["R1"]}, {"X1": record})
    lines = shown.splitlines()
    row = f"| X1 | A is better; tested: a test | +1 |  |  |  | **held** | `{record.commands[0]}` |"
    assert row in lines
    assert (
        "|  | · a over b, search (open/quick, 1 task) |  | +10.00 | +10.00 to +10.00 | 3 / 3 | held |  |"
        in lines
    )
    assert any("(open, 2 tasks)" in line and "(held)" in line for line in lines)
    assert any("b over base" in line and "undecided (beside)" in line for line in lines)
    assert any(line.startswith("| R1 ") and "not measured yet" in line for line in lines)
    cost = Finding(name="codes", value=1.02, low=1.01, high=1.03, unit="x", verdict="held", one_seed=True)
    timed = page({"R6": claims["R6"]}, {"R6": Record(claim="R6", verdict="held", findings=(cost,))})
    assert "1.02 x | 1.01 to 1.03" in timed and "**held, one seed**" in timed


def evidence(folder):
    """Run the script over a folder's results and return the page."""
    script = [sys.executable, ROOT / "benchmarks" / "evidence.py", "--results", folder / "results"]
    done = subprocess.run([*script, "-o", folder / "page.md"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (folder / "page.md").read_text()


def test_the_script_draws_records_and_page_from_a_folder_of_results(tmp_path):
    home = tmp_path / "results" / "scimult"
    base = np.linspace(0, 0.5, 50)
    for task in reproductions["scimult"].shapes["open"].groups["search"]:
        result(home, "v", task, base + 0.2)
        result(home, "m", task, base)
    write_models(home, {"vanilla": ["v"], "backbone": ["m"]})
    shown = evidence(tmp_path)
    assert json.loads((home / "claims.json").read_text())["S1"]["verdict"] == "undecided"
    assert "vanilla above backbone, search" in shown and "+20.00" in shown
    assert shown.count("not measured yet") > len(claims) - 3


def test_a_claim_is_decided_on_the_data_that_it_names(tmp_path):
    home = tmp_path / "results" / "multi2spe"
    pairs = {
        "built": ("facets-cs", "facets-lambda-1-cs"),
        "fields": ("facets-all-fields", "facets-one-field"),
    }
    for data, keys in pairs.items():
        shape = reproductions["multi2spe"].shapes[data]
        for task in shape.declared():
            for key, above in zip(keys, (0.2, 0.0), strict=True):
                result(home, key, task, np.linspace(0, 0.5, 50) + above, shape)
    write_models(home, {key: [key] for keys in pairs.values() for key in keys})
    shown = evidence(tmp_path)
    assert "**held, one seed** | `sciprism reproduce multi2spe 3-cs --data built` |" in shown
    assert "**held, one seed** | `sciprism reproduce multi2spe domains --data fields` |" in shown
    found = json.loads((home / "claims.json").read_text())["M4"]["findings"]
    assert {each["view"] for each in found} == {"multi-scidocs-fields"}
    for claim in claims.values():
        assert not claim.questions or claim.data in reproductions[claim.paper].shapes
