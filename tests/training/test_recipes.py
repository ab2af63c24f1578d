"""The recipes that come with the project, and what their tables mean."""

import json
import re
from pathlib import Path

import pytest
import torch

from build_sources import write_recipe
from sciprism.encoders.methods.registry import NamedTable
from sciprism.errors import InputError
from sciprism.training.batches import mixings
from sciprism.training.examples import from_row
from sciprism.training.learners.learner import LearnerContext, learners
from sciprism.training.loop import Hooks, TrainingLoop
from sciprism.training.plan import plan_training
from sciprism.training.recipe_file import TABLES, read_recipe

RECIPES = Path(__file__).parents[2] / "recipes"
ALL = sorted(RECIPES.rglob("*.toml"))


@pytest.mark.parametrize("path", ALL, ids=lambda path: str(path.relative_to(RECIPES)))
def test_every_recipe_is_whole(path):
    recipe = read_recipe(path)
    laptop = "-laptop" if path.parent.name == "laptop" else ""
    assert recipe.name == path.stem + laptop
    assert recipe.reference


def test_the_settings_of_the_paper():
    """SciMult: 48 GPUs with 32 each, 3e-4, 5 % of warm-up, 20 epochs, dot products, CLS."""
    recipe = read_recipe(RECIPES / "scimult-mha-expert.toml")
    assert [stage.method for stage in recipe.stages] == ["single", "attention-experts"]
    for stage in recipe.stages:
        assert (stage.batch_size, stage.epochs, stage.optimizer.lr) == (1536, 20, 3e-4)
        assert (stage.schedule.warmup, stage.schedule.min_lr, stage.optimizer.max_grad_norm) == (0.05, 1e-7, 2.0)
    assert (recipe.model.pooling, recipe.model.distance, recipe.seed) == ("cls", "dot", 12345)


def test_an_epoch_of_scimult_is_one_of_positive_pairs():
    """Table A1: 5.56 million pairs in batches of 1,536, a seventh of them citations."""
    stage = read_recipe(RECIPES / "scimult-vanilla.toml").stages[0]
    assert [source.positives for source in stage.sources] == ["all"] * 5
    pairs = (1_242_885, 1_976_858, 900_000, 819_836, 620_033)
    plan = mixings[stage.mixing](pairs, tuple(source.repeat for source in stage.sources), stage.batch_size, 0)
    assert plan.epoch == 3_617 and plan.counts == (809, 1_287, 585, 533, 403)
    assert [source.file.stem for source in stage.sources][3] == "citations"


@pytest.mark.parametrize(
    ("name", "objective", "warmup", "clip"),
    [
        ("multi2spe", {"name": "facets", "best_pair_weight": 0.1, "mix": "losses"}, 0.1, 0.0),
        ("specter", {"name": "triplet", "margin": 1.0, "distance": "euclidean"}, 0.1, 0.0),
        ("scincl", {"name": "triplet", "margin": 1.0, "distance": "euclidean"}, 0.0, 1.0),
    ],
)
def test_the_settings_of_multi2spe(name, objective, warmup, clip):
    """2e-5 without decay, eps 1e-8, linear over 2 epochs of 32, half precision, 512 tokens, SciBERT."""
    recipe = read_recipe(RECIPES / f"{name}.toml")
    (stage,) = recipe.stages
    assert (stage.batch_size * stage.gradient_accumulation, stage.epochs, stage.precision) == (32, 2, "float16")
    rate, optimizer = stage.schedule, stage.optimizer
    assert (optimizer.lr, optimizer.weight_decay, optimizer.eps) == (2e-5, 0.0, 1e-8)
    assert (rate.name, rate.warmup, optimizer.max_grad_norm) == ("linear", warmup, clip)
    assert stage.objective == objective
    assert (recipe.model.max_length, recipe.model.separator) == (512, " [SEP] ")
    assert recipe.model.backbone == "allenai/scibert_scivocab_uncased"


FULL = {"epochs": 2, "lr": 5e-5, "name": "inverse-square-root", "start": 1e-4, "end": 0}
PART = {"lr": 1e-4, "name": "linear", "start": 0.0, "end": 77_500}
OBJECTIVES = {
    "fos": "multi-label",
    "mesh": "classification",
    "cite_pred": "regression",
    "year_pred": "regression",
    "s2and": "triplet",
    "cite_context": "triplet",
    "specter": "triplet",
    "search": "triplet",
}


