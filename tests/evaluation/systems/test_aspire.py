"""Papers compared by their sentences: both distances by hand and against a linear program."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism import Encoder, Paper
from sciprism.evaluation.systems import EncodingInput, NotServedError
from sciprism.evaluation.systems.aspire import AspireSystem, best_match, sentence_vectors, sinkhorn, transport

ROWS = [np.array([0, 1, 2]), np.array([2])]


def papers(*pairs):
    items = [Paper(id=str(n), title=title, abstract=abstract) for n, (title, abstract) in enumerate(pairs)]
    return EncodingInput(items=items, format="proximity")


THREE = papers(
    ("Dark matter", "Galaxies turn fast. Light is bent! Why is this so?"),
    ("Protein folding", "Cells fold protein. Galaxies turn fast."),
    ("Catalyst", "Oxygen and water."),
)


def test_the_best_match_is_the_smallest_distance_of_sentences_that_are_there():
    distances = torch.tensor([[[3.0, 1.0, 0.0], [2.0, 5.0, 0.0]]])
    there = torch.tensor([[True, True, False]])
    assert best_match(distances, there).tolist() == [1.0]


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(1, 6), st.floats(0.3, 2), st.integers(0, 99))
def test_plans_are_those_of_the_plain_iteration(n, m, eps, seed):
    """Sinkhorn's two lines, without logarithms, cooling or rounding."""
    random = np.random.default_rng(seed)
    cost = random.uniform(0, 5, (n, m))
    a, b = random.dirichlet(np.ones(n)), random.dirichlet(np.ones(m))
    kernel, v = np.exp(-cost / eps), np.ones(m)
    for _ in range(3_000):
        u = a / (kernel @ v)
        v = b / (u @ kernel)
    known = [torch.tensor(x)[None] for x in (cost, np.log(a), np.log(b))]
    found = sinkhorn(*known, eps)[0].numpy()
    assert np.abs(found - u[:, None] * kernel * v).max() < 1e-4
    assert np.abs(found.sum(1) - a).max() < 1e-9 and np.abs(found.sum(0) - b).max() < 1e-9


@pytest.mark.parametrize("measure", [best_match, transport])
def test_padding_changes_nothing(measure):
    cost = torch.rand(1, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) + 1
    padded = torch.cat([cost, torch.zeros(1, 3, 2)], dim=2)
    there = torch.tensor([[True] * 4 + [False] * 2])
    assert torch.allclose(measure(padded, there), measure(cost, there[:, :4]), atol=1e-6)


def test_sentences_are_means_of_states_in_one_pass(tiny_model):
    """The states of the whole text, averaged over the tokens of each sentence, as another face gives them."""
    transformers = pytest.importorskip("transformers")
    encoder = Encoder.load(tiny_model, pooling="mean", device="cpu")
    pieces = ["dark matter [SEP]", "galaxies turn fast.", "light is bent!"]
    lengths = [len(encoder.tokenizer.encode(piece, add_special_tokens=False).ids) for piece in pieces]
    model = transformers.AutoModel.from_pretrained(tiny_model).eval()
    asked = transformers.AutoTokenizer.from_pretrained(tiny_model)(" ".join(pieces), return_tensors="pt")
    with torch.inference_mode():
        states = model(**asked).last_hidden_state[0]
    bounds = np.cumsum([1, *lengths])[1:]
    expected = torch.stack([states[s:e].mean(0) for s, e in pairwise(bounds)])
    texts = papers(("Dark matter", "Galaxies turn fast. Light is bent!"))
    found = sentence_vectors(encoder, texts)[0]
    assert found.shape == (2, 32) and torch.allclose(found, expected, atol=1e-5)


def test_a_paper_of_title_alone_and_an_empty_one_have_a_vector(tiny_encoder):
    texts = papers(("Dark matter", ""), ("", ""), ("", "Light. Water."), ("word " * 600, "Cut off."))
    found = sentence_vectors(tiny_encoder, texts)
    assert [len(vectors) for vectors in found] == [1, 1, 2, 1]
    assert all(torch.isfinite(vectors).all() for vectors in found)


@pytest.mark.parametrize("match", ["ts", "ot"])
def test_a_pool_is_ranked_by_sentences_and_a_paper_is_nearest_to_itself(tiny_encoder, match):
    system = AspireSystem(tiny_encoder, match=match)
    found = system.pool_scores(THREE.take(np.array([0, 2])), THREE, ROWS, "euclidean")
    assert [len(scores) for scores in found] == [3, 1]
    assert found[0].argmax() == 0 and found[0].dtype == np.float32
    assert found[0][1] > found[0][2], "the second shares a sentence"
    assert found[1][0] == pytest.approx(0, abs=1e-3)
    assert system.pool_scores(THREE.take(np.array([0])), THREE, [np.array([], int)], "dot")[0].shape == (0,)


def test_what_needs_one_vector_per_paper_is_not_served(tiny_encoder):
    system = AspireSystem(tiny_encoder)
    with pytest.raises(NotServedError):
        system.encode(THREE)
    with pytest.raises(NotServedError):
        system.top(THREE, THREE, 2, "encoder", None)
    assert system.fingerprint != AspireSystem(tiny_encoder, match="ot").fingerprint
    assert system.describe()["encoder"]["fingerprint"] == tiny_encoder.fingerprint
