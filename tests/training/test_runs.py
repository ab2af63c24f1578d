"""A whole run: what it leaves, that it resumes exactly after a kill, and what it refuses."""

import json
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from build_runs import by_two_and_by_one, losses, metrics, run_recipe, run_until
from build_sources import write_answers, write_recipe, write_source
from sciprism import Encoder
from sciprism.encoders.settings import untrained_stage
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError, RunFailedError, ShownWarning
from sciprism.files import lock_folder
from sciprism.training.learners.learner import reciprocal_rank
from sciprism.training.loop import Hooks
from sciprism.training.recipe_file import read_recipe
from sciprism.training.sources import ExampleSource
from sciprism.training.steps import JointStep

DEV = ["stages.0.evaluation.every=2", "stages.0.sources.search.dev=dev.jsonl"]


@pytest.fixture(scope="module")
def recipe(tmp_path_factory, tiny_model):
    return write_recipe(tmp_path_factory.mktemp("recipe"), tiny_model)


@pytest.fixture(scope="module")
def finished(recipe, tmp_path_factory):
    """One run from its first step to its last."""
    run = tmp_path_factory.mktemp("runs") / "whole"
    run_recipe(read_recipe(recipe), run, device="cpu")
    return run


def test_another_recipe_does_not_touch_a_run(finished, recipe):
    with pytest.raises(InputError, match=r"another recipe \(differs in seed\)"):
        run_recipe(read_recipe(recipe, ["seed=6"]), finished, device="cpu")
    with pytest.raises(InputError, match="not empty and holds no run"):
        run_recipe(read_recipe(recipe), recipe.parent, device="cpu")


def test_one_process_at_a_time_writes_a_run(recipe, finished):
    with lock_folder(finished), pytest.raises(InputError, match="is being written by another"):
        run_recipe(read_recipe(recipe), finished, device="cpu")
    assert run_recipe(read_recipe(recipe), finished, device="cpu") == finished / "contrast" / "model"


def test_stages_follow_each_other(recipe, finished, tmp_path):
    """A second stage starts from the first one's model; a stage that is done is not run."""
    text = recipe.read_text()
    stage = text[text.index("[[stages]]") :].replace('name = "contrast"\nbatch', 'name = "experts"\nbatch')
    second = stage.replace("steps = 12", 'steps = 2\nmethod = "attention-experts"', 1)
    path = recipe.parent / "two.toml"
    path.write_text(text + "\n" + second, encoding="utf-8")
    done = finished / "contrast" / "model"
    model = run_recipe(read_recipe(path, [f'stages.contrast.finished_model="{done}"']), tmp_path / "run", device="cpu")
    assert model == tmp_path / "run" / "experts" / "model"
    assert not (tmp_path / "run" / "contrast").exists()
    assert Encoder.load(model).settings.method == "attention-experts"


def test_the_best_model_by_dev_examples_is_kept(tmp_path, tiny_model):
    path = write_recipe(tmp_path, tiny_model, steps=12)
    write_source(tmp_path / "dev.jsonl", 40, seed=9)
    seen = []

    def evaluate(encoder, names):
        seen.append(encoder.encode(["light"]).shape)
        return dict.fromkeys(names, 0.5)

    changes = ["stages.0.evaluation.every=4", "stages.0.sources.search.dev=dev.jsonl"]
    changes.append('stages.0.evaluation.tasks=["made/task"]')
    run_recipe(read_recipe(path, changes), tmp_path / "run", device="cpu", hooks=Hooks(evaluate=evaluate))
    rows = [json.loads(line) for line in (tmp_path / "run/contrast/metrics.jsonl").read_text().splitlines()]
    scored = {row["step"]: row["dev"] for row in rows if "dev" in row}
    assert list(scored) == [0, 4, 8, 12]
    assert [row["tasks"] for row in rows if "dev" in row] == [{"made/task": 0.5}] * 4
    kept = json.loads((tmp_path / "run/contrast/model/sciprism.json").read_text())["provenance"]
    assert kept["step"] == max(scored, key=lambda step: (scored[step], -step))
    assert seen


