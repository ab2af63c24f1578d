"""Small sources, recipes and runs that the tests of training share."""

import random
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from sciprism.papers.records import Label, Paper
from sciprism.text.token_shards import TokenShardWriter
from sciprism.training.examples import Example, write_examples

SCIENCE = """
theory law effect test evidence analysis measure learning network deep neural language image text
word protein gene cell dna brain memory mouse virus vaccine trial heart light wave particle quantum
energy field gravity star galaxy planet universe electron atom nuclear radiation laser crystal
carbon oxygen water acid reaction
"""
WORDS = SCIENCE.split()


def example(draw: random.Random, name: str, candidate: str = "paper") -> Example:
    """Return a query whose words stand in its positive, with one hard negative."""
    words = draw.sample(WORDS, 10)
    others = " ".join(draw.sample(WORDS, 6))
    if candidate == "label":
        label = Label(id=f"l-{words[0]}", name=words[0])
        return Example(Paper(id=name, title=" ".join(words)), (label,), (Label(id="l-none", name="none"),))
    paper = Paper(id=name, title=" ".join(words[:6]), abstract=" ".join(words[4:]))
    return Example(" ".join(draw.sample(words, 4)), (paper,), (Paper(id=f"{name}-not", title=others),))


def write_source(path: Path, count: int, seed: int = 0, candidate: str = "paper") -> Path:
    """Write a file of examples."""
    draw = random.Random(seed)
    write_examples((example(draw, f"{path.stem}{i}", candidate) for i in range(count)), path)
    return path


def write_answers(folder: Path, count: int) -> None:
    """Write papers with fields of study, and papers with numbers."""
    for name, answers in (("fields", [["physics"], ["biology"]]), ("years", [[0.5], [2.0]])):
        papers = [Paper(id=f"{name}{n}", title=f"{WORDS[n]} {WORDS[n + 1]}") for n in range(count)]
        examples = [Example(paper, answers=tuple(answers[n % 2])) for n, paper in enumerate(papers)]
        write_examples(examples, folder / f"{name}.jsonl")


def write_shards(folder: Path, tokenizer: Tokenizer, texts: list[str], length: int) -> None:
    """Write blocks of tokens, one of each text."""
    with TokenShardWriter(folder, tokenizer, length=length) as writer:
        for encoded in tokenizer.encode_batch(texts):
            writer.add(np.array(encoded.ids[:length], np.uint32), "made")


RECIPE = """
name = "made"
seed = 5

[model]
backbone = "{model}"
pooling = "mean"
max_length = 32
dropout = {dropout}

[[stages]]
name = "contrast"
batch_size = 8
steps = {steps}
chunk_tokens = 64
checkpoint_every = {every}
objective = {{ name = "contrast", similarity = "cosine", temperature = 0.1 }}
optimizer = {{ lr = 1e-3, max_grad_norm = {clip} }}

[[stages.sources]]
file = "search.jsonl"
format = "search"
query = "query"

[[stages.sources]]
file = "topics.jsonl"
format = "classification"
candidate = "label"
"""


def write_recipe(folder: Path, model: Path, **facts: object) -> Path:
    """Write a recipe with two sources beside it."""
    write_source(folder / "search.jsonl", 60)
    write_source(folder / "topics.jsonl", 30, seed=1, candidate="label")
    facts = {"steps": 12, "every": 5, "dropout": 0.1, "clip": 1.0} | facts
    path = folder / "recipe.toml"
    path.write_text(RECIPE.format(model=model, **facts), encoding="utf-8")
    return path
