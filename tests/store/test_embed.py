"""Embedding: what is stored, what is skipped, what is continued."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fake_encoder import FakeEncoder, some_papers
from folders import snapshot
from sciprism.errors import InputError
from sciprism.papers.records import Paper, Place
from sciprism.store import CollectionLayout, StoredCollection, embed

SMALL = CollectionLayout(shard_size=10)


def test_a_collection_gives_back_papers_and_vectors(tmp_path: Path) -> None:
    papers, encoder = some_papers(25), FakeEncoder()
    report = embed(papers, encoder, tmp_path / "c", layout=SMALL)
    assert (report.read, report.new, report.papers, report.missing_abstracts) == (25, 25, 25, 4)
    collection = StoredCollection.open(tmp_path / "c")
    assert [shard.rows for shard in collection.manifest.shards] == [10, 10, 5]
    assert collection.papers(range(25)) == papers
    stored = np.concatenate([m.block(0, 99) for m in collection.vectors("near")])
    np.testing.assert_array_equal(stored, encoder.encode(papers))
    collection.verify()


def test_each_space_has_its_matrix_and_each_path_is_encoded_once(tmp_path: Path) -> None:
    encoder, papers = FakeEncoder(), some_papers(5)
    layout = CollectionLayout(formats=("proximity", "search", "classification"))
    report = embed(papers, encoder, tmp_path, layout=layout)
    assert encoder.encoded == 10 and report.encoded == 5
    collection = StoredCollection.open(tmp_path)
    assert sorted(collection.manifest.spaces) == ["kind", "near"]
    kind = collection.vectors("kind")[0].block(0, 5)
    np.testing.assert_array_equal(kind, encoder.encode(papers, format="classification"))
    assert not np.array_equal(kind, collection.vectors("near")[0].block(0, 5))


@pytest.mark.parametrize(("dtype", "error"), [("float32", 0.0), ("float16", 1e-3), ("int8", 1 / 254)])
def test_precision_of_stored_vectors(tmp_path: Path, dtype: str, error: float) -> None:
    papers, encoder = some_papers(30), FakeEncoder()
    embed(papers, encoder, tmp_path, layout=CollectionLayout(dtype=dtype, shard_size=20))
    exact = encoder.encode(papers)
    stored = np.concatenate([m.block(0, 99) for m in StoredCollection.open(tmp_path).vectors("near")])
    assert np.abs(stored - exact).max() <= error * np.abs(exact).max() + 1e-9
    assert len(list(tmp_path.glob("vectors/*/*.scales.npy"))) == 2 * (dtype == "int8")


def test_a_value_too_large_for_float16_is_refused(tmp_path: Path) -> None:
    class Large(FakeEncoder):
        def encode(self, items, **options):
            return super().encode(items, **options) * 1e6

    with pytest.raises(InputError, match="too large for float16; use float32 or int8"):
        embed(some_papers(3), Large(), tmp_path, layout=CollectionLayout(dtype="float16"))


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_changed_details_keep_the_vector(tmp_path: Path, dtype: str) -> None:
    papers, encoder = some_papers(12), FakeEncoder()
    embed(papers, encoder, tmp_path, layout=CollectionLayout(shard_size=10, dtype=dtype))
    papers[5] = replace(papers[5], year=1234)
    papers[6] = replace(papers[6], title="Another")
    again = FakeEncoder()
    report = embed(papers, again, tmp_path)
    assert (report.updated, report.changed, again.encoded, report.done) == (1, 1, 1, 12)
    collection = StoredCollection.open(tmp_path)
    assert collection.paper("p5").year == 1234
    np.testing.assert_array_equal(collection.vector(12, "near"), collection.vector(5, "near"))
    exact = encoder.encode([papers[6]])[0]
    np.testing.assert_allclose(collection.vector(13, "near"), exact, atol=np.abs(exact).max() / 254 + 1e-6)


@pytest.mark.parametrize("stored", [False, True])
def test_one_id_with_two_texts_is_an_error_or_counted(tmp_path: Path, stored: bool) -> None:
    papers = some_papers(12)
    if stored:
        embed(papers, FakeEncoder(), tmp_path, layout=SMALL)
    both = [*papers, replace(papers[4], title="Other")]
    with pytest.raises(InputError, match=r"number 13 of the input: paper 'p4', 'Other': .* 'Title 4.* --skip-bad"):
        embed(both, FakeEncoder(), tmp_path)
    report = embed(both, FakeEncoder(), tmp_path, skip_bad=True)
    assert (report.bad, report.papers) == (1, 12) and "'p4'" in report.reasons[0]
    assert StoredCollection.open(tmp_path).paper("p4") == papers[4]


@pytest.mark.parametrize(
    ("paper", "reason"),
    [
        (Paper(id="x", venue="Nature"), "no title and no abstract"),
        (Paper(id="x", title="T", year=10**30), "its year is 1000"),
        (Paper(id="x", title="T", abstract="\ud800"), "lone surrogate"),
    ],
)
def test_papers_that_no_one_can_use(tmp_path: Path, paper: Paper, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        embed([*some_papers(3), paper], FakeEncoder(), tmp_path)
    report = embed([*some_papers(3), paper], FakeEncoder(), tmp_path, skip_bad=True)
    assert (report.bad, report.papers) == (1, 3)


def test_shards_before_an_error_are_stored(tmp_path: Path) -> None:
    papers, encoder = some_papers(60), FakeEncoder()
    other = [replace(papers[row], title="Other") for row in (17, 40, 58)]  # of papers in a shard, in the next, in none
    embed(papers[:15], encoder, tmp_path, layout=SMALL)
    changed = [replace(paper, abstract="Now it has one.") for paper in papers[:5]]
    first = embed([*changed, *papers[5:59], *papers[30:35], *other], encoder, tmp_path, skip_bad=True)
    assert (first.changed, first.unchanged, first.new, first.duplicates, first.bad) == (5, 10, 44, 5, 3)
    with pytest.raises(InputError, match="number 26 of the input: paper 'p70', 'Other'"):
        embed([*some_papers(25, 60), replace(some_papers(1, 70)[0], title="Other"), *papers], encoder, tmp_path)
    assert StoredCollection.open(tmp_path).rows == 15 + 49 + 20


def test_hashes_of_many_papers_stay_apart_from_stored_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sciprism.store.writing.RECENT", 7)
    papers = some_papers(40)
    embed(papers[:15], FakeEncoder(), tmp_path, layout=SMALL)
    report = embed([*papers, *papers], FakeEncoder(), tmp_path)
    assert (report.new, report.unchanged, report.duplicates, report.papers) == (25, 15, 40, 40)


class Torn(FakeEncoder):
    def path(self, format: str = "proximity", role: str = "paper") -> str:
        return format


@pytest.mark.parametrize(
    ("encoder", "layout", "message"),
    [
        (FakeEncoder("second", "bbb"), {}, "vectors of fake, fingerprint f0; not of second, .*bbb.* new folder"),
        (FakeEncoder(), {"dtype": "int8"}, "made with dtype float32, not int8"),
        (FakeEncoder(), {"shard_size": 7}, "made with shard_size 10, not 7"),
        (FakeEncoder(), {"formats": ("classification",)}, "made with formats proximity, not classification"),
        (FakeEncoder(), {"formats": ("regression",)}, "fake has no format 'regression'; it has classification, prox"),
        (Torn(), {"formats": ("proximity", "search")}, "embed them into two collections"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, encoder: FakeEncoder, layout: dict, message: str) -> None:
    embed(some_papers(3), FakeEncoder(), tmp_path, layout=SMALL)
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match=message):
        embed(some_papers(9), encoder, tmp_path, layout=CollectionLayout(**layout))
    assert snapshot(tmp_path) == before


def test_layouts_check_themselves() -> None:
    for wrong in ({"formats": ()}, {"formats": ("search", "search")}, {"dtype": "float8"}, {"shard_size": 0}):
        with pytest.raises(InputError):
            CollectionLayout(**wrong)


def test_folders_that_cannot_be_a_collection_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "000000.parquet").write_text("mine")
    for folder, layout, message in (
        (tmp_path, {}, r"holds papers but no manifest.json"),
        (tmp_path / "papers" / "000000.parquet", {}, "is a file"),
        (tmp_path / "papers" / "000000.parquet" / "inside", {}, r"cannot write .* name a path that you can write to"),
        (tmp_path / "new", {"formats": ("regression",)}, "has no format"),
    ):
        with pytest.raises(InputError, match=message):
            embed(some_papers(3), FakeEncoder(), folder, layout=CollectionLayout(**layout))
    assert [p.name for p in tmp_path.rglob("*")] == ["papers", "000000.parquet"]


@pytest.mark.parametrize("facts", [(28, "No space left on device"), ("80 requested and 9 written",)])
def test_a_full_disk_is_said_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: tuple[Any, ...]) -> None:
    """The second is what numpy says when only a part of an array was written."""

    def full(*_: object, **__: object) -> None:
        raise OSError(*facts)

    embed(some_papers(10), FakeEncoder(), tmp_path, layout=SMALL)
    before = snapshot(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("sciprism.store.writing.np.save", full)
        with pytest.raises(OSError, match=rf"{facts[-1]}: .*000001.npy"):
            embed(some_papers(20), FakeEncoder(), tmp_path)
    assert len(StoredCollection.open(tmp_path)) == 10
    embed(some_papers(10), FakeEncoder(), tmp_path)
    assert snapshot(tmp_path) == before


LONG = " ".join(f"word{n}" for n in range(30))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"title": "On frogs", "authors": ("A. Smith",), "year": 2020}, {"title": "On toads"}),
        ({"title": "On toads", "ids": {"doi": "10.1/a"}}, {"title": "On toads", "ids": {"doi": "10.1/b"}}),
        ({"title": "Editorial", "year": 1999}, {"title": "Editorial", "year": 2005}),
        ({"title": "On frogs", "abstract": LONG}, {"title": "On toads", "abstract": LONG}),
        ({"title": "On frogs", "abstract": "No abstract."}, {"title": "On toads", "abstract": "No abstract."}),
    ],
    ids=["author and year", "another DOI", "generic title", "abstract in another file", "short abstract"],
)
def test_papers_of_one_id_do_not_replace_each_other_unless_told_to(tmp_path: Path, old: dict, new: dict) -> None:
    shared = {"authors": ("A. Smith",), "year": 2020}
    first = Paper(id="1", place=Place("a.csv", 1, 2), **shared | old)
    other = Paper(id="1", place=Place("b.csv", 7, 8), **shared | new)
    again = Paper(id="1", place=Place("a.csv", 1, 2), abstract="A new one.", **shared | {"title": first.title})
    folder = tmp_path / "c"
    message = rf"b.csv, record 7 \(line 8\): paper '1', '{other.title}': .*'{first.title}' \(a.csv, record 1 \(line 2\)"
    for papers, options in (([first, other], {}), ([first, other], {"replace": True}), ([other], {})):
        with pytest.raises(InputError, match=message):
            embed(papers, FakeEncoder(), folder, **options)
        embed([first], FakeEncoder(), folder)
    report = embed([other, first], FakeEncoder(), folder, skip_bad=True)
    assert (report.bad, report.unchanged) == (1, 1) and StoredCollection.open(folder).paper("1") == first
    if first.title == "On frogs":  # what is right is used, whatever came before it
        assert embed([other, again], FakeEncoder(), folder, skip_bad=True).changed == 1
    report = embed([other], FakeEncoder(), folder, replace=True)
    assert (report.replaced, report.papers) == (1, 1) and StoredCollection.open(folder).paper("1") == other