def test_a_model_that_never_learned_says_so(tmp_path, tiny_model):
    """The run, whose steps change no ranking, when it ends and when it is made again; the model; its description."""
    path, run, notes = write_recipe(tmp_path, tiny_model, steps=2), tmp_path / "run", []
    write_source(tmp_path / "dev.jsonl", 20, seed=9)
    recipe = read_recipe(path, [*DEV, "stages.0.optimizer.lr=1e-12"])
    with pytest.warns(ShownWarning, match=r"stage contrast kept step 0: .*model is what the stage began with"):
        run_recipe(recipe, run, device="cpu", hooks=Hooks(on_message=notes.append))
    assert [note for note in notes if "the model is that of step 0" in note and "no step improved it" in note]
    model = Encoder.load(run / "contrast" / "model")
    assert model.provenance["kept_start"] is True and model.provenance["step"] == 0
    assert untrained_stage(model.describe()) == "contrast"
    with pytest.warns(ShownWarning, match="stage contrast kept step 0"):
        run_recipe(recipe, run, device="cpu")


@pytest.fixture
def dev_recipe(tmp_path, tiny_encoder):
    """A recipe with dev examples whose backbone states its pooling, the mean, and which states none itself."""
    tiny_encoder.save(tmp_path / "backbone")
    path = write_recipe(tmp_path, tmp_path / "backbone", steps=8, dropout=0.0)
    path.write_text(path.read_text().replace('pooling = "mean"\n', ""))
    write_source(tmp_path / "dev.jsonl", 40, seed=9)
    return path


