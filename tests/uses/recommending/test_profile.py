"""Relevance by hand: the power mean of the similarities to own papers, unwanted papers, age."""

from __future__ import annotations

import numpy as np
import pytest

from sciprism.arrays import normalize_rows
from sciprism.errors import InputError
from sciprism.uses.recommending import profile as module
from sciprism.uses.recommending.run import LibraryProfile, choose_papers
from sciprism.uses.recommending.settings import RecommendSettings

NONE = np.empty((0, 3), np.float32)
AXES = np.eye(3, dtype=np.float32)
NO_YEARS = np.full(3, np.nan)


def build_profile(own: np.ndarray, interests: list[int], unwanted: np.ndarray = NONE, **settings) -> LibraryProfile:
    return LibraryProfile(own.astype(np.float32), np.array(interests), unwanted, RecommendSettings(**settings))


def test_relevance_is_the_power_mean_of_the_similarities_to_own_papers() -> None:
    """Cosines of (0.6, 0.8, 0) with the axes are 0.6, 0.8, 0; 0.6 ** 1.5 is 0.46476, 0.8 ** 1.5 is 0.71554."""
    found = build_profile(AXES, [0, 0, 1]).score(np.array([[0.6, 0.8, 0.0]]), NO_YEARS[:1])
    assert found.overall[0] == pytest.approx((1.18030 / 3) ** (2 / 3), abs=1e-5)
    assert (found.interest[0], found.inside[0]) == (0, pytest.approx((1.18030 / 2) ** (2 / 3), abs=1e-5))
    assert (found.own[0], found.nearest[0]) == (1, pytest.approx(0.8))


def test_what_all_new_papers_share_does_not_count() -> None:
    """Without (0, 0, 1), which both share, (0.6, 0, 0.8) and (0, 0.6, 0.8) point elsewhere; their cosine is 0.64."""
    own, new = np.array([[0.6, 0.0, 0.8]], np.float32), np.array([[0.0, 0.6, 0.8]])
    settings = RecommendSettings()
    found = LibraryProfile(own, np.array([0]), NONE, settings, AXES[2] * 0.8).score(new, NO_YEARS[:1])
    assert found.overall.tolist() == [0.0] and found.nearest[0] == pytest.approx(0.64)


def test_unwanted_papers_and_age_lower_the_relevance() -> None:
    years = np.array([2020.0, 2010.0, np.nan])
    vectors = np.array([[0.6, 0.8, 0.0]] * 3)
    unwanted = AXES[:1]
    plain = build_profile(AXES[1:2], [0], unwanted, unwanted_weight=0.5, half_life=10.0, now=2020)
    assert plain.score(vectors, years).overall == pytest.approx([0.5, 0.25, 0.25])  # (0.8 - 0.5 * 0.6) * age
    assert plain.measure_unwanted(vectors) == pytest.approx([0.6] * 3)
    below = plain.score(np.array([[1.0, 0.0, 0.0]] * 3), years).overall
    assert below == pytest.approx([-0.5] * 3), "age does not raise what is below 0"
    future = plain.score(vectors[:1], np.array([2030.0])).overall
    assert future == pytest.approx([0.5]), "a year ahead counts as this year"


def test_blocks_give_what_all_at_once_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    vectors = random.standard_normal((50, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    own, groups = vectors[:20].astype(np.float32), [n % 3 for n in range(20)]
    whole = build_profile(own, groups)
    expected, floors = whole.score(vectors[20:], np.full(30, np.nan)), whole.floors
    monkeypatch.setattr(module, "CELLS", 30)
    parts = build_profile(own, groups)
    found = parts.score(vectors[20:], np.full(30, np.nan))
    assert found.overall == pytest.approx(expected.overall) and found.own.tolist() == expected.own.tolist()
    assert parts.floors == pytest.approx(floors)


def test_a_paper_fits_an_interest_that_is_as_near_as_its_own_papers() -> None:
    own = np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 0, 1]])
    found = build_profile(own, [0, 0, 1]).score(np.array([[0.9, 0.43589, 0], [0.2, 0.4, 0.89443]]), NO_YEARS[:2])
    assert found.interest.tolist() == [0, 1] and found.fits.tolist() == [True, True]
    far = build_profile(own, [0, 0, 1]).score(np.array([[0.6, -0.8, 0.0]]), NO_YEARS[:1])
    assert far.fits.tolist() == [False]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"interests": 0}, "0 interests"),
        ({"balance": 1.5}, "balance is 1.5"),
        ({"diversity": 1.0}, "diversity is 1.0"),
        ({"unwanted_weight": -1.0}, "unwanted weight is -1.0"),
        ({"half_life": 0.0}, "half-life is 0.0"),
    ],
)
def test_a_setting_out_of_range_is_an_error(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RecommendSettings(**settings)


def choose(own: np.ndarray, interests: list[int], new: np.ndarray, **settings) -> list[int]:
    profile = build_profile(own, interests, **settings)
    vectors = new / np.linalg.norm(new, axis=1, keepdims=True)
    return choose_papers(profile, vectors, np.full(len(new), np.nan), RecommendSettings(**settings))[0]


def test_diversity_puts_a_repetition_later() -> None:
    own = AXES[:1]
    new = np.array([[1, 0.1, 0], [1, 0.11, 0], [1, 0, 0.5]])
    assert choose(own, [0], new, k=3, balance=0.0, diversity=0.0) == [0, 1, 2]
    assert choose(own, [0], new, k=3, balance=0.0, diversity=0.6) == [0, 2, 1]


def test_a_small_interest_has_its_share_of_the_list() -> None:
    """Nine papers of one interest and one of another: of ten places, shares of 3 : 1 give it two or three."""
    own = normalize_rows(np.array([[1, 0, 0.1 * n] for n in range(9)] + [[0, 1, 0]], np.float32))
    big = np.array([[1, 0, 0.02 * n] for n in range(20)])
    small = np.array([[0, 1, 0.1 * n] for n in range(4)])
    new, groups = np.concatenate([big, small]), [0] * 9 + [1]
    alone = choose(own, groups, new, k=10, balance=0.0, diversity=0.0)
    assert max(alone) < 20, "by relevance alone the small interest is lost"
    shared = choose(own, groups, new, k=10, balance=1.0, diversity=0.0)
    assert 20 in shared[:4] and sum(row >= 20 for row in shared) in (2, 3)
    half = choose(own, groups, new, k=10, balance=0.5, diversity=0.0)
    assert 20 in half and sum(row >= 20 for row in half) == 1


def test_an_interest_without_a_fitting_paper_loses_its_share() -> None:
    own = np.concatenate([np.repeat(AXES[:1], 3, axis=0), np.repeat(AXES[1:2], 3, axis=0)])
    new = np.array([[1, 0, 0.1], [1, 0, 0.2], [0, 0.1, 1]])
    assert choose(own, [0] * 3 + [1] * 3, new, k=2, balance=1.0, diversity=0.0) == [0, 1]
    assert len(choose(own, [0] * 3 + [1] * 3, new, k=9, balance=1.0)) == 3, "no more than there are"
