"""The model that ships, as a stranger without a network meets it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sciprism import Encoder
from sciprism.encoders.checkpoints.names import resolve
from sciprism.formats import FORMATS

MOST = 25_000_000
PAPERS = [
    "Continental drift. How the continents moved apart over geological time.",
    "Reward prediction errors. Dopamine neurons signal errors of expected reward.",
    "Plate tectonics. Sea floors spread and carry the continents with them.",
    "No title.",
]


@pytest.fixture(scope="module")
def shipped():
    return Encoder.load(device="cpu")


def test_it_is_small():
    _, folder = resolve(None)
    assert sum(path.stat().st_size for path in folder.rglob("*")) <= MOST


def test_one_pass_gives_every_format(shipped):
    everything = shipped.encode_all(PAPERS)
    assert tuple(everything) == FORMATS == shipped.formats
    for format in FORMATS:
        assert everything[format].shape == (len(PAPERS), shipped.dim)
        np.testing.assert_allclose(everything[format], shipped.encode(PAPERS, format=format), atol=1e-5)


def test_formats_differ_and_neighbours_are_near(shipped):
    everything = shipped.encode_all(PAPERS)
    assert np.abs(everything["classification"] - everything["search"]).max() > 1e-2
    near = everything["proximity"] / np.linalg.norm(everything["proximity"], axis=1, keepdims=True)
    cosines = near @ near.T
    assert cosines[0, 2] > cosines[0, 1] + 0.1


def test_its_card_says_what_a_person_asks():
    _, folder = resolve(None)
    card = (folder / "README.md").read_text(encoding="utf-8")
    for heading in ("## Use", "## Data", "## Licence", "## Training", "## Scores", "## Limits"):
        assert heading in card


def test_its_scores_are_the_recorded_ones():
    recorded = Path(__file__).parents[2] / "results" / "small" / "open.md"
    lines = set(recorded.read_text(encoding="utf-8").splitlines())
    card = (resolve(None)[1] / "README.md").read_text(encoding="utf-8")
    scores = card.partition("## Scores")[2].partition("## Limits")[0].partition("<!-- split: end -->")[2]
    rows = [line for line in scores.splitlines() if line.startswith("| ") and "\\[" in line]
    assert len(rows) > 50 and set(rows) <= lines


def test_it_needs_no_network():
    program = (
        "import socket; socket.socket.connect = None; from sciprism import Encoder; "
        "print(Encoder.load().encode(['one paper']).shape)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(1, 384)"
