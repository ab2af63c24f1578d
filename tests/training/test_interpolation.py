"""Models between a stage's start and its end."""

from functools import cache

import pytest
from safetensors.torch import load_file

from build_runs import run_recipe
from build_sources import write_recipe, write_source
from sciprism.training.recipe_file import read_recipe

PRISM = ["stages.0.method=prism", "stages.0.options={depth = 1, split = true}"]
DEV = ["stages.0.evaluation={every = 3, examples = 20}", "stages.0.sources.0.dev=dev.jsonl"]


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


@pytest.mark.parametrize("dev", [[], DEV])
def test_a_format_of_its_own_way(dev, weights):
    """Of the best model by dev examples too, where that is what a stage leaves."""
    ways = {"none": "{search = 0.0}", "part": "{search = 0.25}", "whole": "1.0"}
    none, part, whole = (
        weights(f"{name}-{len(dev)}", *PRISM, *dev, f"stages.0.interpolation={way}") for name, way in ways.items()
    )
    of_search = [name for name in whole if ".search." in name]
    assert of_search and any((none[name] - whole[name]).abs().max() > 1e-4 for name in of_search)
    for name in whole:
        expected = none[name] + 0.25 * (whole[name] - none[name]) if ".search." in name else whole[name]
        assert (part[name] - expected).abs().max() < 1e-6
