"""The same examples from any number of processes, under any PYTHONHASHSEED; outside: exact draws."""

import os
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers import Label, Paper
from sciprism.prepare.samplers.citation import CitationTriplets
from sciprism.prepare.samplers.classes import OneHeading, VenueFields
from sciprism.prepare.samplers.drawing import Draw, Sampled, chance, drawn, lowest
from sciprism.prepare.samplers.influential import Influential
from sciprism.prepare.samplers.label_pairs import LabelPairs
from sciprism.prepare.samplers.quantities import LogCitations, ScaledYears
from sciprism.prepare.samplers.same_author import SameAuthor
from sciprism.prepare.samplers.triplets import outside
from sciprism.seeding import random_fraction

COUNT = 700  # more than two pieces of work
PAPERS = [
    Paper(
        id=f"p{i}",
        title=f"Paper {i}",
        venue=f"v{i % 9}",
        authors=(f"a{i % 50}", f"a{i % 31}"),
        references=tuple(f"p{(i * k + k) % COUNT}" for k in range(2, 9)),
    )
    for i in range(COUNT)
]
LABELS = [Label(id=f"l{i}", name=f"label {i}") for i in range(30)]
CARRIED = [[i % 30, i % 7, i % 11] for i in range(COUNT)]


@pytest.mark.parametrize(
    "made",
    [
        lambda: LogCitations(year="2016"),
        lambda: LogCitations(year=2016, most=-1),
        lambda: Influential(least="4"),
        lambda: SameAuthor(positives=2.5),
        lambda: CitationTriplets(most=-1),
        lambda: VenueFields(most=-1),
        lambda: OneHeading(descriptors=["a"], most=True),
        lambda: ScaledYears(first=2000, last=2010.5),
    ],
)
def test_options_that_count_nothing_are_refused(made):
    with pytest.raises(InputError, match=r"not a whole number|it counts something"):
        made()


def samples(workers):
    """Every sampler that draws with chance, each with its report."""
    edges = [(paper.id, cited) for paper in PAPERS for cited in paper.references]
    one, two, three = Sampled(), Sampled(), Sampled()
    found = (
        list(CitationTriplets(seed=3).sample(PAPERS, edges, workers=workers, report=one)),
        list(SameAuthor().sample(PAPERS, [p.authors for p in PAPERS], workers=workers, report=two)),
        list(LabelPairs(cap=40).sample(PAPERS, LABELS, CARRIED, workers=workers, report=three)),
    )
    return found, [report.to_json() for report in (one, two, three)]


def test_any_number_of_processes_gives_the_same():
    assert samples(workers=3) == samples(workers=1)


def test_any_hash_seed_gives_the_same():
    code = "from test_drawing import *; print(sha256(repr(samples(1)).encode()).hexdigest())"
    told = os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "-c", code], env=told, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == sha256(repr(samples(1)).encode()).hexdigest()


def test_a_query_is_drawn_alike_whatever_stands_before_it():
    edges = [(paper.id, cited) for paper in PAPERS for cited in paper.references]
    every = {e.query.id: e for e in CitationTriplets().sample(PAPERS, edges)}
    some = list(CitationTriplets().sample(PAPERS, edges, queries=["p3", "p600"]))
    assert some == [every["p3"], every["p600"]]


def test_draws_come_in_order_and_stream():
    asked = []

    def numbers():
        for number in range(20_000):
            asked.append(number)
            yield number

    found = drawn(abs, numbers(), workers=2)
    assert [next(found) for _ in range(300)] == list(range(300))
    assert len(asked) < 5_000  # the rest is not even read
    found.close()
    with pytest.raises(InputError, match="0 workers"):
        list(drawn(abs, [1], workers=0))


def test_an_error_in_a_process_comes_through():
    with pytest.raises(ValueError, match="invalid literal"):
        list(drawn(int, ["1", "x"], workers=2))


def test_chance_is_of_seed_and_names():
    assert chance(0, "a").random() == chance(0, "a").random() != chance(1, "a").random()
    assert random_fraction(0, "a", "b") == random_fraction(0, "a", "b") != random_fraction(0, "ab")
    places = [random_fraction(0, str(i)) for i in range(999)]
    assert min(places) >= 0 and max(places) < 1
    assert sum(places) / 999 == pytest.approx(0.5, abs=0.05)
    tally = DropReport()
    assert lowest(["a", "b"], 0, 0, tally) == lowest(["a", "b"], 2, 0, tally) == [0, 1] and not tally.ids


def test_what_is_left_is_drawn_evenly_and_never_twice():
    counts = Counter(number for seed in range(3000) for number in outside(Random(seed), 8, {0, 3, 4}, 2))
    assert {*counts} == {1, 2, 5, 6, 7}
    assert all(count == pytest.approx(1200, abs=120) for count in counts.values())
    assert sorted(outside(Random(0), 8, {0, 3, 4}, 99)) == [1, 2, 5, 6, 7]
    assert outside(Random(0), 3, {0, 1, 2}, 1) == []


def test_reports_add_up():
    report = Sampled()
    assert report.add(Draw((1, 2), (3,), ("hard", "none")))
    assert not report.add(Draw(dropped=(("no reason", "x"),)))
    assert report.to_json() == {
        "queries": 1,
        "pairs": 2,
        "negatives": {"hard": 1, "none": 1},
        "dropped": {"no reason": {"count": 1, "first": ["x"]}},
    }
    assert report.hard == 1
