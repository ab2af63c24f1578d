"""Someone who reads from the command to the result walks forward: modules are entered once or twice."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from build_sources import write_recipe
from sciprism.cli.main import main

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

from module_trace import ModuleTrace

TASKS = """
[[task]]
name = "find"
protocol = "retrieve"
format = "search"
metric = "ndcg@10"
data = "."
"""


def run_command(*words):
    """Run a command in this process and return the trace of our modules."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
        patch.setattr(sys, "argv", ["sciprism", *map(str, words)])
        with ModuleTrace("cli", "training", "evaluation") as trace:
            main()
    assert stop.value.code in (None, 0)
    return trace


def assert_forward(trace):
    """Check that modules are entered once or twice, and at most eight of them twice."""
    assert trace.returns <= 8, trace.modules
    assert max(Counter(trace.modules).values()) <= 2, trace.modules


def test_training_walks_forward(tmp_path, tiny_model):
    recipe = write_recipe(tmp_path, tiny_model, steps=2)
    run_command("train", recipe, "--plan", "--device", "cpu")  # and imports all modules
    trace = run_command("train", recipe, "-o", tmp_path / "run", "--device", "cpu")
    assert (tmp_path / "run" / "contrast" / "model").is_dir()
    assert {"training.plan", "training.run", "training.loop"} <= set(trace.modules)
    assert_forward(trace)


def test_evaluation_walks_forward(tmp_path, tiny_encoder):
    from sciprism.evaluation import evaluate

    (tmp_path / "papers.csv").write_text("id,title,abstract\na,gene cell,of mice\nb,star galaxy,of gas\n")
    (tmp_path / "queries.csv").write_text("id,text\nq,gene\n")
    (tmp_path / "qrels.csv").write_text("query_id,paper_id,grade\nq,a,1\n")
    (tmp_path / "tasks.toml").write_text(TASKS)
    evaluate(tiny_encoder, str(tmp_path / "tasks.toml"), output=tmp_path / "first")
    with ModuleTrace("evaluation") as trace:
        results = evaluate(tiny_encoder, str(tmp_path / "tasks.toml"), output=tmp_path / "second")
    assert len(results) == 1 and results[0].metrics
    assert_forward(trace)
