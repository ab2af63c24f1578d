"""Someone who reads from the command to the result walks forward: modules are entered once or twice."""

import sys
from collections import Counter

import pytest
from trace_modules import ModuleTrace

from build_sources import write_recipe
from sciprism.cli.main import main


def run_command(*words):
    """Run a command in this process and return the trace of our modules."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
        patch.setattr(sys, "argv", ["sciprism", *map(str, words)])
        with ModuleTrace("cli", "training", "evaluation") as trace:
            main()
    assert stop.value.code in (None, 0)
    return trace


def test_training_walks_forward(tmp_path, tiny_model):
    recipe = write_recipe(tmp_path, tiny_model, steps=2)
    run_command("train", recipe, "--plan", "--device", "cpu")  # and imports all modules
    trace = run_command("train", recipe, "-o", tmp_path / "run", "--device", "cpu")
    for k in trace.used:
        print(k)
    assert (tmp_path / "run" / "contrast" / "model").is_dir()
    assert {"training.plan", "training.run", "training.loop"} <= set(trace.modules)
    assert trace.returns <= 8, trace.modules
    assert max(Counter(trace.modules).values()) <= 2, trace.modules
