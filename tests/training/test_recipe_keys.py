"""Keys of recipes: each is described, and an unknown one is explained."""

import pytest

from sciprism.errors import InputError
from sciprism.training.learners.registry import learners
from sciprism.training.recipe_file import TABLES, read_recipe
from sciprism.training.recipe_tables import NamedTable
from sciprism.training.weighting import weightings

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
    **{f"weighting {name}": each.settings_type for name, each in weightings.items()},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_key_has_a_description(name):
    """`name` of an objective or a weighting needs none: it selects the table."""
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