@pytest.mark.parametrize(
    ("recipe", "stages"),
    [
        ("mtl-cls", {"single": FULL}),
        ("ctrl", {"control-codes": FULL}),
        ("pals", {"pals": PART | {"epochs": 2}}),
        ("adapters", {"adapters": PART | {"epochs": 6}}),
        ("adapter-fusion", {"adapters": PART | {"epochs": 6}, "adapter-fusion": PART | {"epochs": 4}}),
    ],
)
def test_the_settings_of_scirepeval(recipe, stages):
    """256 examples of equal shares, 700 steps of warm-up, margin 1, Euclidean; the rest by method."""
    found = read_recipe(RECIPES / f"scirepeval-{recipe}.toml")
    assert found.model.pooling == (None if recipe == "ctrl" else "cls"), "a code has its own vector"
    assert (found.model.distance, found.seed) == ("euclidean", 42)
    assert [stage.method for stage in found.stages] == [*stages]
    for stage, wanted in zip(found.stages, stages.values(), strict=True):
        rate = stage.schedule
        found_settings = {"epochs": stage.epochs, "lr": stage.optimizer.lr, "name": rate.name, "start": rate.start_lr}
        assert found_settings | {"end": rate.end_step} == wanted
        assert (stage.batch_size * stage.gradient_accumulation, stage.mixing, rate.warmup) == (256, "equal", 700)
        assert (stage.optimizer.weight_decay, stage.optimizer.eps) == (0.0, 1e-8)
        assert stage.objective == {"name": "triplet", "margin": 1.0}
        assert {s.file.stem: stage.objective_of(s) for s in stage.sources} == {
            name: {"name": kind} | ({"margin": 1.0} if kind == "triplet" else {}) for name, kind in OBJECTIVES.items()
        }
    laptop = read_recipe(RECIPES / "laptop" / f"scirepeval-{recipe}.toml")
    assert [(s.name, s.method) for s in laptop.stages] == [(s.name, s.method) for s in found.stages]


TEACHER = {"name": "relations", "teacher": "nasa-impact/nasa-smd-ibm-v0.1", "relation_heads": 48}
FOUR_SUM = {"name": "four-sum", "temperature": 0.02}
ENCODING = {"name": "auto-encoding", "mask_probability": 0.3, "decoder_mask_probability": 0.5}
SIMILARITY = {"name": "similarity", "teacher": "nasa-impact/nasa-smd-ibm-st-v2", "cache_teacher": False}
SIMILARITY |= {"temperature": 0.02, "teacher_temperature": 0.02, "distillation_temperature": 4.0}
MASKED_LM = {"name": "masked-lm", "mask_probability": 0.15}
INDUS = {  # by stage: architecture, examples of a batch, steps, objective, learning rate, warm-up
    "base": {"masked-lm": ((12, 768, 12, 3072, 514), 9216, 500_000, MASKED_LM, 6e-4, 24_000)},
    "small": {"relations": ((4, 576, 12, 768, 514), 480, 500_000, TEACHER, 6e-4, 4000)},
    "retriever-base": {
        "unsupervised": (None, 1024, 300_000, FOUR_SUM, 2e-5, 0.05),
        "supervised": (None, 1024, 100_000, FOUR_SUM, 2e-5, 0.05),
    },
    "retriever-small": {
        "auto-encoding": (None, 128, None, ENCODING, 2e-5, 0.1),
        "distil": (None, 2048, 300_000, SIMILARITY, 7e-4, 0.1),
    },
}


@pytest.mark.parametrize("name", INDUS)
def test_the_settings_of_indus(name):
    found = read_recipe(RECIPES / "indus" / f"{name}.toml")
    stages = {}
    for stage in found.stages:
        new, warmup = stage.architecture, stage.schedule.warmup
        size = new and (new.layers, new.hidden, new.heads, new.intermediate, new.max_positions)
        stages[stage.name] = size, stage.batch_size, stage.steps, stage.objective, stage.optimizer.lr, warmup
        assert (stage.optimizer.weight_decay, stage.schedule.name, stage.mixing) == (0.01, "linear", "one-source")
    assert stages == INDUS[name]
    assert found.model.pooling == ("cls" if name.endswith("small") else "mean")
    assert (found.model.max_length, found.model.dropout) == (512, 0.1)


