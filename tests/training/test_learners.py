"""Learners: the loss that a batch gives, known positives, held-out examples."""

import pytest
import torch
from torch.nn import functional as F

from sciprism import Encoder
from sciprism.objectives.contrastive import in_batch_contrastive
from sciprism.papers.records import Paper
from sciprism.training.dev import reciprocal_rank
from sciprism.training.examples import Example
from sciprism.training.learners import Batch, Tools, learners, settings_of
from sciprism.training.passes import Memory
from sciprism.training.processes import Processes
from sciprism.training.recipe import SourceSpec

LIGHT, CELL, STAR = (
    Paper(id=w, title=f"{w} theory", abstract=f"the {w} of matter") for w in ("light", "cell", "star")
)
EXAMPLES = [
    Example("light wave", (LIGHT, STAR), (CELL,)),
    Example("planet galaxy", (STAR,), (CELL, LIGHT)),
    Example("mouse", (CELL,)),
]


@pytest.fixture
def encoder(tiny_model):
    encoder = Encoder.start(tiny_model, pooling="mean", device="cpu")
    encoder.model.set_dropout(0.0)
    return encoder


def step(encoder, **objective):
    """Return the loss of one batch."""
    settings = settings_of({"name": "contrast"} | objective)
    tools = Tools(encoder=encoder, processes=Processes("cpu"), memory=Memory(tokens=64))
    encoder.model.train()
    loss = learners["contrast"](settings, tools)(
        Batch(examples=EXAMPLES, format="search", query="query", candidate="paper", seed=0), 1.0
    )
    encoder.prepare()
    return loss


def expected(encoder, negatives, known=None, temperature=1.0):
    vectors = [
        F.normalize(torch.from_numpy(encoder.encode(items, format="search", role=role)), dim=-1)
        for items, role in (
            ([e.query for e in EXAMPLES], "query"),
            ([e.positives[0] for e in EXAMPLES], "paper"),
            (negatives, "paper"),
        )
        if items
    ]
    known = None if known is None else torch.tensor(known)
    return in_batch_contrastive(*vectors, temperature=temperature, known=known).item()


def test_one_hard_negative_each(encoder):
    """The first two examples have negatives; the third brings none, and nothing stands for it."""
    found = step(encoder, similarity="cosine", temperature=0.2)
    assert found == pytest.approx(expected(encoder, [CELL, CELL], temperature=0.2), abs=1e-5)
    found = step(encoder, similarity="cosine", temperature=0.2, hard_negatives=0)
    assert found == pytest.approx(expected(encoder, [], temperature=0.2), abs=1e-5)


def test_known_positives_are_left_out(encoder):
    """STAR answers the first query too; CELL as a negative of others is the third query's positive."""
    known = [
        [True, True, False, False, False],
        [False, True, False, False, False],
        [False, False, True, True, True],
    ]
    found = step(encoder, similarity="cosine", mask_known=True)
    assert found == pytest.approx(expected(encoder, [CELL, CELL], known), abs=1e-5)
    assert found < step(encoder, similarity="cosine")


class Fixed:
    """An encoder's face with vectors of our choice."""

    distance = "dot"

    def __init__(self, vectors):
        self.vectors = vectors

    def encode(self, items, *, format, role):
        return torch.tensor([self.vectors[i if isinstance(i, str) else i.id] for i in items]).float().numpy()


def test_reciprocal_ranks_by_hand():
    """Query 1 finds its better positive second, query 2 its one first, query 3 shares the first place."""
    vectors = {
        "light wave": [1, 0, 0],
        "planet galaxy": [0, 1, 0],
        "mouse": [0, 0, 1],
        "light": [2, 0, 0],
        "star": [1, 5, 1],
        "cell": [3, 0, 1],
    }
    spec = SourceSpec(file="x", format="search", query="query")
    assert reciprocal_rank(Fixed(vectors), EXAMPLES, spec) == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)


def test_triplets_take_their_own_negatives(encoder):
    """Two triplets; the third example brings no negative and adds nothing."""
    settings = settings_of({"name": "triplet", "margin": 0.7})
    tools = Tools(encoder=encoder, processes=Processes("cpu"), memory=Memory(tokens=64))
    batch = Batch(examples=EXAMPLES, format="search", query="query", candidate="paper", seed=0)
    queries, near, far = (
        torch.from_numpy(encoder.encode(items, format="search", role=role))
        for items, role in (
            (["light wave", "planet galaxy"], "query"),
            ([LIGHT, STAR], "paper"),
            ([CELL] * 2, "paper"),
        )
    )
    distances = (queries - near).norm(dim=1) - (queries - far).norm(dim=1) + 0.7
    encoder.model.train()
    loss = learners["triplet"](settings, tools)(batch, 1.0)
    assert loss == pytest.approx(distances.clamp_min(0).mean().item(), abs=1e-5)
    assert encoder.model.blocks[0].attention.query.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("name", learners)
def test_every_learner_scales_its_gradient_and_repeats_itself(name, encoder):
    """Conformance: a finite loss, the same for the same seed, and a gradient proportional to the scale."""
    tools = Tools(encoder=encoder, processes=Processes("cpu"), memory=Memory(tokens=64))
    learner = learners[name](settings_of({"name": name}), tools)
    batch = Batch(examples=EXAMPLES, format="search", query="query", candidate="paper", seed=3)
    encoder.model.set_dropout(0.2)
    encoder.model.train()
    found = []
    for scale in (1.0, 1.0, 0.5):
        encoder.model.zero_grad(set_to_none=True)
        loss = learner(batch, scale)
        found.append((loss, encoder.model.blocks[1].feed_forward.expand.weight.grad.clone()))
    assert found[0][0] == found[1][0] == found[2][0] > 0
    torch.testing.assert_close(found[0][1], found[1][1], atol=0, rtol=0)
    torch.testing.assert_close(found[0][1] * 0.5, found[2][1])
