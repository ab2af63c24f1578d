"""How an input is divided: every record in one part, in the order of the input; the parts about equal."""

import json
from pathlib import Path

import pytest

from fake_encoder import some_papers
from sciprism.errors import InputError
from sciprism.papers import ReadReport, read_papers
from sciprism.papers.input_paths import InputPart


@pytest.mark.parametrize("text", ["0/4", "5/4", "4", "1/0", "a/b", "-1/4", "1/4/2", "", "1/1000000"])
def test_a_part_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"part '.*'"):
        InputPart.parse(text)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    found = []
    for number in range(4):
        path = tmp_path / "works" / f"part={number}" / "papers.jsonl"
        path.parent.mkdir(parents=True)
        papers = some_papers(300, 300 * number)
        path.write_text("".join(json.dumps(paper.to_json()) + "\n" for paper in papers) + "{broken\n")
        found.append(path)
    return found


@pytest.mark.parametrize("count", [2, 3, 9])
def test_parts_are_the_whole_input(files: list[Path], count: int) -> None:
    (files[1].parent / "papers.jsonl").write_text("<!DOCTYPE html><html><body>404</body></html>" + " " * 90_000)
    whole, found, skipped = ReadReport(), [], 0
    papers = list(read_papers(files, skip_bad=True, report=whole))
    for number in range(1, count + 1):
        report = ReadReport()
        found += list(read_papers(files, skip_bad=True, report=report, part=InputPart(number, count)))
        skipped += report.skipped_count
    assert found == papers and [paper.place for paper in found] == [paper.place for paper in papers]
    assert skipped == whole.skipped_count == 4


@pytest.mark.parametrize("pattern", ["works/*/papers.jsonl", "works/**", "works/part=?", "work*", "works/part=[0-3]"])
def test_a_pattern_stands_for_what_it_matches(files: list[Path], monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    folder = files[0].parents[2]
    (folder / "works" / "part=0" / ".hidden.jsonl").write_text("no\n")
    for base in ("", f"{folder}/"):
        monkeypatch.chdir(folder)
        papers = list(read_papers([base + pattern], skip_bad=True))
        assert [paper.id for paper in papers] == [f"p{i}" for i in range(1200)]


def test_a_pattern_without_matches_and_a_name_with_brackets(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file or folder matches this pattern"):
        read_papers([tmp_path / "*.jsonl"])
    path = tmp_path / "a[1]*.jsonl"
    path.write_text(json.dumps(some_papers(1)[0].to_json()) + "\n")
    (tmp_path / "a1.jsonl").write_text("no")
    assert [paper.id for paper in read_papers([path])] == ["p0"]
