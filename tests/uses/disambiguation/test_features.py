"""Features against numbers worked out by hand."""

import math

import numpy as np
import pytest

from sciprism.papers.bibliographic_fields import parse_name
from sciprism.papers.records import Paper, Signature
from sciprism.uses.disambiguation import features
from sciprism.uses.disambiguation import published_features as published
from sciprism.uses.disambiguation.features import FEATURES, BagMatrix, PairFeatures, name_similarity

NAMES = [feature.name for feature in FEATURES]
ENGLISH = "We show that the order of the parts is known and that this is of use for all of the others."
P_AUTHORS, Q_AUTHORS = ("Ann Lee", "Bo Kim", "C. Diaz"), ("B. Kim", "A. Lee")
P = {"title": "Graph kernels for the web", "abstract": ENGLISH, "year": 2001, "references": ("r", "s")}
PAPERS = [
    Paper(id="p", authors=P_AUTHORS, venue="ICML", **P),
    Paper(id="q", title="Graph kernels", authors=Q_AUTHORS, venue="ICML", year=2091, references=("p", "r")),
    Paper(id="r", title="Kernels", authors=("Eve Fox",), venue="NIPS"),
]


def mention(paper, name, **more):
    return Signature(id=str(paper), paper=paper, name=name, block="a lee", author="x", **more)


ROME = {"affiliations": ("Rome",)}
MENTIONS = [
    mention(0, "Ann Lee", position=0, coauthors=P_AUTHORS[1:], email="Ann@x.org", **ROME),
    mention(1, "A. Lee", position=1, coauthors=Q_AUTHORS[:1], email="ann@y.org", **ROME),
    mention(2, "A. Lee"),
]


@pytest.fixture(scope="module")
def rows():
    table = PairFeatures(PAPERS, MENTIONS).table(np.array([0, 0]), np.array([1, 2]))
    return [dict(zip(NAMES, row.tolist(), strict=True)) for row in table]


def test_there_are_39_in_the_order_of_the_sheet():
    assert NAMES[33] == "embedding" and NAMES[34] == "journal" and NAMES[13] == "year"
    signs = [1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0, -1, *[1] * 8, *[0] * 5, 0, -1, -1, -1, 0, -1, *[0] * 6]
    assert [feature.monotone for feature in FEATURES] == signs
    assert features.find_columns(["email", "embedding"]).tolist() == [7, 8, 33]


def test_two_mentions_by_hand(rows):
    row = rows[0]
    assert row["affiliation"] == 1.0
    assert (row["email-prefix"], row["email-suffix"]) == (1.0, 0.0)
    assert row["coauthor-blocks"] == 0.5  # b kim of b kim, c diaz
    assert row["coauthor-names"] == 0.0
    assert row["venue"] == 1.0
    assert row["year"] == 50.0  # 90, capped
    # graph, kernels, web, graph kernels, kernels web, graph kernels web against graph, kernels, graph kernels
    assert row["title-words"] == pytest.approx(3 / 6)
    assert row["references"] == pytest.approx(1 / 3)
    assert row["self-citation"] == 1.0
    # p cites r (kernels); q cites p (6 runs of words) and r: shared 1, together 1 + 7 - 1
    assert row["reference-titles"] == pytest.approx(1 / 7)
    assert row["position"] == 1.0
    assert row["abstracts"] == 1.0
    assert row["english"] == 2.0 and row["certain-languages"] == 1.0
    assert row["min-first"] != row["min-first"]  # an initial has no first-name count
    assert row["min-last"] == 2.0 and row["min-block"] == 2.0


def test_what_is_missing_is_nan(rows):
    empty = {name for name, value in rows[1].items() if np.isnan(value)}
    assert {"affiliation", "email-prefix", "coauthor-names", "year", "self-citation", "references"} <= empty
    assert "embedding" in empty and "journal" in empty
    assert rows[1]["venue"] == 0.0


def test_cosine_plus_one_only_of_usable_vectors():
    vectors = np.array([[1, 0], [1, 1], [0, 0], [-2, 0]], np.float32)
    usable = np.array([True, True, True, False])
    found = features.embedding_similarity(vectors, usable, np.array([0, 0, 0]), np.array([1, 2, 3]))
    assert found[0] == pytest.approx(1 + np.sqrt(0.5))
    assert np.isnan(found[1:]).all()


