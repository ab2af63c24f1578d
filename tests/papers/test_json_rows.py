import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.papers.input_file import InputFile
from sciprism.papers.rows import JsonLayout, read_json_values

NESTED = JsonLayout(("items",), containers=("message",))

ROWS = [
    {"id": f"p{i}", "title": "T [x] {", "authors": [{"family": "a", "given": "b"}, {"family": "c"}]} for i in range(4)
]


@pytest.mark.parametrize("indent", [None, 1])
def test_records_under_their_ids(tmp_path: Path, indent: int | None) -> None:
    rows = {f"p{i}": {"title": "T [x] {", "authors": [{"family": "a"}, {"family": "c"}]} for i in range(4)}
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps(rows, indent=indent))
    found = [value for _, _, value, _ in read_json_values(InputFile(path), JsonLayout(keyed=True))]
    assert found == [{"id": key, **row} for key, row in rows.items()]


@pytest.mark.parametrize("text", ["[" * 5000, "[" + "9" * 5000 + "]"])
def test_what_python_refuses_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    assert any(reason for *_, reason in read_json_values(InputFile(tmp_path / "x.json")))


@settings(max_examples=300, deadline=None)
@given(text=st.text(alphabet='[]{},:"\\ \nab1', max_size=60))
def test_any_text_ends_and_is_accounted_for(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(text)
    for layout in (JsonLayout(), JsonLayout(keyed=True)):
        found = list(read_json_values(InputFile(path), layout))
        assert [number for number, *_ in found] == list(range(1, len(found) + 1))


def test_values_larger_than_the_buffer_and_flat_memory(tmp_path: Path) -> None:
    rows = [{"id": i, "text": "wörd " * size} for i, size in enumerate([10, 700_000, 10])]
    path = tmp_path / "large.json"
    path.write_text(json.dumps(rows, ensure_ascii=False))
    assert [value for _, _, value, _ in read_json_values(InputFile(path))] == rows
    listed = "[" + ",\n".join([json.dumps({"id": "x", "text": "word " * 400})] * 10_000) + "]"
    facets = json.dumps({f"facet {number}": "x" * 99 for number in range(999)})  # longer than the head of a file
    path.write_text(f'{{"status": "ok",\n"message": {{"facets": {facets}, "items": {listed}, "query": {{}}}}}}')
    tracemalloc.start()
    assert sum(1 for _ in read_json_values(InputFile(path), NESTED)) == 10_000
    assert tracemalloc.get_traced_memory()[1] < 8_000_000  # of 20 million characters
    tracemalloc.stop()


def test_pages_with_nested_lists_and_what_has_none(tmp_path: Path) -> None:
    pages = [{"message": {"count": 2, "items": ROWS[:2]}}, {"message": {}}, {"message": {"items": ROWS[2:]}, "next": 1}]
    path = tmp_path / "pages.json"
    path.write_text("\n".join(map(json.dumps, pages)))
    found = list(read_json_values(InputFile(path), NESTED))
    assert [value for _, _, value, _ in found] == [*ROWS[:2], {"message": {}}, *ROWS[2:]]
    assert [number for number, *_ in found] == [1, 2, 3, 4, 5]
    record = {"id": "x", "items": [{"a": 1}], "message": {"items": [{"b": 2}]}}
    path.write_text(f'{{"id":\n1}}\n{json.dumps(record, indent=1)}')
    assert [value for _, _, value, _ in read_json_values(InputFile(path), NESTED)] == [{"id": 1}, record]
