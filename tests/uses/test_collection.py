"""The collection as a program uses it, and its export."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from fake_encoder import FakeEncoder, some_papers
from sciprism import Collection
from sciprism.cli.main import app
from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError


@pytest.fixture(autouse=True)
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Encoder, "load", lambda *_, **__: FakeEncoder())


@pytest.fixture
def library(tmp_path: Path) -> Collection:
    return Collection.create(tmp_path / "library", some_papers(30), formats=("proximity", "classification"))


def test_papers_and_vectors_in_one_order(library: Collection) -> None:
    papers = list(library)
    assert [paper.id for paper in papers] == library.ids == [f"p{i}" for i in range(30)]
    vectors = library.vectors("proximity")
    assert vectors.shape == (30, 16) and vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, FakeEncoder().encode(papers))
    np.testing.assert_array_equal(library.vector("p7"), vectors[7])
    assert not np.array_equal(library.vectors("classification"), vectors)
    assert len(library) == 30 and "p7" in library and "x" not in library and library["p7"] == papers[7]
    assert "30 papers, classification, proximity by fake" in repr(library)
    with pytest.raises(KeyError):
        library["x"]
    with pytest.raises(InputError, match="not of 'search'"):
        library.vectors("search")


def test_search_similar_add_and_delete(library: Collection) -> None:
    hits = library.search("matter3 effect1", k=4)
    assert [hit.rank for hit in hits] == [1, 2, 3, 4]
    assert [[h.id for h in each] for each in library.search(["matter3 effect1"], k=4)] == [[h.id for h in hits]]
    assert all(1950 <= (hit.year or 0) <= 1955 for hit in library.search("matter", k=9, year_to=1955))
    near = library.similar("p7", k=3)
    assert "p7" not in [hit.id for hit in near]
    library.delete(near[0].id)
    assert len(library) == 29 and near[0].id not in library.ids
    assert near[0].id not in [hit.id for hit in library.similar("p7", k=29)]
    assert library.add(some_papers(31)).new == 2 and len(library) == 31
    with pytest.raises(TypeError, match="unexpected keyword argument 'color'"):
        library.search("matter", color="red")


def test_tables(library: Collection) -> None:
    library.delete(["p0"])
    table = library.to_pandas()
    assert list(table["id"]) == library.ids and list(table["year"])[:3] == [1951, 1952, 1953]
    assert table["year"].dtype == "Int64" and table["year"].isna().sum() == 2, "a missing year makes no 1951.0"
    assert table["doi"][0] == "10.1/1" and table["ids"][0] == {"doi": "10.1/1"}
    assert "vector" not in table
    stacked = np.stack(list(library.to_pandas(vectors="classification")["vector"]))
    np.testing.assert_array_equal(stacked, library.vectors("classification"))
    with pytest.raises(InputError, match="not of 'search'"):
        library.to_pandas(vectors="search")
    assert list(table)[:3] == ["id", "title", "abstract"]


def test_export_of_every_kind_has_the_papers_and_their_vectors(library: Collection, tmp_path: Path) -> None:
    library.delete(["p0"])
    vectors = library.vectors()
    for name in ("all.parquet", "all.csv", "all.npy"):
        assert [library.export(tmp_path / name) for _ in range(2)] == [29] * 2, "an earlier export is replaced"
        if name == "all.parquet":
            table = parquet.read_table(tmp_path / name)
            assert table["id"].to_pylist() == library.ids
            np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), np.float32), vectors)
            continue
        with (tmp_path / "all.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["id"] for row in rows] == library.ids and rows[1]["fields"] == "" and rows[0]["ids"] == "doi=10.1/1"
        if name == "all.csv":
            found = [[float(row[f"v{i}"]) for i in range(16)] for row in rows]
            np.testing.assert_allclose(found, vectors, rtol=1e-6)
        else:
            assert "v0" not in rows[0]
            np.testing.assert_array_equal(np.load(tmp_path / name), vectors)


def test_the_command_deletes_what_a_file_names(library: Collection, tmp_path: Path) -> None:
    (tmp_path / "gone.txt").write_text("p1\n\np2\n")
    done = CliRunner().invoke(app, ["delete", str(library.folder), "p3", "--ids", str(tmp_path / "gone.txt")])
    assert "deleted 3 papers" in done.output and "27 papers" in done.output
    assert not {"p1", "p2", "p3"} & set(Collection(library.folder).ids)
