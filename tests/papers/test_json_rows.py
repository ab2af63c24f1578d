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
LAYOUTS = {
    "lines": lambda rows: "\n".join(map(json.dumps, rows)) + "\n",
    "lines with gaps": lambda rows: "\n\n".join(map(json.dumps, rows)),
    "array": json.dumps,
    "printed array": lambda rows: json.dumps(rows, indent=1),
    "printed one after another": lambda rows: "\n".join(json.dumps(row, indent=2) for row in rows),
    "results": lambda rows: json.dumps({"meta": {"count": [1, {"a": 2}]}, "results": rows, "next": None}),
    "printed items": lambda rows: json.dumps({"items": rows}, indent="\t"),
    "data": lambda rows: json.dumps({"total": 4, "data": rows}),
}


@pytest.fixture
def values(tmp_path: Path):
    def read(text: str) -> list[tuple[int, int | None, object, str]]:
        path = tmp_path / "x.json"
        path.write_text(text)
        return list(read_json_values(InputFile(path)))

    return read


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(values, layout: str) -> None:
    found = values(LAYOUTS[layout](ROWS))
    assert [value for _, _, value, _ in found] == ROWS
    assert [number for number, *_ in found] == [1, 2, 3, 4]
    assert not any(reason for *_, reason in found)


def test_lines_are_counted(values) -> None:
    assert [line for _, line, _, _ in values(LAYOUTS["lines with gaps"](ROWS))] == [1, 3, 5, 7]
    lines = LAYOUTS["printed array"](ROWS).split("\n")
    starts = [number for number, line in enumerate(lines, 1) if line == " {"]
    assert [line for _, line, _, _ in values("\n".join(lines))] == starts


@pytest.mark.parametrize("layout", ["array", "printed array", "results", "printed items", "data"])
@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize(("old", "new"), [('": "T', '" "T'), ('{",', "{,"), ('"title"', '"title')])
def test_broken_element_ends_its_list(values, layout: str, place: int, old: str, new: str) -> None:
    mark = f'"p{place}"'
    before, _, after = LAYOUTS[layout](ROWS).partition(mark)
    found = values(before + mark + after.replace(old, new, 1))
    assert [value for _, _, value, _ in found] == [*ROWS[:place], None]
    assert found[-1][3].endswith("nothing after this can be read")


@pytest.mark.parametrize("indent", [None, 1])
def test_records_under_their_ids(tmp_path: Path, indent: int | None) -> None:
    rows = {f"p{i}": {"title": "T [x] {", "authors": [{"family": "a"}, {"family": "c"}]} for i in range(4)}
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps(rows, indent=indent))
    found = [value for _, _, value, _ in read_json_values(InputFile(path), JsonLayout(keyed=True))]
    assert found == [{"id": key, **row} for key, row in rows.items()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", []), (" \n", []), ("[]", []), ('{"results": []}', []), ("12", [12]), ('["a", 1]', ["a", 1])],
)
def test_small_files(values, text: str, expected: list[object]) -> None:
    assert [value for _, _, value, _ in values(text)] == expected


@pytest.mark.parametrize(
    "text", ["hello\nworld", "[", "{", '{"a": ', "[1, 2", "[1] tail", "[" * 5000, "[" + "9" * 5000 + "]"]
)
def test_what_is_not_json_is_reported(values, text: str) -> None:
    assert any(reason for *_, reason in values(text))


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
