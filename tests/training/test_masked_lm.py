"""What is hidden from a masked language model and from the rows of a decoder."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.text.vocabulary import TokenClasses
from sciprism.training.learners.masked_lm import choose_tokens, mask_tokens

# ids 0 and 1 are special, 2 the mask; of 10 to 19 the even ones begin a word
SPECIAL = np.array([True, True, True] + [False] * 17)
STARTS = np.array([False] * 10 + [n % 2 == 0 for n in range(10, 20)])
WORDS = TokenClasses(SPECIAL, STARTS, 2)
TEXT = np.array([0, *range(10, 20), *range(10, 20), 1])


def rng(seed=0):
    return np.random.default_rng(seed)


@given(st.integers(0, 1000), st.floats(0.05, 0.9), st.booleans())
def test_special_tokens_stay_and_the_share_is_met(seed, share, whole):
    places = choose_tokens(TEXT, WORDS, share, rng(seed), whole_words=whole)
    assert len(places) >= 1
    assert not SPECIAL[TEXT[places]].any()
    assert share * 20 - 1 <= len(places) <= max(1, share * 20) + 1 + whole
    assert (np.diff(places) > 0).all()


@given(st.integers(0, 1000))
def test_whole_words_stay_whole(seed):
    places = set(choose_tokens(TEXT, WORDS, 0.3, rng(seed), whole_words=True).tolist())
    for first in range(1, 21, 2):
        assert (first in places) == (first + 1 in places)


def test_eight_of_ten_become_the_mask():
    kinds = []
    for seed in range(500):
        places = choose_tokens(TEXT, WORDS, 0.5, rng(seed), whole_words=False)
        found = mask_tokens(TEXT, places, WORDS, rng(seed + 1))
        untouched = np.delete(np.arange(len(TEXT)), places)
        assert (found[untouched] == TEXT[untouched]).all()
        kinds += [0 if f == 2 else 1 if f == t else 2 for f, t in zip(found[places], TEXT[places], strict=True)]
        assert not SPECIAL[np.setdiff1d(found[places], [2])].any()
    shares = np.bincount(kinds) / len(kinds)
    # of the tokens drawn at random 1 in 17 is the one that stood there
    assert shares == pytest.approx([0.8, 0.1 + 0.1 / 17, 0.1 * 16 / 17], abs=0.02)
