"""A batch in pieces gives the vectors and the gradient of the whole."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from build_runs import by_two_and_by_one, launch_two, losses, run_recipe, run_until
from build_sources import WORDS, write_answers, write_shards, write_source
from sciprism import Encoder
from sciprism.encoders.layers import pack
from sciprism.encoders.transformer import TransformerConfig
from sciprism.objectives.contrastive import in_batch_contrastive
from sciprism.training.learners.learner import learners
from sciprism.training.recipe_file import read_recipe
from sciprism.training.steps import EncoderPass, PassSettings, default_chunk_tokens

TEXTS = [
    "deep learning of protein structure",
    "gravity",
    "the effect of light on the cell memory of the mouse",
    "quantum energy field theory and evidence",
    "galaxy star planet",
    "vaccine trial",
]


@pytest.fixture
def encoder(tiny_model):
    encoder = Encoder.start(tiny_model, pooling="mean", device="cpu")
    encoder.model.set_dropout(0.0)
    encoder.model.train()
    return encoder


def gradients(encoder, pass_settings, seed=0):
    """Return the loss and the gradient of every weight by one pass."""
    encoder.model.zero_grad(set_to_none=True)
    there = EncoderPass(encoder, encoder.tokenize(TEXTS), ["all"] * len(TEXTS), settings=pass_settings, seed=seed)
    loss = in_batch_contrastive(there.vectors[:3], there.vectors[3:], temperature=10.0)
    loss.backward()
    there.backward()
    return loss.item(), {n: p.grad.clone() for n, p in encoder.model.named_parameters() if p.grad is not None}


def direct(encoder):
    """Return the same by autograd alone, all texts in one packed batch."""
    encoder.model.zero_grad(set_to_none=True)
    vectors = encoder.vectors(pack(encoder.tokenize(TEXTS)))
    loss = in_batch_contrastive(vectors[:3], vectors[3:], temperature=10.0)
    loss.backward()
    return loss.item(), {n: p.grad.clone() for n, p in encoder.model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("caching", [True, False])
@pytest.mark.parametrize("tokens", [16, 24, 1000])
def test_the_gradient_is_the_direct_one(encoder, caching, tokens):
    loss, expected = direct(encoder)
    found_loss, found = gradients(encoder, PassSettings(chunk_tokens=tokens, gradient_caching=caching))
    assert found_loss == pytest.approx(loss, abs=1e-6)
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, expected[name], atol=1e-6, rtol=1e-5, msg=name)


def test_with_dropout_caching_repeats_the_very_draws(encoder):
    encoder.model.set_dropout(0.3)
    cached, kept = (
        gradients(encoder, PassSettings(chunk_tokens=16, gradient_caching=c), seed=7) for c in (True, False)
    )
    assert cached[0] == kept[0]
    for name, gradient in cached[1].items():
        torch.testing.assert_close(gradient, kept[1][name], atol=1e-7, rtol=1e-6)
    other = gradients(encoder, PassSettings(chunk_tokens=16, gradient_caching=True), seed=8)
    assert other[0] != cached[0]


def test_routes_are_kept_apart(tiny_model):
    """Texts of two experts in one batch give each expert the gradient of its own texts."""
    encoder = Encoder.start(tiny_model, method="attention-experts", pooling="mean", device="cpu")
    encoder.model.set_dropout(0.0)
    encoder.model.train()
    routes = [encoder.route(f, "paper") for f in ("search", "proximity", "search", "proximity", "search", "search")]
    ids = encoder.tokenize(TEXTS)
    there = EncoderPass(encoder, ids, routes, settings=PassSettings(chunk_tokens=24), seed=0)
    for text, route, row in zip(ids, routes, there.vectors, strict=True):
        alone = encoder.vectors(pack([text], route))[0]
        torch.testing.assert_close(row, alone, atol=1e-6, rtol=1e-5)
    there.vectors[1].sum().backward()
    there.backward()
    experts = dict(encoder.model.named_parameters())
    touched = {name for name, p in experts.items() if ".experts." in name and p.grad is not None and p.grad.any()}
    assert touched
    assert all(".proximity." in name for name in touched)


BASE = {"vocabulary": 9, "heads": 12, "positions": 512}
SMALL = TransformerConfig(**BASE, layers=6, hidden=384, intermediate=1536)
LARGE = TransformerConfig(**BASE, layers=24, hidden=1020, intermediate=4096)


@pytest.mark.parametrize(
    ("config", "gib", "tokens"),
    [(LARGE, 0, 2_048), (SMALL, 8, 8_192), (SMALL, 79, 32_768), (LARGE, 8, 2_048), (LARGE, 24, 4_096)],
)
def test_the_chunks_of_a_gpu_are_as_large_as_its_memory_allows(config, gib, tokens, monkeypatch):
    facts = SimpleNamespace(total_memory=gib * 2**30)
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda _device: facts)
    assert default_chunk_tokens(torch.device("cuda" if gib else "cpu"), config) == tokens


# ---- several processes of one run ----

HEAD = """
name = "every"
seed = 5

