"""Tokens and seconds as evidence: numbers by hand, and how they enter a record."""

import math

import numpy as np
import pytest

from evidence.claims import claims
from evidence.measurements import FASTER, FEWER, SCORES, add_findings, compare_speed, compare_token_counts
from evidence.records import decide_claim, read_record
from sciprism.errors import InputError
from sciprism.reproduce.papers import reproductions
from sciprism.text.vocabulary import learn_vocabulary

INDUS = reproductions["indus"]
OPEN = INDUS.suites["open"]
TEXTS = [f"{word} galaxies and proteins " * n for n, word in enumerate(("dark", "old", "new", "far"), 1)]


def test_ratios_of_seconds_by_hand():
    found = compare_speed([1.0, 1.0, 1.0], [2.0, 4.0, 8.0], 4.6)
    assert found.value == pytest.approx(4)  # logarithms 1, 2, 3 times log 2: sd 1, standard error 1 / root 3
    off = 4.302653 * math.log(2) / 3**0.5
    assert [found.low, found.high] == pytest.approx([4 * math.exp(-off), 4 * math.exp(off)], rel=1e-5)
    assert found.verdict == "undecided" and found.unit == "x" and found.n == 3
    assert compare_speed([1, 1], [4, 4], 3).verdict == "held"
    assert compare_speed([1, 1], [2, 2], 3).verdict == "smaller than the paper's"
    assert compare_speed([2, 2], [1, 1], 3).verdict == "opposite"
    with pytest.raises(InputError, match="two or more"):
        compare_speed([1], [2], 3)


def test_tokens_against_the_ratio_of_sums_and_a_bootstrap():
    ours, bytes_alone = learn_vocabulary(TEXTS, vocab_size=320), learn_vocabulary(["x"], vocab_size=261)
    whole, physics, more = compare_token_counts(ours, bytes_alone, {"physics": TEXTS[:2], "more": iter(TEXTS[2:])})
    assert (whole.name, whole.n, whole.tasks, whole.decides) == (FEWER, 4, 2, True)
    assert (physics.name, physics.n, physics.decides, more.n) == ("tokens, physics", 2, False, 2)
    counts = np.array([[len(t.encode(text).ids) - 2 for t in (ours, bytes_alone)] for text in TEXTS])
    assert whole.value == pytest.approx(counts[:, 0].sum() / counts[:, 1].sum() - 1) and whole.verdict == "held"
    many = np.tile(counts, (50, 1))
    drawn = np.random.default_rng(0).integers(0, 200, (2000, 200))
    draws = many[drawn].sum(axis=1)
    spread = np.std(draws[:, 0] / draws[:, 1])
    again = compare_token_counts(ours, bytes_alone, {"a": TEXTS * 50})[0]
    assert (again.high - again.low) / 2 == pytest.approx(1.96 * spread, rel=0.1)
    assert compare_token_counts(bytes_alone, ours, {"a": TEXTS})[0].verdict == "opposite"
    assert compare_token_counts(ours, bytes_alone, {"a": TEXTS}, figure=-0.99)[0].verdict == "smaller than the paper's"
    assert compare_token_counts(ours, bytes_alone, {"a": TEXTS[:1]})[0].verdict == "undecided"  # one text, no interval
    with pytest.raises(InputError, match="b: no text"):
        compare_token_counts(ours, bytes_alone, {"a": TEXTS, "b": []})


def test_a_record_keeps_what_another_command_measured(tmp_path):
    fast = compare_speed([1, 1], [4, 4], 3)
    add_findings(tmp_path, "I3", [fast], "python benchmarks/retrieval_time.py", "2026-01-01")
    assert (read_record(tmp_path, "I3").verdict, read_record(tmp_path, "I3").lacking) == ("not tested", (SCORES,))
    found = decide_claim(claims["I3"], INDUS, OPEN, tmp_path)
    assert found.verdict == "not tested" and found.findings == (fast,) and found.date == "2026-01-01"
    assert FASTER not in found.lacking and len(found.lacking) == 4
    assert found.commands == ("python benchmarks/retrieval_time.py",)
    slow = compare_speed([2, 2], [1, 1], 3)
    add_findings(tmp_path, "I3", [slow], "again")
    assert [f.value for f in read_record(tmp_path, "I3").findings] == [pytest.approx(0.5)]
    assert decide_claim(claims["I3"], INDUS, OPEN, tmp_path).verdict == "opposite"
