"""Parquet files: rows of OpenAlex, of Semantic Scholar, of our own export and of any table with a title."""

import gzip
import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from fake_encoder import FakeEncoder, some_papers
from sciprism.errors import InputError
from sciprism.papers import Paper, ReadReport, read_papers
from sciprism.papers.input_file import ReadOptions
from sciprism.store import embed

WORK = {
    "id": "https://openalex.org/W1",
    "doi": "https://doi.org/10.1/a",
    "title": "On frogs",
    "publication_year": 1999,
    "abstract_inverted_index": {"We": [0], "study": [1], "frogs": [2, 4], "and": [3]},
    "authorships": [{"author": {"display_name": "A. Smith"}}],
    "referenced_works": ["https://openalex.org/W2"],
}
PAPER = {
    "corpusid": 7,
    "externalids": {"DOI": "10.1/b"},
    "title": "On toads",
    "authors": [{"authorId": "1", "name": "B. Jones"}],
    "year": 2001,
    "s2fieldsofstudy": [{"category": "Biology", "source": "external"}],
}


def write(path: Path, rows: list[dict[str, Any]], schema: pa.Schema | None = None) -> Path:
    parquet.write_table(pa.Table.from_pylist(rows, schema), path, row_group_size=2)
    return path


def read_one(path: Path, **options: Any) -> Paper:
    (paper,) = read_papers([path], **options)
    return paper


@pytest.mark.parametrize("form", ["nested", "text", "map"])
def test_openalex_works_are_read_as_their_json(tmp_path: Path, form: str) -> None:
    index = pa.map_(pa.string(), pa.list_(pa.int64()))
    schema = None
    row: dict[str, Any] = dict(WORK)
    if form == "text":
        row = {key: json.dumps(value) if isinstance(value, dict | list) else value for key, value in WORK.items()}
    if form == "map":
        row |= {"abstract_inverted_index": list(WORK["abstract_inverted_index"].items())}
        inferred = pa.Table.from_pylist([WORK]).schema
        fields = [pa.field(f.name, index) if f.name == "abstract_inverted_index" else f for f in inferred]
        schema = pa.schema(fields)
    (tmp_path / "works.jsonl").write_text(json.dumps(WORK) + "\n")
    paper = read_one(write(tmp_path / "works.parquet", [row], schema))
    assert paper == read_one(tmp_path / "works.jsonl")
    assert paper.abstract == "We study frogs and frogs" and paper.references == ("W2",)


def test_semantic_scholar_papers_are_read_as_their_json(tmp_path: Path) -> None:
    (tmp_path / "papers.jsonl").write_text(json.dumps(PAPER) + "\n")
    assert read_one(write(tmp_path / "papers.parquet", [PAPER])) == read_one(tmp_path / "papers.jsonl")


def test_the_shards_of_a_collection_are_read_again(tmp_path: Path) -> None:
    papers = some_papers(30)
    embed(papers, FakeEncoder(), tmp_path / "c")
    shard = tmp_path / "c" / "papers" / "000000.parquet"
    (tmp_path / "papers.jsonl").write_text("".join(json.dumps(paper.to_json()) + "\n" for paper in papers))
    assert list(read_papers([shard])) == list(read_papers([tmp_path / "papers.jsonl"]))


def test_a_table_of_any_columns_is_read_by_their_names(tmp_path: Path) -> None:
    row = {
        "Article Title": "On newts",
        "Abstract": "{curly} newts",
        "Authors": "Smith, A; Jones, B",
        "Publication Year": 1987.0,
        "Date": date(1987, 5, 1),
        "Score": [0.5, 0.25],
        "DOI": b"10.1/c",
    }
    paper = read_one(write(tmp_path / "table.parquet", [row]))
    assert (paper.title, paper.abstract, paper.year) == ("On newts", "{curly} newts", 1987)
    assert paper.authors == ("A Smith", "B Jones") and paper.ids["doi"] == "10.1/c"
    chosen = read_one(tmp_path / "table.parquet", options=ReadOptions(columns={"title": "Abstract"}))
    assert chosen.title == "{curly} newts"
    with pytest.raises(InputError, match=r"no column 'title'; columns: name; name it, for example: --columns"):
        list(read_papers([write(tmp_path / "other.parquet", [{"name": "x"}])]))


def test_places_and_bad_rows(tmp_path: Path) -> None:
    rows = [
        {"id": f"p{i}", "title": "" if i == 3 else f"T{i}", "abstract": None, "year": float("nan")} for i in range(5)
    ]
    report = ReadReport()
    papers = list(read_papers([write(tmp_path / "p.parquet", rows)], skip_bad=True, report=report))
    assert [paper.place.record for paper in papers if paper.place] == [1, 2, 3, 5] and papers[0].year is None
    assert "p.parquet, record 4: no title and no abstract" in str(report.skipped[0])


def test_damaged_and_packed_files(tmp_path: Path) -> None:
    path = write(tmp_path / "p.parquet", [{"id": "a", "title": "T"}, {"id": "b", "title": "U"}])
    content = path.read_bytes()
    (tmp_path / "packed.parquet.gz").write_bytes(gzip.compress(content))
    assert list(read_papers([tmp_path / "packed.parquet.gz"])) == list(read_papers([path]))
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"not a Parquet file that can be read: .*; fetch it again; fix it"):
        list(read_papers([path]))


def test_a_collection_in_the_folder_of_its_input_is_not_read(tmp_path: Path) -> None:
    write(tmp_path / "papers.parquet", [{"id": "a", "title": "T"}])
    embed(read_papers([tmp_path]), FakeEncoder(), tmp_path / "c")
    report = ReadReport()
    assert len(list(read_papers([tmp_path], report=report))) == 1 and report.ignored == 4
    with pytest.raises(InputError, match="no file in a known format in this folder"):
        list(read_papers([tmp_path / "c"]))


def test_columns_in_the_names_of_folders_are_columns(tmp_path: Path) -> None:
    """Hive, Spark and Arrow divide a table by a column into folders, whose files lack it."""
    frogs, own = tmp_path / "year=1999" / "field=Life%20science", tmp_path / "year=2001" / "date=2024-05-01"
    for folder in (frogs, own):
        folder.mkdir(parents=True)
    write(frogs / "part-0.parquet", [{"title": "On frogs", "abstract": "A"}])
    write(frogs / "part-1.parquet", [{"id": "https://openalex.org/W1", "title": "On newts", "authorships": None}])
    write(own / "part-0.parquet", [{"title": "On toads", "abstract": "B", "year": 1987}])
    (own / "part-1.jsonl").write_text('{"id": "x", "title": "On tadpoles"}\n')
    (own / "part-2.csv").write_text("title,abstract\nOn eggs,C\n")
    none = tmp_path / "year=__HIVE_DEFAULT_PARTITION__"
    none.mkdir()
    write(none / "part-0.parquet", [{"title": "On water", "abstract": "D"}])
    found = {paper.title: (paper.year, paper.fields) for paper in read_papers([tmp_path])}
    life = (1999, ("Life science",))
    assert found == {"On frogs": life, "On newts": life, "On toads": (1987, ())} | dict.fromkeys(
        ["On tadpoles", "On eggs"], (2001, ())
    ) | {"On water": (None, ())}
    chosen = read_one(frogs / "part-0.parquet", options=ReadOptions(columns={"venue": "field"}))
    assert chosen.venue == "Life science"