def test_runs_of_letters_and_words():
    assert features.character_ngrams("Abc") == ["ab", "bc", "abc"]
    assert features.word_ngrams("The art of war") == ["art", "war", "art war"]


def test_a_cap_on_the_union():
    assert BagMatrix(["aab", "aac"]).jaccard(np.array([0]), np.array([1]), cap=2)[0] == 1.0


def test_six_features_of_given_names():
    features = name_similarity(parse_name("Ann B. C. Lee"), parse_name("Ann Beth Lee"))
    # initials b, c against b: 1 of 2; two middle names never equal one; an initial stands among the middles
    assert features == (1.0, 0.5, 0.0, 0.0, 0.0, 1.0)
    features = name_similarity(parse_name("A. Lee"), parse_name("Ann Beth Lee"))
    assert features[0] == 0.0 and features[3:] == (1.0, 1.0, 0.0)
    assert math.isnan(features[1]) and math.isnan(features[2])
    assert name_similarity(parse_name("A B Lee"), parse_name("A Beth Lee"))[2] == 1.0


@pytest.mark.parametrize(
    ("one", "other", "column", "expected"),
    [
        ("kitten", "sitting", 0, 3 / 7),
        ("johann", "john", 1, 1 - 3 / 4),
        ("jo", "john", 1, 0.0),
        ("abcde", "ace", 2, 1 - 3 / 5),
        ("martha", "marhta", 3, 0.9611),  # Winkler's own examples
        ("dixon", "dicksonx", 3, 0.8133),
        ("abc", "xyz", 3, 0.0),
        ("a", "anna", 0, math.nan),  # an initial
    ],
)
def test_distances_of_first_names(one, other, column, expected):
    assert features.advanced_similarity(one, other)[column] == pytest.approx(expected, abs=1e-4, nan_ok=True)


@pytest.mark.parametrize(
    ("bag", "one", "other", "expected"),
    [
        (published.word_ngrams, "The melting of glaciers in O'Neill Bay 2", "Melting glaciers of O'Neill Bay", 1.0),
        (published.character_ngrams, "The melting of glaciers in O'Neill Bay 2", "Melting ice", 0.3125),
        ("affiliation", "Department of Physics, University of Oslo", "Institute of Physics, Oslo University", 1.0),
        ("affiliation", "Oslo University", "University of Bergen", 0.0),
        ("venue", "Journal of Ice Research", "Sea Ice", 0.5),
        ("venue", "Proceedings of Ice Sheets 2", "Ice Sheets", 1.0),
        ("coauthors", "Ann O'Neill Bo Li", "Ann Neill", 0.857143),
    ],
)
def test_published_bags_are_those_of_s2ands_code(bag, one, other, expected):
    """The numbers are its own functions' (allenai/S2AND, text.py) on the same texts."""
    if bag == "affiliation":
        bags = [published.word_ngrams(text, published.AFFILIATION_STOP_WORDS) for text in (one, other)]
    elif isinstance(bag, str):
        words = published.VENUE_STOP_WORDS if bag == "venue" else None
        bags = [published.character_ngrams(text, words) for text in (one, other)]
    else:
        bags = [bag(one), bag(other)]
    assert BagMatrix(bags).jaccard(np.array([0]), np.array([1]))[0] == pytest.approx(expected)


def test_published_features_of_a_pair():
    papers = [Paper(id="p", title="Ice", venue="Sea Ice"), Paper(id="q", title="Ice", venue="")]
    mentions = [mention(0, "O'Neill, Johann B."), mention(1, "Neill, Zara Beth")]
    features = published.PublishedPairFeatures(papers, mentions, {"p": "Ice Sheets", "q": "Annals of Ice"})
    row = dict(zip(NAMES, features.table(np.array([0]), np.array([1]))[0].tolist(), strict=True))
    assert math.isnan(row["venue"]) and row["journal"] == pytest.approx(3 / 27)
    assert row["jaro-winkler"] == pytest.approx(0.472222)  # no prefix counts below 0.7
    assert row["self-citation"] == 0.0 and row["middle-equal"] == 1.0
    assert row["min-whole"] == row["min-block"] == 1.0  # no author list has the names
