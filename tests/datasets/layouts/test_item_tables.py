"""Rows of people's tables: places in messages, delimiters, encodings, ids."""

import pytest

from sciprism.datasets.layouts.item_tables import find_files, read_item_table, read_rows, require_file
from sciprism.drop_report import DropReport
from sciprism.errors import InputError


def rows(path):
    return list(read_rows(path))


@pytest.mark.parametrize("mark", [",", "\t", ";"])
def test_tables_with_any_delimiter_and_quoted_cells(tmp_path, mark):
    path = tmp_path / "a.csv"
    lines = [["ID", "Paper Title", "n-1"], ["7", f'"one{mark} two\nlines"', ""], [], ["8", "x", "y"]]
    path.write_text("\n".join(mark.join(line) for line in lines))
    first, second = rows(path)
    assert first.id("id") == "7" and first.get("paper title") == f"one{mark} two\nlines"
    assert first.get("n_1") is None and second.get("n-1") == "y"
    assert (first.where, second.where) == (f"{path}, line 2", f"{path}, line 5")


def test_values_that_mean_none_are_no_ids_and_printed_lists_have_items(tmp_path):
    (tmp_path / "a.csv").write_text('id,tags,label\n12.0,"[\'red\', ""o\'blue""]",NA\nnan,,x\n')
    first, second = rows(tmp_path / "a.csv")
    assert first.id("id") == "12" and first.several("tags") == ("red", "o'blue") and first.get("label") == "NA"
    with pytest.raises(InputError, match=r"a\.csv, line 3: id is 'nan', which means none"):
        second.id("id")


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("a.csv", "id,name\n1,a\n2,b,c", "line 3: 3 cells, but the header has 2"),
        ("a.csv", 'id,name\n1,a\n2,"b\n3,c', "line 3: not a row of a table: .*quotation marks"),
        ("a.jsonl", '{"id": 1}\n{"id": 2', "line 2: not valid JSON"),
        ("a.jsonl", '{"id": 1}\n[2]', "line 2: .*is not an object"),
        ("a.csv", "id,name\n", "a.csv: no rows"),
        ("a.csv", "", "a.csv: no rows"),
        ("a.bib", "@misc{a}", "expected a table"),
    ],
)
def test_what_is_no_table_is_refused_with_its_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        rows(tmp_path / name)


def test_a_missing_or_wrong_value_names_the_place_and_the_columns(tmp_path):
    (tmp_path / "a.csv").write_text("id,lable,n\n,x,two\n")
    row = rows(tmp_path / "a.csv")[0]
    with pytest.raises(InputError, match=r"a\.csv, line 2: no label; the row has id, lable, n"):
        row.need("label")
    with pytest.raises(InputError, match="line 2: no id"):
        row.id("id")
    with pytest.raises(InputError, match="line 2: n: 'two' is not a number"):
        row.number("n")


def test_papers_of_any_format_and_what_cannot_be_used_is_counted(tmp_path):
    (tmp_path / "a.bib").write_text("@misc{x, title={Dark {M}atter}}\n@misc{empty, year=2000}")
    (tmp_path / "b.csv").write_text("id,title,abstract\ny,Light,Waves.\ny,Light,Waves.\nx,Other,One.")
    dropped = DropReport()
    shelf = read_item_table([tmp_path / "a.bib", tmp_path / "b.csv"], dropped)
    assert shelf.ids == ["x", "y"] and shelf.items[0].title == "Dark Matter"
    assert dropped.count("record that is not a usable paper") == 1 and dropped.count("no abstract") == 1
    assert dropped.to_json()["duplicate record, the first is used"] == {"count": 1, "first": ["x"]}
    (tmp_path / "c.bib").write_text("@misc{empty, year=2000}")
    with pytest.raises(InputError, match=r"no papers: .*no title and no abstract"):
        read_item_table([tmp_path / "c.bib"], DropReport())


def test_files_are_found_by_their_names(tmp_path):
    for name in ("papers.bib", "papers.part2.csv", "labels.csv"):
        (tmp_path / name).write_text("x")
    assert [path.name for path in find_files(tmp_path, "topics", "papers")] == ["papers.bib", "papers.part2.csv"]
    assert require_file(tmp_path, "labels").name == "labels.csv"
    with pytest.raises(InputError, match=r"2 files named papers; it contains labels\.csv, papers\.bib"):
        require_file(tmp_path, "papers")
    with pytest.raises(InputError, match="no file named topics"):
        require_file(tmp_path, "topics")
