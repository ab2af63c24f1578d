"""`sciprism compare`: output formats by suffix and option, and wrong requests."""

import pytest
from typer.testing import CliRunner

from sciprism.cli.main import app
from sciprism.evaluation import results
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.results import Measure, TaskResult

FACTS = {"suite": "my tasks", "task": "one", "key": "k", "format": "search", "group": ""}


@pytest.fixture
def folder(tmp_path):
    for name, score in (("A", 0.25), ("B", 0.5)):
        metrics = {"map": Measure(value=score, low=score, high=score, n=2)}
        result = TaskResult(**FACTS, status="done", system={"name": name}, metrics=metrics)
        items = {"map": ItemScores(("x", "y"), [score, score], "mean")}
        results.write_result(tmp_path / "results" / name, result, items)
    return tmp_path / "results"


def run(*arguments):
    done = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def test_the_first_system_named_is_the_baseline(folder):
    shown = run(folder)
    assert "my tasks: difference to A" in shown and "+25.00 [" in shown
    assert "my tasks: difference to B" in run(folder, "--baseline", "B")
    assert "my tasks: difference to B" in run(folder / "B", folder / "A")


def test_a_system_without_a_number_is_no_baseline_unless_it_is_named(folder):
    results.write_result(folder / "0", TaskResult(**FACTS, status="not served", system={"name": "0"}), {})
    assert "my tasks: difference to A" in run(folder)
    assert "--baseline names another system" in " ".join(run(folder, "--baseline", "0").split())


@pytest.mark.parametrize(
    ("name", "start"), [("r.md", "### "), ("r.tex", "% needs"), ("r.json", "{"), ("r.html", "<!doctype")]
)
def test_a_file_s_name_says_its_form(folder, tmp_path, name, start):
    assert run(folder, "-o", tmp_path / name) == f"wrote {tmp_path / name}\n"
    assert (tmp_path / name).read_text().startswith(start)