def train_with_notes(recipe, folder, *changes):
    """Return the rows of evaluations of a run, what it said, and its warnings."""
    notes = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ShownWarning)
        hooks = Hooks(on_message=notes.append)
        run_recipe(read_recipe(recipe, [*DEV, *changes]), folder, device="cpu", hooks=hooks)
    rows = [json.loads(line) for line in (folder / "contrast" / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if "dev" in row], notes, [str(warning.message) for warning in caught]


def test_the_untouched_model_is_scored_as_its_folder_states_it(dev_recipe, tmp_path, tiny_encoder):
    """With the folder's pooling a run starts there; with another one it does not, and may end below."""
    rows, _, _ = train_with_notes(dev_recipe, tmp_path / "mean")
    source = ExampleSource(read_recipe(dev_recipe, DEV).stages[0].sources[0])
    (batch,) = source.dev(40).values()
    untouched = {"search": reciprocal_rank(tiny_encoder, batch)}
    assert rows[0]["dev_scores"] == untouched and all(row["untouched_scores"] == untouched for row in rows)
    changes = ["model.pooling=cls", "stages.0.optimizer.lr=1e-4"]
    rows, notes, caught = train_with_notes(dev_recipe, tmp_path / "cls", *changes)
    assert rows[0]["dev_scores"] != untouched and rows[0]["untouched_scores"] == untouched
    best = max(row["dev"] for row in rows)
    verdict = "training did not pay: the untouched model is better on dev "
    verdict += f"({untouched['search']:.4f}, this one {best:.4f})"
    assert 0 < best < untouched["search"] and notes[-1].endswith(verdict)
    assert verdict in caught[-1] and caught[-1].startswith("stage contrast: ")
    model = Encoder.load(tmp_path / "cls" / "contrast" / "model")
    assert model.provenance["untouched"] == untouched["search"] and model.provenance["step"] > 0


def test_a_stage_ends_where_dev_stays_below_the_untouched_model(dev_recipe, tmp_path):
    changes = ["stages.0.optimizer.lr=1.0", "stages.0.evaluation.untouched_patience=2"]
    rows, notes, caught = train_with_notes(dev_recipe, tmp_path / "run", *changes)
    assert [row["step"] for row in rows] == [0, 2, 4]
    assert [note for note in notes if "stops after step 4 of 8: dev is below the untouched model in 2 eval" in note]
    assert "training did not pay: the untouched model is as good on dev" in notes[-1]
    assert "stage contrast kept step 0" in caught[-1]


def test_a_half_way_model_has_a_dev_score_of_its_own(dev_recipe, tmp_path):
    rows, notes, _ = train_with_notes(dev_recipe, tmp_path / "run", "stages.0.interpolation=0.0", "stages.0.steps=6")
    model = Encoder.load(tmp_path / "run" / "contrast" / "model")
    assert model.provenance["step"] > 0 and max(row["dev"] for row in rows) > rows[0]["dev"]
    assert model.provenance["dev"] == rows[0]["dev"] == model.provenance["untouched"], "all the way back"
    assert "after interpolation or whitening" in notes[-1] and "the untouched model is as good on dev" in notes[-1]


@pytest.mark.slow
def test_a_linear_adapter_reads_each_text_once_and_resumes_the_same(dev_recipe, tmp_path, monkeypatch):
    read, run = [], Transformer.forward
    count = lambda self, batch, *rest: read.append(batch) or run(self, batch, *rest)  # noqa: E731
    monkeypatch.setattr(Transformer, "forward", count)
    changes = ["stages.0.method=linear-adapter", "stages.0.optimizer.lr=1e-2", "stages.0.steps=60"]
    recipe = read_recipe(dev_recipe, [*DEV, *changes, "stages.0.evaluation.every=60"])
    whole = run_recipe(recipe, tmp_path / "whole", device="cpu")
    alone = (batch.ids for batch in read if len(batch.lengths) == 1)
    texts = Counter((ids.numpy().tobytes(), ids.is_inference()) for ids in alone)
    assert len(texts) > 100 and max(texts.values()) < 5, "evaluations and self-checks read on their own"
    run_until(13, recipe, tmp_path / "run")
    again = run_recipe(recipe, tmp_path / "run", device="cpu")
    assert (again / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert Encoder.load(again).provenance["step"] == 60


def test_a_loss_that_is_no_number_stops_with_its_batch(tmp_path, tiny_model):
    path = write_recipe(tmp_path, tiny_model, steps=30, clip=0)
    with pytest.raises(RunFailedError, match=r"stage contrast: .*its examples are in .*batch-at-step-\d+.jsonl"):
        run_recipe(read_recipe(path, ["stages.0.optimizer.lr=1e30"]), tmp_path / "run", device="cpu")
    (kept,) = (tmp_path / "run" / "contrast").glob("batch-at-step-*.jsonl")
    assert len(kept.read_text().splitlines()) == 8


def test_a_gradient_that_is_no_number_spoils_no_checkpoint(tmp_path, tiny_model, monkeypatch):
    """The loss is finite, its gradient not: the run stops before the weights move."""

    def spoil(self, batches, scale, prepared=None):
        losses = whole(self, batches, scale, prepared)
        if steps.pop():
            self.encoder.model.embeddings.word.weight.grad[0] = float("nan")
        return losses

    steps, whole = [True, False, False], JointStep.__call__
    monkeypatch.setattr(JointStep, "__call__", spoil)
    path = write_recipe(tmp_path, tiny_model, steps=5, every=1)
    with pytest.raises(RunFailedError, match="the gradient at step 3 is nan"):
        run_recipe(read_recipe(path), tmp_path / "run", device="cpu")
    assert len(losses(tmp_path / "run")) == 2
    kept = json.loads((tmp_path / "run/contrast/checkpoint/state.json").read_text())
    assert kept["step"] == 2


FORMATS = """
[[stages.sources]]
file = "fields.jsonl"
format = "classification"
objective = { name = "classification" }

[[stages.sources]]
file = "years.jsonl"
format = "regression"
objective = { name = "regression" }
"""


@pytest.mark.parametrize("mixing", ["equal", "mixed"])
def test_sources_of_every_kind_in_one_batch_stopped_and_continued(mixing, tmp_path, tiny_model):
    """Heads go on where they were: same losses, same model, and no head in it."""
    path = write_recipe(tmp_path, tiny_model, steps=6, every=1)
    path.write_text(path.read_text() + FORMATS)
    write_answers(tmp_path, 30)
    changes = ["stages.0.method=control-codes", "model.pooling=code", f"stages.0.mixing={mixing}"]
    recipe = read_recipe(path, changes)
    whole = run_recipe(recipe, tmp_path / "whole", device="cpu")
    run_until(3, recipe, tmp_path / "parts")
    parts = run_recipe(recipe, tmp_path / "parts", device="cpu")
    assert losses(tmp_path / "parts") == losses(tmp_path / "whole")
    weights, same = (load_file(model / "model.safetensors") for model in (whole, parts))
    assert all(torch.equal(weights[name], same[name]) for name in weights)
    assert not [name for name in weights if "head" in name]


@pytest.mark.slow
def test_ctrl_c_ends_the_step_and_saves(tmp_path, tiny_model, finished):
    path = write_recipe(tmp_path, tiny_model, every=1000)
    run = tmp_path / "run"
    command = [sys.executable, "-m", "sciprism", "train", path, "-o", run, "--device", "cpu"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    log = run / "contrast" / "metrics.jsonl"
    while process.poll() is None and not (log.exists() and log.read_bytes().count(b"\n") >= 2):
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    assert (process.returncode, "the same command continues" in said) == (130, True), said
    kept = json.loads((run / "contrast/checkpoint/state.json").read_text())
    assert kept["step"] == len(losses(run)) < 12
    run_recipe(read_recipe(path), run, device="cpu")
    assert losses(run) == losses(finished)


def test_a_source_that_has_changed_ends_a_run(tmp_path, tiny_model):
    path = write_recipe(tmp_path, tiny_model, steps=2)
    run_recipe(read_recipe(path), tmp_path / "run", device="cpu")
    (tmp_path / "moved").mkdir()
    for name in ("search.jsonl", "topics.jsonl"):
        (tmp_path / name).rename(tmp_path / "moved" / name)
    run_recipe(read_recipe(path, sources=tmp_path / "moved"), tmp_path / "run", device="cpu")
    write_source(tmp_path / "moved" / "search.jsonl", 61)
    with pytest.raises(InputError, match=r"cannot be resumed: sources.contrast/search.* has changed"):
        run_recipe(read_recipe(path, sources=tmp_path / "moved"), tmp_path / "run", device="cpu")


@pytest.mark.slow
@pytest.mark.parametrize(("clip", "gradient"), [(0.5, "sum"), (0.0, "mean")])
def test_two_processes_equal_one_with_the_batch_of_both(clip, gradient, tmp_path, tiny_model):
    """The published scaling (mean) halves the gradient, which AdamW hides without clipping."""
    path = write_recipe(tmp_path, tiny_model, steps=12, every=100, dropout=0.0, clip=clip)
    changes = [f"stages.0.gradient_reduction={gradient}", "stages.0.optimizer.lr=1e-4"]
    two, one = by_two_and_by_one(path, changes, tmp_path)
    assert len(two) == len(one) == 12
    assert np.abs(np.array(two) - np.array(one)).max() < (1e-5 if gradient == "sum" else 1e-3)
    norms = [metrics(tmp_path / name)[0]["gradient"] for name in ("two", "one")]
    assert norms[0] / norms[1] == pytest.approx(1 if gradient == "sum" else 0.5, rel=1e-4)


def test_a_run_says_whether_its_sources_were_held_against_tests(recipe, finished, tmp_path):
    run = tmp_path / "run"
    run_recipe(read_recipe(recipe), run, device="cpu", overlaps=lambda examples: [e for e in examples if not e])
    kept = json.loads((run / "run.json").read_text())["test_papers"]
    assert set(kept) == set(json.loads((finished / "run.json").read_text())["sources"])
    assert set(kept.values()) == {0}
    assert set(json.loads((finished / "run.json").read_text())["test_papers"].values()) == {None}
    notes = []
    run_recipe(read_recipe(recipe), run, device="cpu", hooks=Hooks(on_message=notes.append))
    assert json.loads((run / "run.json").read_text())["test_papers"] == kept and not notes


# ---- Models between a stage's start and its end ----

PRISM = ["stages.0.method=prism", "stages.0.options={depth = 1, split = true}"]
SOME_DEV = ["stages.0.evaluation={every = 3, examples = 20}", "stages.0.sources.0.dev=dev.jsonl"]


@pytest.fixture(scope="module")
def weights(tmp_path_factory, tiny_model):
    """The weights that a recipe with some changes leaves; every run begins and ends alike but for them."""
    folder = tmp_path_factory.mktemp("recipe")
    recipe = write_recipe(folder, tiny_model, steps=6)
    write_source(folder / "dev.jsonl", 20, seed=2)

    @cache
    def left(name, *changes):
        model = run_recipe(read_recipe(recipe, list(changes)), folder / name, device="cpu")
        return load_file(model / "model.safetensors")

    return left


def test_all_weights_go_a_part_of_the_way(weights):
    start, half, end = (weights(f"all-{way}", f"stages.0.interpolation={way}") for way in (0, 0.5, 1))
    assert all((half[name] - (start[name] + end[name]) / 2).abs().max() < 1e-6 for name in start)
    moved = [name for name in start if (start[name] - end[name]).abs().max() > 1e-4]
    assert any("attention" in name for name in moved) and any("embedding" in name for name in moved)


def test_a_format_of_its_own_way(weights):
    """Of the best model by dev examples, where that is what a stage leaves."""
    ways = {"none": "{search = 0.0}", "part": "{search = 0.25}", "whole": "1.0"}
    none, part, whole = (
        weights(name, *PRISM, *SOME_DEV, f"stages.0.interpolation={way}") for name, way in ways.items()
    )
    of_search = [name for name in whole if ".search." in name]
    assert of_search and any((none[name] - whole[name]).abs().max() > 1e-4 for name in of_search)
    for name in whole:
        expected = none[name] + 0.25 * (whole[name] - none[name]) if ".search." in name else whole[name]
        assert (part[name] - expected).abs().max() < 1e-6
