"""Which stored results are of models that kept step 0."""

from pathlib import Path

import pytest

from sciprism.evaluation.results import TaskResult, pack_results, write_result
from sciprism.reproduce.estimates import find_untrained_stage
from sciprism.reproduce.papers import reproductions
from sciprism.reproduce.printing import format_table, table_to_json
from sciprism.reproduce.run import read_table

RESULTS = Path(__file__).parents[2] / "results"
START = {"stage": "distil", "step": 0}


def store(folder, name, **facts):
    """Write a result of a system with these facts."""
    system = {"name": name, "fingerprint": name, **facts}
    result = TaskResult(suite="open", task="one", key="k", format="search", group="", status="done", system=system)
    write_result(folder / name / "open", result, {})


@pytest.fixture(params=["in folders", "packed"])
def results(request, tmp_path):
    """Models that kept their start and others, and one whose facts say nothing of its training."""
    store(tmp_path, "kept", provenance=START)
    store(tmp_path, "marked", provenance=START | {"kept_start": True})
    store(tmp_path, "learned", provenance=START | {"step": 20})
    store(tmp_path, "mean-kept+learned", members=[{"name": "kept", "provenance": START}, {"name": "learned"}])
    for name in ("bm25", "codes-1", "codes-2", "codes-11", "own-0-distil"):
        store(tmp_path, name)
    if request.param == "packed":
        pack_results(tmp_path, tmp_path / "packed")
        return tmp_path / "packed"
    return tmp_path


def test_stored_facts_say_it(results):
    names = ("kept", "marked", "learned", "mean-kept+learned", "bm25", "gone")
    stages = [find_untrained_stage(results, name) for name in names]
    assert stages == ["distil", "distil", "", "distil of kept", "", ""]


def test_a_table_marks_them():
    paper = reproductions["prism"]
    filled = read_table(paper, "growth", paper.suites["open"], ["single-75", "single-300"], RESULTS / "prism")
    marked = [line for line in format_table(filled, "Table").splitlines() if "kept step 0" in line]
    assert [line.split(":")[0] for line in marked] == ["- one vector, 75 steps, single-75-0"]
    rows = {row["name"]: row["untrained"] for row in table_to_json(filled, "Table")["rows"]}
    assert rows["one vector, 300 steps"] == {} and rows["one vector, 75 steps"] == {"single-75-0": "formats"}
