"""What a similarity means: percentiles of a collection's pairs, and probabilities that hold on other pairs."""

import json
from itertools import pairwise

import numpy as np
import pytest

from build_commands import run
from fake_encoder import FakeEncoder
from sciprism import Collection
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection, embed
from sciprism.uses import calibration
from sciprism.uses.calibration import PairCounts, RelationCurve, SimilarityScale, count_pairs, relate_by_keys

WORDS = ["frog", "pond", "leaf", "star", "halo", "dust", "gene", "cell", "drug"]


def make_papers(count, fields=3):
    """Papers of three fields, each with words of its field; every third cites the first of its field."""
    papers = []
    for number in range(count):
        field = number % fields
        title = " ".join([*WORDS[3 * field : 3 * field + 3], f"w{number}"])
        cited = (f"p{field}",) if number > fields and number % 2 else ()
        papers.append(Paper(id=f"p{number}", title=title, fields=(str(field),), references=cited))
    return papers


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibration") / "vecs"
    embed(make_papers(120), FakeEncoder(dim=64), folder)
    return folder


def test_all_pairs_are_counted_once():
    rng = np.random.default_rng(0)
    vectors, keys = rng.standard_normal((700, 8)).astype(np.float32), rng.integers(0, 3, 700).tolist()
    counts = count_pairs(vectors, relate_by_keys([[key] for key in keys]))
    of_key = np.bincount(keys)
    assert counts.pairs.sum() == 700 * 699 / 2 and counts.related.sum() == (of_key * (of_key - 1) / 2).sum()
    assert (np.diff(counts.scores) > 0).all()


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_the_curve_holds_on_other_pairs(distance):
    rng = np.random.default_rng(1)
    fields = rng.integers(0, 4, 800)
    vectors = (np.eye(4)[fields] + 0.5 * rng.standard_normal((800, 4))).astype(np.float32)
    halves = [
        count_pairs(vectors[part], relate_by_keys([[field] for field in fields[part].tolist()]), distance)
        for part in (slice(400), slice(400, None))
    ]
    curve, test = RelationCurve.fit(halves[0], "they share a field", "pairs"), halves[1]
    again = RelationCurve.from_json(json.loads(json.dumps(curve.to_json())))
    p = again.curve.apply(test.scores)
    assert (np.diff(p) >= 0).all() and p[0] < 0.1 < 0.4 < p[-1]
    for low in np.arange(0, 1, 0.2):
        inside = (p >= low) & (p < low + 0.2)
        if (pairs := test.pairs[inside]).sum() > 2000:
            share, mean = test.related[inside].sum() / pairs.sum(), (p[inside] * pairs).sum() / pairs.sum()
            assert share == pytest.approx(mean, abs=0.12)


def test_a_citation_relates_both_papers():
    papers = [Paper(id="a", ids={"doi": "10.1/A"}), Paper(id="b", references=("doi:10.1/a", "b", "x")), Paper(id="c")]
    related = calibration.relate_by_citation(papers)
    assert [related(row).tolist() for row in range(3)] == [[1], [0], []]


def test_percentiles_are_of_the_collections_pairs(folder):
    scale = SimilarityScale(StoredCollection.open(folder))
    assert scale.pairs == 120 * 119 / 2
    described = [scale.describe(similarity) for similarity in (-1.0, scale.median, 1.01)]
    assert [row["percentile"] for row in described] == [0, pytest.approx(50, abs=15), 100]
    assert described[0]["relations"] == [] and "no probabilities are known for fake" in scale.notes[0]


def test_own_curves_are_fitted_told_stored_and_used(folder, monkeypatch, capsys):
    status, out, err = run(monkeypatch, capsys, "calibrate", folder, "--by", "fields, references")
    assert status == 0, err
    field, citation = out.splitlines()  # 3 * 40 * 39 / (120 * 119) = 0.328
    assert field.startswith("probability that they share a field, among pairs of 120 papers of vecs with fields: 0.328")
    assert citation.startswith("probability that one cites the other, among pairs of 120 papers")
    stored = StoredCollection.open(folder)
    scale = SimilarityScale(stored)
    rows = scale.describe(0.9)["relations"]
    assert [row["relation"] for row in rows] == ["they share a field", "one cites the other"]
    assert rows[0]["probability"] > 0.9 > rows[0]["base_rate"]
    (folder / "calibration.json").rename(folder.parent / "shipped.json")
    monkeypatch.setattr(calibration, "SHIPPED", folder.parent / "shipped.json")
    assert len(SimilarityScale(stored).curves) == 2
    monkeypatch.setattr(calibration, "UNLIKE", -1.0)
    assert SimilarityScale(stored).curves == [] and "no probability; it was" in SimilarityScale(stored).notes[0]


def test_too_few_relations_are_an_error(folder, tmp_path):
    with pytest.raises(InputError, match="nothing is not one of fields, keywords, references"):
        calibration.fit_relations(StoredCollection.open(folder), [])
    embed(make_papers(2), FakeEncoder(), tmp_path / "two")
    (tmp_path / "two" / "calibration.json").write_text('{"x')
    with pytest.raises(InputError, match="is damaged; delete it"):
        SimilarityScale(StoredCollection.open(tmp_path / "two"))
    embed(make_papers(1), FakeEncoder(), tmp_path / "one")
    with pytest.raises(InputError, match="one paper alone"):
        SimilarityScale(StoredCollection.open(tmp_path / "one"))
    with pytest.raises(InputError, match="too few pairs"):
        RelationCurve.fit(PairCounts(np.zeros(1), np.ones(1) * 100, np.ones(1) * 90), "they match", "pairs")


def test_the_model_that_ships_has_curves(tmp_path, monkeypatch, capsys):
    papers = [Paper(id=str(n), title=f"{word} in {other}") for n, (word, other) in enumerate(pairwise(WORDS))]
    library = Collection.create(tmp_path / "c", papers)
    known = json.loads(calibration.SHIPPED.read_text())[library.encoder.fingerprint][library.space()]
    assert [row["relation"] for row in known] == ["they share an arXiv category", "one cites the other"]
    words = ("similar", tmp_path / "c", "--to", "0", "-k", "1", "--calibrated", "--no-why")
    out = run(monkeypatch, capsys, *words)[1]
    assert "more similar than" in out and "compared with 28 pairs" in out and "no probability; it was" in out
    document = json.loads(run(monkeypatch, capsys, *words, "--json")[1])
    assert document["rankings"][0]["hits"][0]["calibrated"]["percentile"] > 50
    assert document["calibration"]["pairs"] == 28
