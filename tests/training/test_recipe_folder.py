"""What a recipe extends: how tables and lists are merged, what is removed, and what is refused."""

import pytest

from sciprism.errors import InputError
from sciprism.training.recipe_file import list_recipes, read_recipe, read_tables

BASE = """
name = "base"
seed = 3

[model]
backbone = "b"
pooling = "cls"

[defaults]
batch_size = 8
epochs = 2
objective = { name = "contrast", temperature = 0.5, hard_negatives = 1 }
optimizer = { lr = 1.0, betas = [0.5, 0.6], eps = 0.1 }

[[defaults.sources]]
file = "train/one.jsonl"
format = "search"

[[defaults.sources]]
name = "other"
file = "train/two.jsonl"
format = "proximity"

[[stages]]
name = "first"

[[stages]]
name = "second"
method = "adapters"
"""


@pytest.fixture
def extend(tmp_path):
    """Return a function that reads the tables of a recipe that extends the base."""
    (tmp_path / "base.toml").write_text(BASE)

    def read(text, extends="base"):
        path = tmp_path / "variant.toml"
        path.write_text(f'# A variant.\nextends = "{extends}"\n{text}')
        return read_tables(path)

    return read


def test_tables_are_merged_key_by_key_and_other_values_replaced(extend):
    found = extend('name = "v"\n[model]\nmax_length = 9\n[defaults]\noptimizer = { lr = 2.0, betas = [0.1, 0.2] }\n')
    assert (found["name"], found["seed"]) == ("v", 3)
    assert found["model"] == {"backbone": "b", "pooling": "cls", "max_length": 9}
    assert found["defaults"]["optimizer"] == {"lr": 2.0, "betas": [0.1, 0.2], "eps": 0.1}
    assert found["defaults"]["batch_size"] == 8


def test_another_objective_inherits_nothing_and_the_same_one_does(extend):
    same = extend("[defaults]\nobjective = { temperature = 0.1 }\n")["defaults"]["objective"]
    assert same == {"name": "contrast", "temperature": 0.1, "hard_negatives": 1}
    other = extend('[defaults]\nobjective = { name = "triplet" }\n')["defaults"]["objective"]
    assert other == {"name": "triplet"}


def test_stages_and_sources_are_merged_by_name_and_new_ones_come_last(extend):
    found = extend(
        '[[defaults.sources]]\nname = "one"\nrepeat = 3\n[[defaults.sources]]\nfile = "three.jsonl"\n'
        '[[stages]]\nname = "third"\n[[stages]]\nname = "first"\nepochs = 1\n'
    )
    assert found["defaults"]["sources"] == [
        {"name": "one", "file": "train/one.jsonl", "format": "search", "repeat": 3},
        {"name": "other", "file": "train/two.jsonl", "format": "proximity"},
        {"file": "three.jsonl"},
    ]
    assert found["stages"] == [
        {"name": "first", "epochs": 1},
        {"name": "second", "method": "adapters"},
        {"name": "third"},
    ]


def test_removes_leaves_out_keys_stages_and_sources_before_the_merge(extend):
    removed = '["model.pooling", "stages.first", "defaults.sources.one", "defaults.objective"]'
    found = extend(f"removes = {removed}\n[defaults]\nobjective = {{ temperature = 0.1 }}\n")
    assert found["model"] == {"backbone": "b"} and [stage["name"] for stage in found["stages"]] == ["second"]
    assert [source["name"] for source in found["defaults"]["sources"]] == ["other"]
    assert found["defaults"]["objective"] == {"temperature": 0.1}


@pytest.mark.parametrize("name", ["scimult-vanilla", "laptop/specter"])
def test_a_recipe_of_any_folder_extends_one_that_comes_with_sciprism(name, extend, tmp_path):
    assert extend("seed = 77\n", name)["seed"] == 77
    own = tmp_path / "scimult-vanilla.toml"
    own.write_text('extends = "scimult-vanilla"\nseed = 78\n')
    assert read_recipe(own).seed == 78, "a recipe may have the name of the one that it extends"


@pytest.mark.parametrize(
    ("text", "extends", "message"),
    [
        ("", "nosuch", r"variant.toml: extends = 'nosuch': .*no such recipe; the nearest: .*chain: .*variant.toml -> "),
        ("", "circle", r"circle.toml: extends = 'variant' leads back to itself: .*variant.toml -> .*circle.toml -> "),
        ("", "variant", "leads back to itself|no such recipe"),
        ('removes = ["model.size"]\n', "base", "removes 'model.size': the recipe has no 'size' there; it has"),
        ('removes = ["stages.third"]\n', "base", "has no 'third' there; it has first, second"),
        ('removes = "model"\n', "base", "removes a list of paths"),
    ],
)
def test_what_cannot_be_extended_is_named_with_its_chain(text, extends, message, extend, tmp_path):
    (tmp_path / "circle.toml").write_text('extends = "variant"\n')
    with pytest.raises(InputError, match=message):
        extend(text, extends)


def test_removes_needs_a_base(tmp_path):
    path = tmp_path / "alone.toml"
    path.write_text('removes = ["model.pooling"]\n')
    with pytest.raises(InputError, match=r"alone.toml: extends is the name of a recipe, and removes"):
        read_tables(path)


def test_the_list_shows_what_a_variant_inherits(extend, tmp_path):
    extend('reference = "ours"\n')
    (tmp_path / "broken.toml").write_text('extends = "nosuch"\n')
    base, variant = list_recipes([tmp_path])
    assert (base.name, base.reference, base.comment) == ("base", "", "")
    assert (variant.name, variant.reference, variant.comment) == ("base", "ours", "A variant.")
