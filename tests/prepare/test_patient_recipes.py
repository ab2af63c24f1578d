"""The two recipes from the release to the score: prepare, train a tiny backbone, search as the suite does."""

from pathlib import Path

import pytest

from build_patients import write_release
from build_runs import run_recipe
from sciprism import Encoder
from sciprism.evaluation import evaluate
from sciprism.evaluation.suites import suites
from sciprism.prepare.patients import PatientSettings, prepare_patients
from sciprism.training.recipe_file import read_recipe

REPO = suites["pmc-patients"].tasks[0].data.repo

RECIPES = Path(__file__).parents[2] / "recipes"
METRICS = ("mrr@10000", "p@10", "ndcg@10", "recall@1000")
SMALL = (
    "model.max_length=16",
    "model.dropout=0.0",
    "stages.patients.batch_size=12",
    "stages.patients.gradient_accumulation=1",
    "stages.patients.steps=60",
    "stages.patients.schedule.warmup=0.1",
    "stages.patients.optimizer.lr=2e-3",
    "stages.patients.evaluation.every=20",
)


def scores(model, data, task):
    """Return the scores of a model on the test patients, as `sciprism evaluate` gives them."""
    (result,) = evaluate(Encoder.load(model, device="cpu"), f"pmc-patients/{task.name}", data)
    assert result.status == "done", result
    return {name: metric.value for name, metric in result.metrics.items()}


@pytest.mark.parametrize("search", ["par", "ppr"])
def test_from_the_release_to_the_score(search, tmp_path, tiny_model):
    """Signs and names of a disease share no word: only a trained model finds the ones by the others."""
    write_release(tmp_path / REPO, search.upper(), each=6)
    prepare_patients(tmp_path, tmp_path / "sources", PatientSettings(search=search))
    start = tmp_path / "start"
    Encoder.start(tiny_model, pooling="cls", distance="dot", device="cpu").save(start)
    changes = [f"model.backbone={start}", *SMALL]
    recipe = read_recipe(RECIPES / f"patients-{search}.toml", changes, sources=tmp_path / "sources")
    model = run_recipe(recipe, tmp_path / "run", device="cpu")
    (task,) = (task for task in suites["pmc-patients"].tasks if task.name == f"pmc-patients-{search}")
    assert task.protocol.metrics == METRICS
    before, after = (scores(each, tmp_path, task) for each in (start, model))
    assert tuple(after) == METRICS
    assert after["mrr@10000"] > 0.8 > 0.5 > before["mrr@10000"]
    assert after["recall@1000"] == 1
