"""The model that ships, as a stranger without a network meets it."""

from pathlib import Path

import numpy as np
import pytest

from sciprism import Encoder
from sciprism.encoders.checkpoints.names import resolve
from sciprism.formats import FORMATS

PAPERS = [
    "Continental drift. How the continents moved apart over geological time.",
    "Reward prediction errors. Dopamine neurons signal errors of expected reward.",
    "Plate tectonics. Sea floors spread and carry the continents with them.",
    "No title.",
]


@pytest.fixture(scope="module")
def shipped():
    return Encoder.load(device="cpu")


def test_one_pass_gives_every_format(shipped):
    everything = shipped.encode_all(PAPERS)
    assert tuple(everything) == FORMATS == shipped.formats
    for format in FORMATS:
        assert everything[format].shape == (len(PAPERS), shipped.dim)
        np.testing.assert_allclose(everything[format], shipped.encode(PAPERS, format=format), atol=1e-5)


def test_its_scores_are_the_recorded_ones():
    recorded = Path(__file__).parents[2] / "results" / "small" / "open.md"
    lines = set(recorded.read_text(encoding="utf-8").splitlines())
    card = (resolve(None)[1] / "README.md").read_text(encoding="utf-8")
    scores = card.partition("## Scores")[2].partition("## Limits")[0].partition("<!-- split: end -->")[2]
    rows = [line for line in scores.splitlines() if line.startswith("| ") and "\\[" in line]
    assert len(rows) > 50 and set(rows) <= lines
