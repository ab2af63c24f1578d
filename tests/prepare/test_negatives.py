"""Mined hard negatives: which candidates they are, what is left out and why, and a step of training on them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from build_commands import run
from build_runs import losses, run_recipe
from build_sources import write_recipe
from build_systems import build_system
from sciprism import Encoder
from sciprism.papers import Paper
from sciprism.prepare.negatives import KNOWN, NEAR, SELF, NegativeSettings, prepare_negatives
from sciprism.training.examples import Example, read_examples, write_examples
from sciprism.training.recipe_file import read_recipe


def paper(id, x):
    """A paper whose vector is (x, 0, 0, 0, 0)."""
    return Paper(id=id, title=f"{x} 0 0 0 0")


# Scores are 10 x. The other source states that `query` has the positive `linked`, and is one of `citing`.
QUERY, POSITIVE, LINKED, CITING = paper("query", 10), paper("positive", 9), paper("linked", 8), paper("citing", 7)
COPY = replace(POSITIVE, id="copy", abstract="again")
OTHERS = (paper("near", 8.5), LINKED, CITING, paper("a", 6), paper("b", 5), paper("c", 4), QUERY, COPY)


@pytest.mark.parametrize(
    ("ranks", "share", "number", "chosen", "dropped"),
    [
        ((1, 100), 0.9, 2, "a b", {SELF: 1, KNOWN: 4, NEAR: 1}),  # known: positive, copy, linked, citing
        ((1, 100), 1.0, 2, "near a", {SELF: 1, KNOWN: 4}),
        ((1, 100), 0.5, 2, "c", {SELF: 1, KNOWN: 4, NEAR: 3}),  # near, a and b are above 45
        ((1, 7), 0.9, 2, "a", {SELF: 1, KNOWN: 4, NEAR: 1}),
        ((8, 8), 0.9, 2, "b", {}),
        ((2, 3), 0.9, 2, "", {KNOWN: 2}),
        ((50, 60), 0.9, 2, "", {}),
    ],
)
def test_negatives_worked_out_by_hand(tmp_path, ranks, share, number, chosen, dropped):
    paths = [tmp_path / "train" / "one.jsonl", tmp_path / "other.jsonl"]
    write_examples([Example(QUERY, (POSITIVE,), OTHERS), Example(QUERY, answers=("no positive",))], paths[0])
    write_examples([Example(QUERY, (LINKED,)), Example(CITING, (QUERY,))], paths[1])
    settings = NegativeSettings(ranks=ranks, share=share, number=number)
    teacher = build_system(tmp_path / "cache", dim=5)
    done = prepare_negatives(tmp_path / "out", paths, teacher, settings)
    assert done.files == {"train/one.jsonl": 1, "other.jsonl": 2}
    (example,) = read_examples(tmp_path / "out" / "train" / "one.jsonl", query="paper", candidate="paper")
    assert (example.query, example.positives) == (QUERY, (POSITIVE,))
    assert [negative.id for negative in example.negatives] == chosen.split()
    record = json.loads((tmp_path / "out" / "negatives.json").read_text())["sources"]["train/one.jsonl"]
    assert {reason: each["count"] for reason, each in record["dropped"].items()} == {
        "query without a positive": 1
    } | dropped
    found = len(chosen.split())
    counts = {"queries": 1, "candidates": 9, "negatives": found, "fewer": int(found == 1), "none": int(found == 0)}
    assert {key: record[key] for key in counts} == counts


def test_a_share_of_a_negative_score_is_below_it():
    assert NegativeSettings(share=0.9).limit(np.array([-2.0, 3.0])) == pytest.approx(-2.2)


@pytest.mark.parametrize("model", ["tiny", "bm25"])
def test_a_recipe_trains_on_what_the_command_writes(tiny_model, tmp_path, monkeypatch, capsys, model):
    name = tmp_path / "tiny"
    Encoder.load(tiny_model, pooling="mean", device="cpu").save(name)
    recipe = write_recipe(tmp_path, name, steps=1)
    sources = (tmp_path / "search.jsonl", tmp_path / "topics.jsonl")
    words = ("-o", tmp_path / "mined", "--model", name if model == "tiny" else model, "--ranks", "1-20")
    status, out, err = run(monkeypatch, capsys, "prepare", "negatives", *sources, *words)
    assert status == 0, err
    assert out.split()[:6] == ["source", "queries", "candidates", "negatives", "fewer", "none"]
    record = json.loads((tmp_path / "mined" / "negatives.json").read_text())
    assert [each["query"] for each in record["sources"].values()] == ["query", "paper"]
    assert record["sources"]["search.jsonl"]["negatives"]
    run_recipe(read_recipe(recipe, sources=tmp_path / "mined"), tmp_path / "run", device="cpu")
    assert len(losses(tmp_path / "run")) == 1
