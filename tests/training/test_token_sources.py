"""Stages over tokens: a model from nothing, shrunk, taught to search, and distilled, in one recipe."""

import json
import random

import pytest
import torch

from build_runs import run_recipe, run_until
from build_sources import WORDS, write_shards, write_source
from sciprism import Encoder
from sciprism.errors import InputError
from sciprism.text.vocabulary import learn_vocabulary, save_vocabulary
from sciprism.training.learners.masked_lm import HEAD_FILE
from sciprism.training.plan import plan_training
from sciprism.training.recipe_file import read_recipe

RECIPE = """
name = "chain"

[model]
tokenizer = "tokenizer"
pooling = "mean"
max_length = 32
dropout = 0.1

[defaults]
batch_size = 8
steps = 6
chunk_tokens = 64
checkpoint_every = 2
optimizer = { lr = 1e-3 }
evaluation = { every = 3, examples = 10 }

[[stages]]
name = "words"
architecture = { layers = 2, hidden = 32, heads = 4, intermediate = 64, max_positions = 34 }
objective = { name = "masked-lm" }
[[stages.sources]]
file = "train"
dev = "dev"

[[stages]]
name = "small"
architecture = { layers = 1, hidden = 16, heads = 2, intermediate = 32, max_positions = 34, token_types = 2 }
objective = { name = "relations", teacher = "words", relation_heads = 8 }
[[stages.sources]]
file = "train"

[[stages]]
name = "again"
pooling = "cls"
objective = { name = "auto-encoding" }
[[stages.sources]]
file = "train"

[[stages]]
name = "search"
initialize_from = "words"
objective = { name = "four-sum" }
[[stages.sources]]
file = "pairs.jsonl"
dev = "pairs.jsonl"
format = "search"
query = "query"

[[stages]]
name = "distil"
initialize_from = "again"
pooling = "cls"
objective = { name = "similarity", teacher = "search" }
[[stages.sources]]
file = "pairs.jsonl"
format = "search"
query = "query"
"""


def sentences(count, seed=0):
    draw = random.Random(seed)
    return [" ".join(draw.sample(WORDS, 8)) for _ in range(count)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    tokenizer = learn_vocabulary(sentences(50), vocab_size=320)
    save_vocabulary(tokenizer, tmp_path / "tokenizer")
    write_shards(tmp_path / "train", tokenizer, sentences(60), 24)
    for domain, seed in (("space", 1), ("cells", 2)):
        write_shards(tmp_path / "dev" / domain, tokenizer, sentences(12, seed), 24)
    write_source(tmp_path / "pairs.jsonl", 40)
    (tmp_path / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_the_chain_runs_and_goes_on_where_it_was_stopped(folder):
    recipe = read_recipe(folder / "recipe.toml")
    run = folder / "run"
    model = run_recipe(recipe, run, device="cpu")
    small = Encoder.load(model, device="cpu")
    assert (small.dim, small.settings.pooling, small.model.config.types) == (16, "cls", 2)
    assert Encoder.load(run / "search" / "model").dim == 32
    rows = [json.loads(line) for line in (run / "words" / "metrics.jsonl").read_text("utf-8").splitlines()]
    dev = next(row for row in rows if "dev" in row)
    assert set(dev["dev_scores"]) == {"train/space", "train/cells"}
    assert (run / "words" / "model" / HEAD_FILE).exists()
    assert not (run / "search" / "model" / HEAD_FILE).exists()
    assert max(row["step"] for row in rows) == 6
    run_until(3, recipe, folder / "again", stage="small")
    again = Encoder.load(run_recipe(recipe, folder / "again", device="cpu"))
    for name, weight in again.model.state_dict().items():
        assert torch.equal(weight, small.model.state_dict()[name]), name


def test_shards_of_another_vocabulary_are_refused(folder):
    write_shards(folder / "train", learn_vocabulary(sentences(50), vocab_size=300), sentences(10), 24)
    with pytest.raises(InputError, match="of another vocabulary than the model's"):
        run_recipe(read_recipe(folder / "recipe.toml"), folder / "run", device="cpu")
    assert not (folder / "run" / "words" / "metrics.jsonl").exists()


@pytest.mark.parametrize("shards", ["train", "dev/space"])
def test_a_corrupt_shard_is_refused_before_the_first_step(folder, shards):
    (shard,) = (folder / shards).glob("tokens-*.npy")
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    with pytest.raises(InputError, match=shard.name):
        run_recipe(read_recipe(folder / "recipe.toml"), folder / "run", device="cpu")
    assert not (folder / "run" / "words").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("stages.small.objective.teacher=later", "'?later"),
        ("stages.distil.sources.pairs.file=train", "train"),
        ("stages.words.method=prism", "train the network, which prism keeps as it is"),
        ("stages.words.architecture.heads=5", "5 heads do not divide a width of 32"),
        ("stages.words.architecture.copy_from=words", "copy_from = words is not an earlier stage"),
        ("stages.small.architecture.copy_from=words", "small: its architecture cannot be built from"),
        ("stages.words.architecture.max_positions=20", "positions for 18"),
        ("stages.search.architecture={layers=1, hidden=8, heads=1, intermediate=8}", "are both given"),
    ],
)
def test_what_is_refused_before_the_first_step(change, message, folder):
    with pytest.raises(InputError, match=message):
        run_recipe(read_recipe(folder / "recipe.toml", [change]), folder / "run", device="cpu")
    assert not (folder / "run" / "words" / "metrics.jsonl").exists()


def test_blocks_train_what_lies_in_the_texts_way(folder, tmp_path):
    """prism's own weights lie beside the text; an adapter's do not."""
    changes = ["stages.words.method=prism", 'stages.words.options={text="trained"}', "stages.words.train=method"]
    with pytest.raises(InputError, match="which prism keeps as it is"):
        run_recipe(read_recipe(folder / "recipe.toml", changes), tmp_path / "prism", device="cpu")
    others = (["stages.words.method=adapters", "stages.words.steps=1"], [*changes[:2], "stages.words.steps=1"])
    for number, passed in enumerate(others):
        recipe = read_recipe(folder / "recipe.toml", passed)
        recipe = recipe.model_copy(update={"stages": recipe.stages[:1]})
        assert run_recipe(recipe, tmp_path / str(number), device="cpu").is_dir()


@pytest.mark.parametrize("checked", [None, False, True])
def test_blocks_that_may_hold_test_papers_are_refused(folder, checked):
    """Packed blocks do not name their papers; mixture.json says whether they were checked against tests."""
    if checked is not None:
        (folder / "mixture.json").write_text(json.dumps({"settings": {"split_table": checked}}))
    recipe, run = read_recipe(folder / "recipe.toml"), folder / "checked-run"
    if checked:
        assert plan_training(recipe, run, overlaps=lambda _examples: [], device="cpu").stages
        return
    with pytest.raises(InputError, match=r"source train: .*train may hold papers of tests.*--data"):
        plan_training(recipe, run, overlaps=lambda _examples: [], device="cpu")
    assert plan_training(recipe, run, device="cpu").stages