[model]
backbone = "{model}"
pooling = "mean"
max_length = 32
dropout = 0.0

[defaults]
batch_size = 8
steps = 4
chunk_tokens = 64
checkpoint_every = 1
optimizer = {{ lr = 1e-4, eps = 1e-3 }}
"""
STAGE = """
[[stages]]
name = "{name}"
initialize_from = "backbone"
objective = {{ name = "{name}"{settings} }}
{more}
[[stages.sources]]
file = "{file}"
{source}
"""
PAIRS = 'format = "search"\nquery = "query"'
HARD = ", hard_negatives = 1"
STAGES = {
    "contrast": {"more": "gradient_caching = true", "settings": HARD},
    "triplet": {"settings": HARD},
    "four-sum": {"settings": HARD},
    # The published maps begin at zero, where the next norm makes gradients of rounding.
    "facets": {"more": 'method = "facets"\noptions = { start = "kept" }'},
    "label-ranking": {"file": "topics.jsonl", "source": 'format = "classification"\ncandidate = "label"'},
    "classification": {"file": "fields.jsonl", "source": 'format = "classification"', "settings": ", dropout = 0.0"},
    "multi-label": {"file": "fields.jsonl", "source": 'format = "classification"', "settings": ", dropout = 0.0"},
    "regression": {"file": "years.jsonl", "source": 'format = "regression"', "settings": ", dropout = 0.0"},
    "similarity": {"settings": ', teacher = "contrast"'},
    "vectors": {"settings": ', teacher = "contrast"'},
    "masked-lm": {"file": "blocks", "source": ""},
    "relations": {"file": "blocks", "source": "", "settings": ', teacher = "contrast", relation_heads = 4'},
    "auto-encoding": {"file": "blocks", "source": "", "more": 'pooling = "cls"'},
}


@pytest.fixture
def recipe(tmp_path, tiny_model):
    """A recipe with a stage for each objective, beside its sources."""
    write_source(tmp_path / "search.jsonl", 60)
    write_source(tmp_path / "topics.jsonl", 40, seed=1, candidate="label")
    write_answers(tmp_path, 40)
    draw, tokenizer = random.Random(0), Encoder.load(tiny_model, pooling="mean").tokenizer
    write_shards(tmp_path / "blocks", tokenizer, [" ".join(draw.sample(WORDS, 8)) for _ in range(60)], length=16)
    given = {"file": "search.jsonl", "source": PAIRS, "settings": "", "more": ""}
    stages = [STAGE.format(name=name, **given | facts) for name, facts in STAGES.items()]
    (tmp_path / "recipe.toml").write_text(HEAD.format(model=tiny_model) + "".join(stages), encoding="utf-8")
    return tmp_path / "recipe.toml"


def test_every_objective_has_a_stage_here():
    assert set(STAGES) == set(learners)


@pytest.mark.slow
def test_two_processes_give_the_losses_of_one(recipe, tmp_path):
    by_two_and_by_one(recipe, [], tmp_path, "contrast")
    for name in STAGES:
        two, one = (losses(tmp_path / run, name) for run in ("two", "one"))
        assert len(two) == len(one) == 4, name
        assert np.abs(np.array(two) - np.array(one)).max() < 1e-4, name


@pytest.mark.slow
def test_a_run_of_one_process_is_resumed_by_two(recipe, tmp_path):
    text = recipe.read_text("utf-8")
    recipe.write_text(text[: text.index("[[stages]]", text.index("[[stages]]") + 1)], encoding="utf-8")
    run_until(2, read_recipe(recipe), tmp_path / "both")
    launch_two(recipe, [], tmp_path / "both")
    run_recipe(read_recipe(recipe), tmp_path / "one", device="cpu")
    both, one = (losses(tmp_path / run) for run in ("both", "one"))
    assert len(both) == len(one) == 4
    assert np.abs(np.array(both) - np.array(one)).max() < 1e-4


@pytest.mark.slow
def test_what_the_first_process_refuses_all_refuse(recipe, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    printed = launch_two(recipe, [], tmp_path / "other", refused=True)
    assert printed.count("InputError: ") == printed.count("other is not empty and holds no run") == 2
    assert "Connection closed" not in printed
