"""Directions of a format's vectors that vary more alike after a stage than before."""

import numpy as np
import pytest

from build_runs import run_recipe
from build_sources import write_recipe
from sciprism import Encoder
from sciprism.training.examples import read_examples
from sciprism.training.recipe_file import read_recipe
from sciprism.training.stage_models import whitening_scale

SCALED = ["stages.0.method=prism", "stages.0.options={depth = 1, split = true, scaled = true}"]
CROSS = np.array([[1, 4], [-1, -4], [1, -4], [-1, 4]])
TEXTS = ["a trial of a vaccine", "dark energy", "neural network image", "protein gene cell", "a wave"]


@pytest.mark.parametrize(
    ("share", "found"),
    [
        (0, [1, 1]),
        (0.5, [1.8439, 0.92195]),  # 1 and 1/2, times the root of 17 / (1 + 4)
        (1, [2.91548, 0.72887]),  # 1 and 1/4, times the root of 17 / (1 + 1)
    ],
)
def test_a_stretch_by_hand(share, found):
    """Spreads of 1 and 4; a mean square length of 17, before and after."""
    scale = whitening_scale(CROSS, share)
    assert np.allclose(scale, found, atol=1e-4)
    assert np.square(CROSS * scale).sum(axis=1).mean() == pytest.approx(17, abs=1e-4)


def test_a_direction_that_does_not_vary_is_not_stretched_without_end():
    assert np.array_equal(whitening_scale(np.ones((3, 4)), 0.5), np.ones(4))
    scale = whitening_scale(np.hstack([CROSS, np.full((4, 1), 1e-9)]), 1)
    assert scale[2] / scale[1] == pytest.approx(4 / (0.01 * 5 / 3), rel=1e-3)


def units(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def models(tmp_path_factory, tiny_model):
    """Models of one recipe, whose last stage ends without and with whitening."""
    folder = tmp_path_factory.mktemp("recipe")
    recipe = write_recipe(folder, tiny_model)
    asked = "stages.0.whitening={classification = 1.0, proximity = 0.5, search = 0.5}"
    changes = {"plain": SCALED, "white": [*SCALED, asked]}
    found = {}
    for name, each in changes.items():
        found[name] = Encoder.load(run_recipe(read_recipe(recipe, each), folder / name, device="cpu"))
    return found


@pytest.mark.parametrize("format", ["classification", "proximity", "search", "regression"])
def test_a_stage_leaves_directions_more_alike(models, format):
    plain, white = (models[name].encode(TEXTS, format=format) for name in ("plain", "white"))
    scale = models["white"].model.beside.scales[models["white"].route(format)].detach().numpy()
    found = plain * scale
    assert np.allclose(units(white), units(found), atol=1e-5)
    assert np.allclose(np.linalg.norm(white, axis=1), np.linalg.norm(plain, axis=1), atol=1e-5)
    stretched = np.abs(scale - 1).max() > 0.1
    assert stretched == (format != "regression")  # which was not asked for


def test_papers_of_a_format_vary_alike_when_it_goes_all_the_way(models):
    """Measured on the papers of its source: queries are papers there, labels are not measured."""
    source = models["white"].folder.parents[2] / "topics.jsonl"
    papers = [example.query for example in read_examples(source, query="paper", candidate="label")]
    plain = units(models["plain"].encode(papers, format="classification"))
    scale = models["white"].model.beside.scales["classification"].detach().numpy()
    spread = (plain * scale).std(axis=0)
    assert spread.max() / spread.min() < 1.001
