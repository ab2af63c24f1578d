"""OpenAlex, Semantic Scholar, arXiv, BEIR and our own rows: all JSON, one object a paper."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from sciprism.errors import InputError
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

READERS = ["openalex", "semantic_scholar", "arxiv", "beir", "jsonl", "openreview"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("json") / "papers.jsonl"


def read(reader: str, path: Path, *rows: object) -> list[Paper | BadRecord]:
    if rows:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return list(paper_readers[reader].read(InputFile(path), ReadOptions()))


def test_one_table_gives_one_paper_in_every_form_and_unread_names_are_listed(tmp_path: Path):
    row = {
        "title": "Frogs",
        "authors": "Alder, Ann; Birch, Bo",
        "date": "2019-05-01",
        "journal": "J",
        "doi": "10.5555/a",
    }
    row |= {"keywords": "pond; frog", "volume": "3", "odd": "x"}
    (tmp_path / "t.jsonl").write_text(json.dumps(row))
    (tmp_path / "t.csv").write_text("\n".join(",".join(f'"{cell}"' for cell in line) for line in (row, row.values())))
    parquet.write_table(pa.Table.from_pylist([row]), tmp_path / "t.parquet")
    found = []
    for form in ("jsonl", "csv", "parquet"):
        report = ReadReport()
        (paper,) = read_papers(tmp_path / f"t.{form}", report=report)
        assert report.files[0].unread_columns == ("odd",)
        found.append(replace(paper, id="a"))
    assert found[0] == found[1] == found[2] and found[0].authors == ("Ann Alder", "Bo Birch") and found[0].year == 2019
    (tmp_path / "bad.json").write_text('[{"id": "1", "title": "T"}, {"odd": 1, "titel": "T"}]')
    with pytest.raises(InputError, match="no title and no abstract; keys: odd, titel"):
        list(read_papers(tmp_path / "bad.json"))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = """
id _id paperId title abstract text metadata authors authors_parsed versions abstract_inverted_index authorships topics
concepts ids mesh references doi externalIds s2FieldsOfStudy citedPaper categories year publication_year keywords
primary_location referenced_works fieldsOfStudy update_date field corpusid content pdate cdate author issued
container-title keyword note DOI number subtitle created reference message
"""
KEYS = NAMES.split()


@pytest.mark.parametrize("reader", [*READERS, "csl_json"])
@given(row=st.dictionaries(st.sampled_from(KEYS), values, max_size=8))
def test_any_object_is_a_paper_or_a_bad_record(file: Path, reader: str, row: dict[str, object]):
    if row.get("citedPaper", "") is not None or reader != "semantic_scholar":  # null is an id that is not known
        (found,) = read(reader, file, row)
        assert isinstance(found, Paper | BadRecord)
    file.write_text(json.dumps({"a": row, "b": [row]}))
    assert len(list(paper_readers["specter"].read(InputFile(file), ReadOptions()))) == 2
