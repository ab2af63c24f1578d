"""The model that ships, as a stranger without a network meets it."""

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from sciprism import Encoder
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.packing import pack
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


class OperationCounter(TorchDispatchMode):
    """Counts operators, those that copy rows, and the floating-point operations of linear maps and attention."""

    def __init__(self):
        super().__init__()
        self.calls = self.copies = self.products = self.attention = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out, name = function(*args, **(kwargs or {})), function._schema.name.partition("::")[2]
        self.calls += 1
        self.copies += name in ("index", "index_select", "cat", "stack", "clone", "copy_", "contiguous")
        if name in ("linear", "_linear_pointwise"):
            self.products += 2 * out.numel() * args[0].shape[-1]
        if name == "scaled_dot_product_attention":
            self.attention += 4 * args[0].numel() * args[1].shape[-2]
        return out


@pytest.mark.parametrize(("formats", "calls", "copies"), [(1, 400, 28), (4, 430, 28)])
def test_a_batch_takes_no_more_operations_than_before(shipped, formats, calls, copies):
    """A guard where times say little: nothing is padded, and no operator is added unseen."""
    lengths, config = (200, 120, 50, 50, 8), shipped.model.config
    batch = pack([[7] * length for length in lengths], "all" if formats > 1 else shipped.route())
    routes = [shipped.route(format) for format in FORMATS]
    counter = OperationCounter()
    with torch.inference_mode():
        for number in range(2):  # weights are packed in the first
            with counter if number else nullcontext():
                shipped.vectors_by_route(batch, routes) if formats > 1 else shipped.vectors(batch)
    hidden, rows = config.hidden, len(lengths) * formats
    text = config.layers * (4 * hidden**2 + 2 * hidden * config.intermediate)
    assert counter.attention == config.layers * 4 * hidden * sum(length**2 for length in lengths)
    tokens = counter.products - 2 * text * sum(lengths)
    assert 0 < tokens <= 2 * rows * (7 * hidden**2 + 2 * hidden * config.intermediate)
    assert counter.calls <= calls and counter.copies <= copies
