"""Keys of recipes: each is described, an unknown one is explained, and a source's own stand over its stage's."""

from collections import defaultdict

import pytest

from build_sources import write_recipe
from sciprism.encoders.tables import NamedTable
from sciprism.errors import InputError
from sciprism.training.learners.learner import LearnerContext, learners
from sciprism.training.loop import Hooks, TrainingLoop
from sciprism.training.plan import plan_training
from sciprism.training.recipe_file import TABLES, read_recipe

SOURCE = '[[stages.sources]]\nfile = "search.jsonl"\nformat = "search"\n'
RECIPE = '[model]\nbackbone = "b"\n\n[[stages]]\nname = "one"\nsteps = 3\nbatch_size = 4\n'


@pytest.fixture
def recipe(tmp_path):
    """The path of a recipe of one stage."""
    path = tmp_path / "recipe.toml"
    path.write_text(f'name = "made"\n{RECIPE}optimizer = {{ lr = 1.0 }}\n\n{SOURCE}', encoding="utf-8")
    return path


SETTINGS = {
    **TABLES,
    **{f"objective {name}": each.settings for name, each in learners.items()},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_key_has_a_description(name):
    """`name` of an objective needs none: it selects the table."""
    named = issubclass(SETTINGS[name], NamedTable)
    for key, field in SETTINGS[name].model_fields.items():
        if not (named and key == "name"):
            assert field.description and field.description.endswith((".", "...")), key


def test_an_unknown_key_is_explained_by_a_similar_one(recipe):
    with pytest.raises(
        InputError, match=r"stages.0.bacth: unknown key; did you mean 'batch_size' \(Examples of a batch"
    ):
        read_recipe(recipe, ["stages.0.bacth=3"])
    with pytest.raises(InputError, match=r"objective: temprature: unknown key; did you mean 'temperature' \(Divides"):
        read_recipe(recipe, ["stages.0.objective.name=contrast", "stages.0.objective.temprature=1"])
    with pytest.raises(InputError, match=r"stages.0.qqq: unknown key; known: name, method"):
        read_recipe(recipe, ["stages.0.qqq=3"])


def count_hard_negatives(recipe, changes, folder):
    """Return the numbers of hard negatives per example in the batches of all steps, by source."""
    plan = plan_training(read_recipe(recipe, changes), folder, device="cpu")
    (stage,) = plan.stages
    stage.folder.recover()
    loop = TrainingLoop(stage, LearnerContext(encoder=plan.encoders["contrast"], processes=plan.processes), Hooks())
    found = defaultdict(set)
    for number in range(loop.steps):
        for source, batch in loop.batches(number):
            _, _, (negatives, _) = loop.learners[source].select_texts(batch)
            found[stage.sources[source].name].add(len(negatives) / len(batch))
    return dict(found)


def test_hard_negatives_of_one_source(tmp_path, tiny_model):
    """The source's own number stands over that of the stage's objective; the other source keeps the stage's."""
    recipe = write_recipe(tmp_path, tiny_model)
    of_topics = "stages.contrast.sources.topics.hard_negatives={}"
    cases = {
        (): {"search": {1.0}, "topics": {1.0}},
        (of_topics.format(0),): {"search": {1.0}, "topics": {0.0}},
        ("stages.contrast.objective.hard_negatives=0", of_topics.format(1)): {"search": {0.0}, "topics": {1.0}},
    }
    for number, (changes, expected) in enumerate(cases.items()):
        assert count_hard_negatives(recipe, changes, tmp_path / str(number)) == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["hard_negatives=-1"], "sources.1.hard_negatives: .*greater than or equal to 0, got -1"),
        (
            ["hard_negatives=0", "objective={name = 'triplet'}"],
            "source topics, objective: hard_negatives: .*equal to 1",
        ),
        (
            ["hard_negatives=0", "objective={name = 'label-ranking'}"],
            "source topics, objective: hard_negatives: unknown",
        ),
    ],
)
def test_hard_negatives_that_an_objective_cannot_have(changes, message, tmp_path, tiny_model):
    recipe = write_recipe(tmp_path, tiny_model)
    with pytest.raises(InputError, match=message):
        read_recipe(recipe, [f"stages.contrast.sources.topics.{change}" for change in changes])
