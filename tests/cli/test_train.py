"""`sciprism train` from the command line: a model, progress, one line for an error."""

import json
from types import SimpleNamespace

import pytest

from build_commands import run
from build_sources import write_recipe
from sciprism import Encoder


@pytest.fixture(scope="module")
def recipe(tmp_path_factory, tiny_model):
    return write_recipe(tmp_path_factory.mktemp("recipe"), tiny_model, steps=3)


@pytest.fixture
def train(monkeypatch, capsys):
    """Runs the command where the data of the suites are unknown."""
    monkeypatch.delenv("SCIPRISM_DATA", raising=False)

    def run_train(*words):
        status, printed, said = run(monkeypatch, capsys, "train", *words)
        return SimpleNamespace(returncode=status, stdout=printed, stderr=said)

    return run_train


def test_a_model_comes_out(train, recipe, tmp_path):
    done = train(recipe, "-o", tmp_path / "run", "--set", "seed=3", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "run" / "contrast" / "model")
    assert "step 3 of 3" in done.stderr
    assert "not checked for papers of tests" in done.stderr
    assert json.loads((tmp_path / "run" / "recipe.json").read_text())["seed"] == 3
    assert Encoder.load(done.stdout.strip()).settings.max_length == 32


def test_a_stage_that_kept_its_start_is_a_line_at_the_end(train, recipe, tmp_path):
    dev = recipe.parent / "search.jsonl"
    changes = ("stages.0.evaluation.every=3", f'stages.0.sources.search.dev="{dev}"', "stages.0.optimizer.lr=1e-12")
    words = (word for change in changes for word in ("--set", change))
    done = train(recipe, "-o", tmp_path / "run", "--device", "cpu", "--json", *words)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)["stages"]["contrast"]
    assert summary["step"] == 0 and summary["dev"] == summary["untouched"] > 0
    assert summary["unpaid"].startswith("training did not pay: the untouched model is as good on dev")
    last = " ".join(done.stderr.splitlines()[-1].split())
    assert last.startswith("sciprism: stage contrast kept step 0: "), done.stderr
    assert "no step improved it" in done.stderr and "Warning" not in done.stderr


def test_the_plan_is_printed_and_nothing_is_written(train, recipe, tmp_path):
    done = train(recipe, "-o", tmp_path / "run", "--device", "cpu", "--plan", "--set", "stages.0.steps=100")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "run").exists()
    (source,) = (line.split() for line in done.stdout.splitlines() if line.startswith("search "))
    examples, dropped, used, tokens = map(int, source[1:])
    assert (examples, dropped) == (60, 0) and 400 < used < 800 and 10 < tokens < 96
    assert "100 steps of 8 examples" in done.stdout and "tokens/s" in done.stdout
    assert "timed stages, 1 of 1" in done.stdout


@pytest.mark.slow
def test_a_plan_counts_the_hard_negatives_that_a_source_has(train, recipe, tmp_path):
    tokens = []
    for changes in ((), ("--set", "stages.contrast.sources.topics.hard_negatives=0")):
        done = train(recipe, "-o", tmp_path / "run", "--device", "cpu", "--plan", *changes)
        assert done.returncode == 0, done.stderr
        rows = map(str.split, done.stdout.splitlines())
        tokens.append({row[0]: float(row[-1]) for row in rows if row and row[0] in ("search", "topics")})
    with_all, without = tokens
    assert with_all["search"] == without["search"] and with_all["topics"] > without["topics"]
