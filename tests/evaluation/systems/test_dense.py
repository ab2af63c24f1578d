"""Vectors are computed once per text and path, survive a killed run, and rank exactly."""

import numpy as np
import pytest

from build_systems import TextVectorEncoder
from sciprism import Encoder
from sciprism.encoders.cached_encoder import VectorCache
from sciprism.errors import InputError
from sciprism.evaluation.systems import DenseSystem, EncodingInput
from sciprism.evaluation.systems.loading import SystemOptions, load_systems


class Counting(TextVectorEncoder):
    """It lists the texts that it encodes; each role has a path of its own."""

    def __init__(self):
        super().__init__()
        self.encoded = []

    def space(self, format, role):
        return "other" if (format, role) == ("search", "label") else "one"

    def path(self, format, role):
        return role

    def encode(self, items, **options):
        self.encoded += items
        return super().encode(items, **options)


def given(*items, role="paper"):
    return EncodingInput(items=items, format="search", role=role)


def test_paths_do_not_share_vectors_and_spaces_do_not_compare(tmp_path):
    encoder = Counting()
    system = DenseSystem(encoder, tmp_path)
    system.encode(given("1 2"))
    system.encode(given("1 2", role="query"))
    assert encoder.encoded == ["1 2", "1 2"]
    with pytest.raises(InputError, match="different spaces"):
        system.top(given("1 1"), given("1 1", role="label"), 1, "dot", None)
    with pytest.raises(InputError, match="at most"):
        system.top(given("1 0", role="query"), given("1 0"), 20_000, "dot", None)


def test_the_first_numbers_of_vectors_are_those_of_a_truncated_encoder(tiny_model, tmp_path):
    options = SystemOptions(pooling="mean", dimensions=(16, 8))
    found = [system for system, _ in load_systems(str(tiny_model), options, tmp_path)]
    assert [system.name.partition(", ")[2] for system in found] == ["", "first 16", "first 8"]
    assert len({system.fingerprint for system in found}) == 3
    texts = EncodingInput(items=["dark matter", "the gene"], format="proximity")
    for system, width in zip(found, (None, 16, 8), strict=True):
        cut = Encoder.load(tiny_model, pooling="mean", truncate_dim=width, device="cpu")
        assert np.abs(system.encode(texts) - cut.encode(texts.items)).max() < 1e-6
    with pytest.raises(InputError, match=r"40 dimensions: vectors of .* have 32 numbers"):
        load_systems(str(tiny_model), SystemOptions(pooling="mean", dimensions=(40,)), tmp_path)


def read(cache, *texts):
    """The vectors of letters: a letter's number and 1."""
    return cache.read(cache.find_or_encode(texts, lambda places: np.array([[ord(texts[p]), 1] for p in places], "f")))


def test_values_that_are_not_finite_are_refused_and_not_kept(tmp_path):
    cache = VectorCache(tmp_path / "c", 2)
    with pytest.raises(InputError, match="not finite"):
        cache.find_or_encode(["a"], lambda places: np.array([[np.nan, 1]], np.float32))
    assert read(cache, "a").tolist() == [[97, 1]]


@pytest.mark.parametrize("lost", ["vectors", "keys"])
def test_an_unfinished_tail_is_cut_off(tmp_path, lost):
    read(VectorCache(tmp_path, 2), "a", "b")
    (tmp_path / lost).write_bytes((tmp_path / lost).read_bytes()[:-3])
    assert read(VectorCache(tmp_path, 2), "c", "b", "a").tolist() == [[99, 1], [98, 1], [97, 1]]


def test_vectors_of_half_the_size(tmp_path):
    """Read as float32, with the next smaller precision; resumed, and what it cannot hold is refused."""
    values = {"a": 1.0009765625, "b": 1 / 3, "c": 1e6}

    def rows(*texts):
        cache = VectorCache(tmp_path, 1, np.float16)
        return cache.read(cache.find_or_encode(texts, lambda p: np.array([[values[texts[i]]] for i in p], np.float32)))

    read = rows("a", "b")
    assert read.dtype == np.float32 and read.ravel().tolist() == [values["a"], float(np.float16(1 / 3))]
    assert (tmp_path / "vectors").stat().st_size == 4 and np.array_equal(rows("b", "a"), read[::-1])
    with pytest.raises(InputError, match="beyond the range of float16; cache them as float32"):
        rows("c")


def test_a_cache_opened_in_the_middle_of_a_write_spoils_nothing(tmp_path):
    """Two processes: one starts while the other encodes, and both have new texts."""
    one = VectorCache(tmp_path / "c", 1)

    def encode(places):
        two = VectorCache(tmp_path / "c", 1)
        two.find_or_encode(["x", "a"], lambda places: np.array([[7], [8]], np.float32)[places])
        return np.array([[1], [2]], np.float32)[places]

    assert one.read(one.find_or_encode(["a", "b"], encode)).ravel().tolist() == [8, 2]
    three = VectorCache(tmp_path / "c", 1)
    assert three.read(three.find_or_encode(["x", "a", "b"], encode)).ravel().tolist() == [7, 8, 2]


def test_more_vectors_than_memory_go_through_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("sciprism.encoders.cached_encoder.MAX_BYTES_IN_MEMORY", 8)
    assert read(VectorCache(tmp_path / "c", 2), "b", "a", "b", "c")[:, 0].tolist() == [98, 97, 98, 99]
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == ["checks", "keys", "lock", "vectors"]
