"""Several processes of one run: the losses of one process, for every objective, with caching, and resumed by others."""

import random

import numpy as np
import pytest

from build_runs import by_two_and_by_one, launch_two, losses, run_recipe
from build_sources import WORDS, write_source
from sciprism import Encoder
from sciprism.papers.records import Paper
from sciprism.text.token_shards import TokenShardWriter
from sciprism.training.examples import Example, write_examples
from sciprism.training.learners.learner import learners
from sciprism.training.loop import Hooks
from sciprism.training.recipe_file import read_recipe

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
    "facets": {"more": 'method = "facets"\noptions = { start = "kept" }', "settings": ", in_batch_negatives = true"},
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
    for name, answers in (("fields", [["physics"], ["biology"]]), ("years", [[0.5], [2.0]])):
        papers = [Paper(id=f"{name}{n}", title=f"{WORDS[n]} {WORDS[n + 1]}") for n in range(40)]
        examples = [Example(paper, answers=tuple(answers[n % 2])) for n, paper in enumerate(papers)]
        write_examples(examples, tmp_path / f"{name}.jsonl")
    draw, tokenizer = random.Random(0), Encoder.load(tiny_model, pooling="mean").tokenizer
    with TokenShardWriter(tmp_path / "blocks", tokenizer, length=16) as writer:
        for encoded in tokenizer.encode_batch([" ".join(draw.sample(WORDS, 8)) for _ in range(60)]):
            writer.add(np.array(encoded.ids[:16], np.uint32), "made")
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

    def stop(step):
        if step.step == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_recipe(read_recipe(recipe), tmp_path / "both", device="cpu", hooks=Hooks(on_step=stop))
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