def test_defaults_fill_what_a_stage_does_not_say(tmp_path, tiny_model):
    path = write_recipe(tmp_path, tiny_model)
    path.write_text(
        path.read_text() + "\n[defaults]\noptimizer = { weight_decay = 0.5, lr = 9.0 }\ngradient_accumulation = 3\n"
    )
    recipe = read_recipe(path, ["defaults.schedule.warmup=0.25", "stages.contrast.schedule.min_lr=1e-6"])
    (stage,) = recipe.stages
    assert (stage.optimizer.lr, stage.optimizer.weight_decay, stage.gradient_accumulation) == (1e-3, 0.5, 3)
    assert (stage.schedule.warmup, stage.schedule.min_lr) == (0.25, 1e-6)
    assert stage.sources[0].file == tmp_path / "search.jsonl"
    assert read_recipe(path, sources=tmp_path / "else").stages[0].sources[0].file == tmp_path / "else/search.jsonl"


def test_a_stage_ends_by_epochs_or_by_steps(tmp_path, tiny_model):
    path = write_recipe(tmp_path, tiny_model)
    assert read_recipe(path, ["stages.0.epochs=2"]).stages[0].steps is None
    text = path.read_text()
    path.write_text(text.replace("steps = 12", "") + "\n[defaults]\nepochs = 3\n")
    assert read_recipe(path).stages[0].epochs == 3
    assert read_recipe(path, ["stages.contrast.steps=7"]).stages[0].epochs is None
    path.write_text(text.replace("steps = 12", "steps = 12\nepochs = 1"))
    with pytest.raises(InputError) as caught:
        read_recipe(path)
    assert str(caught.value) == f"{path}: stages.0: state either epochs or steps"


def test_the_page_shows_a_recipe_and_an_example_that_work(tmp_path):
    page = (RECIPES.parent / "docs" / "training.md").read_text(encoding="utf-8")
    blocks = {kind: re.search(rf"```{kind}\n(.*?)```", page, re.S)[1] for kind in ("toml", "json")}
    (tmp_path / "recipe.toml").write_text(blocks["toml"])
    assert read_recipe(tmp_path / "recipe.toml").stages[0].sources[0].repeat == 0.5
    assert from_row(json.loads(blocks["json"]), query="paper", candidate="label")


def test_a_lexical_part_that_the_copied_stage_has_not_is_refused_before_that_stage_runs():
    path = RECIPES / "laptop" / "indus.toml"  # its second stage copies the first one's layers
    with pytest.raises(InputError, match="shrink: its architecture cannot be built from layers of masked-lm"):
        read_recipe(path, ["stages.shrink.architecture.lexical=128"])
    read_recipe(path, ["stages.masked-lm.architecture.lexical=128", "stages.shrink.architecture.lexical=128"])


# ---- Keys of recipes: each is described, an unknown one is explained, and a source's own stand over its stage's ----

SETTINGS = {**TABLES, **{f"objective {name}": each.settings for name, each in learners.items()}}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_key_has_a_description(name):
    """`name` of an objective needs none: it selects the table."""
    named = issubclass(SETTINGS[name], NamedTable)
    for key, field in SETTINGS[name].model_fields.items():
        if not (named and key == "name"):
            assert field.description and field.description.endswith((".", "...")), key


def test_hard_negatives_of_one_source(tmp_path, tiny_model):
    """The source's own number stands over that of the stage's objective; the other source keeps the stage's."""
    recipe = write_recipe(tmp_path, tiny_model)
    of_topics = "stages.contrast.sources.topics.hard_negatives={}"
    cases = {
        (): {"search": 1, "topics": 1},
        (of_topics.format(0),): {"search": 1, "topics": 0},
        ("stages.contrast.objective.hard_negatives=0", of_topics.format(1)): {"search": 0, "topics": 1},
    }
    for number, (changes, expected) in enumerate(cases.items()):
        plan = plan_training(read_recipe(recipe, changes), tmp_path / str(number), device="cpu")
        (stage,) = plan.stages
        stage.folder.recover()
        loop = TrainingLoop(stage, LearnerContext(encoder=plan.encoders["contrast"], processes=plan.processes), Hooks())
        for source, batch in loop.batches(0):
            _, _, (negatives, _) = loop.learners[source].select_texts(batch)
            assert len(negatives) == len(batch) * expected[stage.sources[source].name]


def test_muon_needs_a_newer_torch(tmp_path, tiny_model, monkeypatch):
    monkeypatch.delattr(torch.optim, "Muon", raising=False)
    recipe = read_recipe(write_recipe(tmp_path, tiny_model), ["stages.0.optimizer.name=muon"])
    with pytest.raises(InputError, match=r"optimizer muon needs torch 2\.9 or newer"):
        plan_training(recipe, tmp_path / "run", device="cpu")
